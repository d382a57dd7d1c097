"""Finds instances that a tokenizer does not know whole, and refuses those with tokens that a model does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.arrays import BoolArray
from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.engine.encoding import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


def with_unknown_tokens(rows: Rows, tokenizer: PreTrainedTokenizerFast) -> BoolArray:
    """Says of each encoded instance whether its texts hold tokens that stand for what the tokenizer does not know.

    Returns:
        Shape (instances,).
    """
    # Where one token is for the unknown and for a text's end, as in GPT-2, the tokenizer writes every byte.
    others = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "cls", "sep", "pad", "mask")]
    token, found = tokenizer.unk_token_id, np.zeros(len(rows.first_of), dtype=np.bool_)
    if token not in (None, *others):
        found = rows.first.have(token)[rows.first_of] | rows.second.have(token)[rows.second_of]
    return found if rows.owner is None else np.bincount(rows.owner, found) > 0


def known_tokens(model: PreTrainedModel) -> int:
    """How many tokens a model has an embedding of."""
    return int(model.get_input_embeddings().weight.shape[0])


def check_tokens(rows: Rows, known: int, instances: pl.Series, model: str) -> None:
    """Refuses rows with tokens of which a model has no embedding.

    Args:
        rows: the rows.
        known: how many it has, see `known_tokens`.
        instances: the numbers of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: with the largest such token.
    """
    largest = max(int(segments.ids.max(initial=0)) for segments in (rows.first, rows.second))
    if largest >= known:
        row = int((rows.first.have(largest)[rows.first_of] | rows.second.have(largest)[rows.second_of]).argmax())
        raise unknown_token(model, instances[row if rows.owner is None else int(rows.owner[row])], largest, known)


def unknown_token(model: str, instance: int, token: int, known: int) -> ModelError:
    """Returns the error of a token of which a model has no embedding."""
    return ModelError(
        f"model {model}: instance {instance} has the token {token}, and the model knows {known} tokens; expected a "
        "tokenizer and weights of one checkpoint"
    )
