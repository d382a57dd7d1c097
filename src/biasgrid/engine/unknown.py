"""Finds instances that a tokenizer does not know whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.engine.encoding import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def with_unknown_tokens(rows: Rows, tokenizer: PreTrainedTokenizerFast) -> pl.Series:
    """Says of each encoded instance whether its texts hold tokens that stand for what the tokenizer does not know.

    Returns:
        Boolean `unknown`, in the order of the instances.
    """
    # Where one token is for the unknown and for a text's end, as in GPT-2, the tokenizer writes every byte.
    others = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "cls", "sep", "pad", "mask")]
    token, owner = tokenizer.unk_token_id, rows.instance_of
    found = rows.have(token) if token not in (None, *others) else np.zeros(len(owner))
    return pl.Series("unknown", np.bincount(owner, found) > 0)
