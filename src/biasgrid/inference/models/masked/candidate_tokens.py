"""Words of one or more tokens at a mask: the inputs that score them, and the tokens to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.base.sections import TargetScoring
from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class VocabularyTokens(NamedTuple):
    """One spelling of a candidate, as tokens.

    Attributes:
        text: the spelling, for messages.
        ids: its token ids; at least one.
        word_numbers: shape (tokens,), the word that each token is part of, numbered within the
            tokenized text. None only for a token that is of no word.
    """

    text: str
    ids: list[int]
    word_numbers: list[int | None]


class Insert(NamedTuple):
    """Tokens in place of the mask in one input.

    Attributes:
        ids: the token ids, some of which are masks; a single one is the mask.
        place: the place in `ids` whose probabilities are read.
    """

    ids: tuple[int, ...]
    place: int

    @property
    def is_mask_alone(self) -> bool:
        """Whether the mask stays as it is, since the candidate is one token."""
        return len(self.ids) == 1


class TokenReading(NamedTuple):
    """A token whose probability is read at a place.

    Attributes:
        token: the token id.
        spelling: the place, among the candidate's spellings, of the one that it is a token of.
    """

    token: int
    spelling: int


ScoredInputs = list[tuple[Insert, list[TokenReading]]]
"""The inputs that score a candidate, with the tokens that are read in each."""


def tokens_in_place(tokenizer: PreTrainedTokenizerFast, text: str, word: str) -> VocabularyTokens:
    """Tokenizes a word in place of a text's mask, with a leading space if there is one.

    Args:
        tokenizer: the tokenizer.
        text: a text that contains the tokenizer's mask once.
        word: the word.

    Raises:
        ModelError: the tokenizer has no tokens for the word, or joins it with its neighbours.
    """
    backend, mask = tokenizer.backend_tokenizer, tokenizer.mask_token
    with_mask = backend.encode(text, add_special_tokens=False).ids
    filled = backend.encode(text.replace(mask, word), add_special_tokens=False)
    begin, word_end = with_mask.index(tokenizer.mask_token_id), text.index(mask) + len(word)
    end = sum(start < word_end for start, _ in filled.offsets)
    if (
        begin >= end
        or filled.ids[:begin] != with_mask[:begin]
        or filled.offsets[end - 1][1] > word_end
    ):
        raise ModelError(
            f"{word!r} is not a separate word at the mask of {text!r}; expected a mask with spaces "
            "or punctuation around it, and words"
        )
    ids = filled.ids[begin:end]
    if tokenizer.unk_token_id in ids:
        raise ModelError(
            f"{word!r} has letters that this model's tokenizer does not know; expected words of "
            "its vocabulary"
        )
    return VocabularyTokens(word, ids, filled.word_ids[begin:end])


def candidate_spellings(word: str, position: int, either_case: Sequence[int]) -> list[str]:
    """Returns the spellings of a candidate.

    Args:
        word: the candidate.
        position: its number, from 1.
        either_case: the numbers of candidates that may also begin with a capital letter.
    """
    return [word, word.capitalize()] if position in either_case else [word]


def scored_spellings(spellings: Iterable[VocabularyTokens]) -> list[VocabularyTokens]:
    """Returns spellings with distinct tokens; those of a single token alone, if there are some."""
    distinct = {tuple(spelling.ids): spelling for spelling in spellings}
    single = [spelling for ids, spelling in distinct.items() if len(ids) == 1]
    return single or list(distinct.values())


def candidate_inserts(
    spellings: Sequence[VocabularyTokens], scoring: TargetScoring | None, mask: int
) -> ScoredInputs:
    """Returns the inputs that score a candidate; equal inputs of several spellings are one.

    Args:
        spellings: the spellings of the candidate; without any, no input is returned.
        scoring: see `masked_tokens`; None allows spellings of one token only.
        mask: the mask's token id.

    Raises:
        ModelError: a spelling has several tokens, and `scoring` is None.
    """
    inserts: dict[Insert, list[TokenReading]] = {}
    for number, spelling in enumerate(spellings):
        if scoring is None and len(spelling.ids) > 1:
            raise ModelError(
                f"{spelling.text!r} is not a single token of this model; expected one-token words, "
                "or `target_scoring` in the dataset to score longer words too (without "
                "`target_scoring`, leave out `subjects` in the variant, and longer "
                "words are dropped)"
            )
        for place, is_masked in enumerate(masked_tokens(scoring, spelling.word_numbers)):
            insert = Insert(tuple(np.where(is_masked, mask, spelling.ids).tolist()), place)
            inserts.setdefault(insert, []).append(TokenReading(spelling.ids[place], number))
    return list(inserts.items())


def masked_tokens(
    scoring: TargetScoring | None, word_numbers: Sequence[int | None]
) -> npt.NDArray[np.bool_]:
    """Returns which tokens of a candidate are masked while one of them is read.

    The candidate's score is the product of the probabilities of its tokens. While a token is read,
    these are masked:

    - `joint`: the token and all later ones, as in the chain rule of probability;
    - `pll`: the token alone (pseudo-log-likelihood; Salazar et al., ACL 2020,
      https://aclanthology.org/2020.acl-main.240);
    - `pll-l2r`: the token and later ones of the same word (PLL-word-l2r; Kauf and Ivanova, ACL
      2023, https://aclanthology.org/2023.acl-short.80). It differs from `joint` for candidates of
      several words.

    Args:
        scoring: one of these. For a candidate of one token all are alike, and None is allowed.
        word_numbers: shape (tokens,), the word of each token; None is a word of its own kind.

    Returns:
        Shape (tokens, tokens), True where masked, with a row for each token that is read.
    """
    token_count = len(word_numbers)
    if scoring == "pll":
        return np.eye(token_count, dtype=np.bool_)
    place, word = np.arange(token_count), np.array(word_numbers)
    is_later: npt.NDArray[np.bool_] = place[None, :] >= place[:, None]
    if scoring != "pll-l2r":
        return is_later
    is_same_word: npt.NDArray[np.bool_] = word[None, :] == word[:, None]
    return is_later & is_same_word
