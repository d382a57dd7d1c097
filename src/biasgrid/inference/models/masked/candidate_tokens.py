"""Words of several pieces at a mask: which inputs ask for them, and what is read of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.base.sections import TargetScoring
from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class VocabularyTokens(NamedTuple):
    """A text in a tokenizer's vocabulary: its token ids, and of each the number of the word that it
    is part of.
    """

    text: str
    ids: list[int]
    words: list[int | None]


class Insert(NamedTuple):
    """What stands in place of the mask in one input (token ids), and which of them is read."""

    ids: tuple[int, ...]
    place: int


class TokenReading(NamedTuple):
    """A token whose probability is read, and which of the ways to write a candidate it is a piece
    of.
    """

    token: int
    way: int


def tokens_in_place(tokenizer: PreTrainedTokenizerFast, text: str, word: str) -> VocabularyTokens:
    """Tokenizes a word in the place of a text's mask, with a leading space where the place has one.

    Raises:
        ModelError: the tokenizer cannot write the word, or joins it with what stands around it.
    """
    backend, mask = tokenizer.backend_tokenizer, tokenizer.mask_token
    around = backend.encode(text, add_special_tokens=False).ids
    written = backend.encode(text.replace(mask, word), add_special_tokens=False)
    begin, end_of_word = around.index(tokenizer.mask_token_id), text.index(mask) + len(word)
    end = sum(first < end_of_word for first, _ in written.offsets)
    if (
        begin >= end
        or written.ids[:begin] != around[:begin]
        or written.offsets[end - 1][1] > end_of_word
    ):
        raise ModelError(
            f"{word!r} is not a separate word at the mask of {text!r}; expected a mask with spaces "
            "or punctuation around it, and words"
        )
    ids = written.ids[begin:end]
    if tokenizer.unk_token_id in ids:
        raise ModelError(
            f"{word!r} has letters that this model's tokenizer does not know; expected words of "
            "its vocabulary"
        )
    return VocabularyTokens(word, ids, written.word_ids[begin:end])


def candidate_inserts(
    ways: Sequence[VocabularyTokens], scoring: TargetScoring | None, mask: int
) -> list[tuple[Insert, list[TokenReading]]]:
    """Returns the inputs that score a candidate; the ways to write it share those which they have
    in common.

    Args:
        ways: the pieces of each way.
        scoring: see `hidden_tokens`.
        mask: the mask's token id.

    Raises:
        ModelError: a way has several pieces, and there is no scoring.
    """
    inserts: dict[Insert, list[TokenReading]] = {}
    for number, way in enumerate(ways):
        if scoring is None and len(way.ids) > 1:
            raise ModelError(
                f"{way.text!r} is not a single token of this model; expected one-token words, or "
                "`target_scoring` in the dataset to score longer words too (without "
                "`target_scoring`, leave out `subjects` in the variant, and longer "
                "words are dropped)"
            )
        for piece, hidden in enumerate(hidden_tokens(scoring, way.words)):
            shown = Insert(tuple(np.where(hidden, mask, way.ids).tolist()), piece)
            inserts.setdefault(shown, []).append(TokenReading(way.ids[piece], number))
    return list(inserts.items())


def hidden_tokens(
    scoring: TargetScoring | None, words: Sequence[int | None]
) -> npt.NDArray[np.bool_]:
    """Says which pieces of a candidate are masked while one of them is read.

    The candidate's score is the product of the probabilities of all pieces, each read with some of
    the others masked:

    - `joint`: it and all behind it, so that the product is that of the chain rule;
    - `pll`: it alone (pseudo-log-likelihood; Salazar et al., ACL 2020,
      https://aclanthology.org/2020.acl-main.240);
    - `pll-l2r`: it and those behind it in the same word (PLL-word-l2r; Kauf and Ivanova, ACL 2023,
      https://aclanthology.org/2023.acl-short.80), which differs from `joint` in candidates of
      several words.

    Args:
        scoring: which of them; of a candidate of one piece it makes no difference.
        words: shape (pieces,), the word of each piece.

    Returns:
        Shape (pieces, pieces), a row for each piece that is read.
    """
    place, word = np.arange(len(words)), np.array(words)
    if scoring == "pll":
        return np.eye(len(words), dtype=np.bool_)
    behind: npt.NDArray[np.bool_] = place[None, :] >= place[:, None]
    return behind & (word[None, :] == word[:, None]) if scoring == "pll-l2r" else behind
