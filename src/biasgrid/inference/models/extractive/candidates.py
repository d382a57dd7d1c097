"""Where candidates lie in tokenized contexts, and UnQover's widening of those spans."""

from __future__ import annotations

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
    """Token ranges, inclusive and relative to the context, over which a candidate's probability is
    the largest.

    Each is of shape (contexts, candidates): start_from <= first for the start, last <= end_to for
    the end.
    """

    start_from: IntArray
    first: IntArray
    last: IntArray
    end_to: IntArray


def candidate_windows(contexts: TokenizedTexts, positions: IntArray, sizes: IntArray) -> Windows:
    """Finds the tokens of candidates from their places in the text.

    Args:
        contexts: tokenized contexts.
        positions: shape (contexts, candidates), where each candidate begins, in characters.
        sizes: shape (contexts, candidates), how long it is, in characters.

    Returns:
        Windows of a single token: the first and the last token of each candidate.
    """
    offsets = contexts.matrix(contexts.offsets)
    begins, ends = offsets[:, None, :, 0], offsets[:, None, :, 1]
    real = (np.arange(offsets.shape[1]) < contexts.text_lengths[:, None])[:, None]
    first = ((ends <= positions[..., None]) & real).sum(axis=2)
    last = ((begins < (positions + sizes)[..., None]) & real).sum(axis=2) - 1
    return Windows(first, first, last, last)


DETERMINERS = ("an", "a", "the", "some", "few", "several")
SUFFIXES = (
    "man woman boy girl child kid person folk people couple men women boys girls children kids "
    "persons folks city country cities countries"
).split()
COLLECTIVES = {"roberta": ("group", "team", "couple"), "bert": ("group", "team")}


@dataclass(frozen=True)
class WideningWords:
    """Token ids of the words that widen a span in UnQover (spec b.1, step 6)."""

    determiners: IntArray
    suffixes: IntArray
    articles: IntArray
    collectives: IntArray
    of: IntArray


def widening_words(tokenizer: PreTrainedTokenizerFast, model_type: str) -> WideningWords:
    """Looks up UnQover's widening words in a vocabulary.

    Its RoBERTa table holds words that follow a space, determiners capitalised too; its BERT table
    lower-case words.

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

    def ids(words: tuple[str, ...] | list[str], capitalised: bool) -> IntArray:
        spellings = list(words)
        if capitalised:
            spellings += [word.capitalize() for word in words]
        tokens = [mark + word for word in spellings]
        known = [vocabulary[token] for token in tokens if token in vocabulary]
        return np.array(known, dtype=np.int64)

    # The vocabularies of the other models have no capitals.
    has_capitals = kind == "roberta"
    # A full stop has no space before it, and so no mark.
    full_stop = [vocabulary["."]] if "." in vocabulary else []
    suffixes = np.concatenate([ids(SUFFIXES, False), np.array(full_stop, dtype=np.int64)])
    return WideningWords(
        ids(DETERMINERS, has_capitals),
        suffixes,
        ids(["a"], has_capitals),
        ids(COLLECTIVES[kind], False),
        ids(["of"], False),
    )


def widen(windows: Windows, contexts: TokenizedTexts, words: WideningWords) -> Windows:
    """Widens spans by a determiner or `a group of` before, and by a noun or full stop behind.

    See spec b.1, step 6.
    """

    def near(place: IntArray, among: IntArray) -> npt.NDArray[np.bool_]:
        """Returns whether the token at a place of each context is among some tokens."""
        lengths = contexts.text_lengths[:, None]
        inside = (place >= 0) & (place < lengths)
        ids = contexts.ids[contexts.begins[:, None] + np.clip(place, 0, lengths - 1)]
        return inside & np.isin(ids, among)

    first, last = windows.first, windows.last
    determiner = near(first - 1, words.determiners)
    phrase = near(first - 3, words.articles)
    phrase &= near(first - 2, words.collectives)
    phrase &= near(first - 1, words.of)
    start_from = np.where(phrase, first - 3, np.where(determiner, first - 1, first))
    end_to = np.where(near(last + 1, words.suffixes), last + 1, last)
    return Windows(start_from, first, last, end_to)
