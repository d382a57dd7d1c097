"""How many tokens words are within a sentence; a masked language model can be asked for words of
one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

BEFORE, BEHIND = "there", "is"
"""What stands around a word."""


def are_one_token(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[bool]:
    """Says of each word whether it is one known token in the middle of a sentence.

    Raises:
        ModelError: the tokenizer has no mask token.
    """
    if tokenizer.mask_token is None:
        raise ModelError(
            f"{tokenizer.name_or_path}: the tokenizer has no mask token; expected the tokenizer of "
            "a masked language model"
        )
    return [count == 1 for count in token_counts(tokenizer, words)]


def token_counts(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[int]:
    """Says of each word how many tokens it is in the middle of a sentence, 0 where one of them is
    unknown.
    """
    return counts_in_sentence(
        tokenizer.backend_tokenizer, tokenizer.mask_token, tokenizer.unk_token_id, words
    )


def counts_in_sentence(
    backend: Tokenizer, mask: str | None, unknown: int | None, words: Sequence[str]
) -> list[int]:
    """Says of each word how many tokens it is in the place of the mask, 0 where one of them is
    unknown.

    Args:
        backend: the tokenizer.
        mask: its mask token, None where it has none.
        unknown: id of its token for what it does not know, None where it knows all.
        words: the words.
    """

    def encode(text: str) -> list[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    before = len(encode(BEFORE))
    behind = len(encode(f"{BEFORE} {BEHIND}")) - before
    if mask is not None:
        around = encode(f"{BEFORE} {mask} {BEHIND}")
        before = [one == backend.token_to_id(mask) for one in around].index(True)
        behind = len(around) - before - 1
    found = [encode(f"{BEFORE} {word} {BEHIND}") for word in words]
    tokens = [ids[before : len(ids) - behind] for ids in found]
    return [0 if unknown in ids else len(ids) for ids in tokens]
