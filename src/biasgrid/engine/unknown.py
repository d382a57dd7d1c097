"""Finds instances that a tokenizer does not know whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasgrid.arrays import BoolArray
from biasgrid.engine.encoding import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


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
