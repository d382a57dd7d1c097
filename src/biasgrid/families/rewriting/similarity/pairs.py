"""Compares pairs of texts, each distinct pair once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray


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
