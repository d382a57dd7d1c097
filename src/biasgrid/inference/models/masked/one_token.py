"""Counts the tokens of words within a sentence, for models that score words of one token only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

BEFORE, BEHIND = "there", "is"
"""The words before and behind a word, which is then tokenized as in a text."""


def are_one_token(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[bool]:
    """Returns whether each word is one known token in the middle of a sentence.

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
    """Returns the number of tokens of each word in a sentence; 0 if one of them is unknown."""
    return counts_in_sentence(
        tokenizer.backend_tokenizer, tokenizer.mask_token, tokenizer.unk_token_id, words
    )


def counts_in_sentence(
    backend: Tokenizer, mask: str | None, unknown: int | None, words: Sequence[str]
) -> list[int]:
    """Returns the number of tokens of each word in a sentence; 0 if one of them is unknown.

    Args:
        backend: the tokenizer.
        mask: its mask token, whose place the words take; None if it has none.
        unknown: the id of its unknown token; None if its vocabulary covers every text.
        words: the words.
    """

    def encode(text: str) -> list[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    before = len(encode(BEFORE))
    behind = len(encode(f"{BEFORE} {BEHIND}")) - before
    if mask is not None:
        around = encode(f"{BEFORE} {mask} {BEHIND}")
        is_mask = [token == backend.token_to_id(mask) for token in around]
        before = is_mask.index(True)
        behind = len(around) - before - 1
    counts = []
    for word in words:
        ids = encode(f"{BEFORE} {word} {BEHIND}")
        own = ids[before : len(ids) - behind]
        counts.append(0 if unknown in own else len(own))
    return counts
