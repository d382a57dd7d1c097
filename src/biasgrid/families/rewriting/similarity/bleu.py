"""BLEU of sentences (Papineni et al., ACL 2002), with the numbers of NLTK's `sentence_bleu` and its `method1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp, fsum, log

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.formulas.tokens import tokenize_words
from biasgrid.families.rewriting.similarity.pairs import each_once

LONGEST_NGRAM = 4
"""Words of the longest n-grams."""
SMALL = 0.1
"""Stands for no n-gram in common (Chen and Cherry, WMT 2014, method 1)."""
NGRAMS_KEPT = 1024
"""How many texts are kept with their n-grams, which take a hundred times the memory of their words."""
Grams = Sequence[frozenset[tuple[object, ...]]]


def bleu(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the smaller one of the BLEU of each text of a pair against the other.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them.

    Returns:
        Shape (pairs,).
    """
    split = [tokenize_words(text.lower()) for text in texts]

    @lru_cache(maxsize=NGRAMS_KEPT)
    def grams_of(place: int) -> Grams:
        return [frozenset(number_ngrams(split[place], size)) for size in range(1, LONGEST_NGRAM + 1)]

    def compare(one: int, other: int) -> float:
        # What two texts share is the same in both directions.
        shared = [len(mine & theirs) for mine, theirs in zip(grams_of(one), grams_of(other), strict=True)]
        sizes = len(split[one]), len(split[other])
        return min(bleu_of_pair(shared, *sizes), bleu_of_pair(shared, *sizes[::-1]))

    return each_once(pairs, compare)


def number_ngrams(split: Sequence[str], size: int) -> Iterator[tuple[object, ...]]:
    """Yields the n-grams of a text with how often each stood before, so that sets share clipped counts."""
    seen: dict[tuple[str, ...], int] = {}
    for gram in zip(*(split[start:] for start in range(size)), strict=False):
        count = seen.get(gram, 0)
        seen[gram] = count + 1
        yield (*gram, count)


def bleu_of_pair(shared: Sequence[int], hypothesis: int, reference: int) -> float:
    """Returns the BLEU of a hypothesis.

    Args:
        shared: how many n-grams it shares with the reference, for each length.
        hypothesis: how many words it has.
        reference: how many the reference has.
    """
    if not shared[0]:
        return 0.0
    logs = [
        log((hits or SMALL) / max(1, hypothesis - size + 1)) / LONGEST_NGRAM
        for size, hits in enumerate(shared, start=1)
    ]
    brevity = 1.0 if hypothesis > reference else exp(1 - reference / hypothesis)
    return brevity * exp(fsum(logs))
