"""Which words are a single token of a tokenizer, so that a masked language model can be asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast


def are_one_token(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[bool]:
    """Says of each word whether it is one known token in the middle of a sentence.

    Raises:
        ModelError: the tokenizer has no mask token.
    """
    backend, mask = tokenizer.backend_tokenizer, tokenizer.mask_token
    if mask is None:
        raise ModelError(f"{tokenizer.name_or_path}: the tokenizer has no mask token; expected that of a masked LM")
    return fill_mask_place(backend, (mask, tokenizer.mask_token_id), tokenizer.unk_token_id, words)


def fill_mask_place(backend: Tokenizer, mask: tuple[str, int], unknown: int | None, words: Sequence[str]) -> list[bool]:
    """Says of each word whether it is one known token in the place of the mask.

    Args:
        backend: the tokenizer.
        mask: its mask token and the token's id.
        unknown: id of its token for what it does not know, None where it knows all.
        words: the words.
    """
    frame = "there {} is"
    around = backend.encode(frame.format(mask[0]), add_special_tokens=False).ids
    place = around.index(mask[1])
    found = [backend.encode(frame.format(word), add_special_tokens=False).ids for word in words]
    return [len(ids) == len(around) and ids[place] != unknown for ids in found]
