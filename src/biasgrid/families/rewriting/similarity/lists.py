"""How like the lists in two texts are: each distinct text is read once, each distinct pair compared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.formulas.ranked import jaccard, names_in, prag, serp
from biasgrid.families.rewriting.similarity.pairs import each_once


def compared(
    like: Callable[[Sequence[str], Sequence[str]], float | None], texts: Sequence[str], pairs: IntArray
) -> FloatArray:
    """Returns how like the lists in two texts are, shape (pairs,), NaN where one of them has none.

    Args:
        like: a similarity of lists.
        texts: distinct texts.
        pairs: shape (pairs, 2), places of texts.
    """
    lists = [names_in(text) for text in texts]

    def of_pair(one: int, other: int) -> float:
        value = like(lists[one], lists[other]) if lists[one] and lists[other] else None
        return np.nan if value is None else value

    return each_once(pairs, of_pair)


jaccards, serps, prags = (partial(compared, like) for like in (jaccard, serp, prag))
