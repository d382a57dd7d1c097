"""Which words are a single token of a tokenizer, so that a masked language model can be asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def are_one_token(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[bool]:
    """Says of each word whether it is one known token in the middle of a sentence."""
    frame = "there {} is"
    encode = tokenizer.backend_tokenizer.encode
    around = encode(frame.format(tokenizer.mask_token), add_special_tokens=False).ids
    place = around.index(tokenizer.mask_token_id)
    found = [encode(frame.format(word), add_special_tokens=False).ids for word in words]
    return [len(ids) == len(around) and ids[place] != tokenizer.unk_token_id for ids in found]
