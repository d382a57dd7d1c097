"""The tokens of candidates in contexts, and UnQover's widening of these spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from biasgrid.base.arrays import IntArray
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.segments import TokenizedTexts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Windows:
    """Windows of tokens for the start and for the end of each candidate.

    A candidate's start probability is the largest one in its start window, its end probability the
    largest one in its end window.

    Attributes:
        start_from, start_to: shape (contexts, candidates), the first and the last place of the
            start window, counted in the context. `start_to` is the candidate's first token.
        end_from, end_to: likewise for the end window. `end_from` is the candidate's last token.
    """

    start_from: IntArray
    start_to: IntArray
    end_from: IntArray
    end_to: IntArray


def candidate_windows(contexts: TokenizedTexts, positions: IntArray, sizes: IntArray) -> Windows:
    """Finds the tokens of candidates by their places in the text.

    Args:
        contexts: tokenized contexts with offsets, none of them empty.
        positions: shape (contexts, candidates), where each candidate begins, in characters; any
            value for a missing candidate.
        sizes: shape (contexts, candidates), the length of each candidate in characters.

    Returns:
        Windows of one token: the first and the last token of each candidate.
    """
    offsets = contexts.matrix(contexts.offsets)
    begins, ends = offsets[:, None, :, 0], offsets[:, None, :, 1]
    is_token = (np.arange(offsets.shape[1]) < contexts.text_lengths[:, None])[:, None]
    first = ((ends <= positions[..., None]) & is_token).sum(axis=2)
    last = ((begins < (positions + sizes)[..., None]) & is_token).sum(axis=2) - 1
    return Windows(first, first, last, last)


DETERMINERS = ("an", "a", "the", "some", "few", "several")
SUFFIXES = (
    "man woman boy girl child kid person folk people couple men women boys girls children kids "
    "persons folks city country cities countries"
).split()
COLLECTIVES = {"roberta": ("group", "team", "couple"), "bert": ("group", "team")}


@dataclass(frozen=True)
class WideningWords:
    """Token ids of the words that widen a span in UnQover (spec b.1, step 6).

    A determiner widens it to the left, and so does an article, a collective noun and "of", as in
    "a group of". A suffix widens it to the right.
    """

    determiners: IntArray
    suffixes: IntArray
    articles: IntArray
    collectives: IntArray
    of_words: IntArray


def widening_words(tokenizer: PreTrainedTokenizerFast, model_type: str) -> WideningWords:
    """Returns UnQover's widening words in a vocabulary; words that it lacks are left out.

    UnQover's table for RoBERTa has words that follow a space, and determiners also with a capital.
    Its table for BERT has words in lower case.

    Raises:
        ModelError: UnQover has no table for this kind of model.
    """
    kind = {"roberta": "roberta", "bert": "bert", "distilbert": "bert"}.get(model_type)
    if kind is None:
        raise ModelError(
            f"scoring unqover supports BERT, DistilBERT and RoBERTa, not {model_type}; expected "
            "scoring: exact"
        )
    mark = "Ġ" if kind == "roberta" else ""
    vocabulary = tokenizer.get_vocab()

    def ids(words: Sequence[str], *, with_capitals: bool = False) -> IntArray:
        spellings = list(words)
        if with_capitals:
            spellings += [word.capitalize() for word in words]
        tokens = [mark + word for word in spellings]
        token_ids = [vocabulary[token] for token in tokens if token in vocabulary]
        return np.array(token_ids, dtype=np.int64)

    # The vocabularies of the other models have no capitals.
    has_capitals = kind == "roberta"
    # A full stop has no space before it, and so no mark.
    full_stop = [vocabulary["."]] if "." in vocabulary else []
    suffixes = np.concatenate([ids(SUFFIXES), np.array(full_stop, dtype=np.int64)])
    return WideningWords(
        determiners=ids(DETERMINERS, with_capitals=has_capitals),
        suffixes=suffixes,
        articles=ids(["a"], with_capitals=has_capitals),
        collectives=ids(COLLECTIVES[kind]),
        of_words=ids(["of"]),
    )


def widen(windows: Windows, contexts: TokenizedTexts, words: WideningWords) -> Windows:
    """Widens windows by "the" or "a group of" to the left, and a noun or full stop to the right.

    See spec b.1, step 6.

    Args:
        windows: windows of one token.
        contexts: the tokenized contexts, none of them empty.
        words: the widening words.
    """

    def is_among(places: IntArray, token_ids: IntArray) -> npt.NDArray[np.bool_]:
        """Whether the token at a place is one of some tokens; False outside of the context."""
        lengths = contexts.text_lengths[:, None]
        is_inside = (places >= 0) & (places < lengths)
        ids = contexts.ids[contexts.begins[:, None] + np.clip(places, 0, lengths - 1)]
        return is_inside & np.isin(ids, token_ids)

    first, last = windows.start_to, windows.end_from
    has_phrase = is_among(first - 3, words.articles)
    has_phrase &= is_among(first - 2, words.collectives)
    has_phrase &= is_among(first - 1, words.of_words)
    has_determiner = is_among(first - 1, words.determiners)
    after_determiner = np.where(has_determiner, first - 1, first)
    start_from = np.where(has_phrase, first - 3, after_determiner)
    end_to = np.where(is_among(last + 1, words.suffixes), last + 1, last)
    return Windows(start_from, first, last, end_to)
