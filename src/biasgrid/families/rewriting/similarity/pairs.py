"""Compares pairs of texts, each distinct pair once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.formulas.ranked import jaccard, listed_names, prag, serp


def each_once(pairs: IntArray, compare: Callable[[int, int], float]) -> FloatArray:
    """Returns a number of each pair.

    Args:
        pairs: shape (pairs, 2), places of texts.
        compare: the number of two places.

    Returns:
        Shape (pairs,).
    """
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    values = [compare(one, other) for one, other in distinct.tolist()]
    return np.array(values, dtype=np.float64)[place.reshape(-1)]


def compare_lists(
    like: Callable[[Sequence[str], Sequence[str]], float | None], texts: Sequence[str], pairs: IntArray
) -> FloatArray:
    """Returns how like the lists in two texts are, shape (pairs,), NaN where one of them has none.

    Args:
        like: a similarity of lists.
        texts: distinct texts.
        pairs: shape (pairs, 2), places of texts.
    """
    lists = [listed_names(text) for text in texts]

    def of_pair(one: int, other: int) -> float:
        value = like(lists[one], lists[other]) if lists[one] and lists[other] else None
        return np.nan if value is None else value

    return each_once(pairs, of_pair)


jaccards, serps, prags = (partial(compare_lists, like) for like in (jaccard, serp, prag))
