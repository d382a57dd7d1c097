"""Corrections for many tests at once: false discovery rates, Holm, and intervals of selected numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends
from biasgrid.tables.measures import SIGNIFICANT

LEVEL = SIGNIFICANT
"""Significant results are what has a q of at most this."""


def false_discovery_rates(p: FloatArray, how: str = "bh") -> FloatArray:
    """Returns the q of each p: the share of false discoveries among all with a p up to its own.

    Args:
        p: shape (tests,); NaN is no test.
        how: `bh` (Benjamini and Hochberg, 1995), or `by` (Benjamini and Yekutieli, 2001), under any dependence.

    Returns:
        Shape (tests,), NaN where p is.
    """
    known = np.flatnonzero(~np.isnan(p))
    count = len(known)
    harmonic = float((1 / np.arange(1, count + 1)).sum()) if how == "by" else 1.0
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * harmonic * count / np.arange(1, count + 1)
    q = np.full(len(p), np.nan)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return q


def holm(p: FloatArray) -> FloatArray:
    """Returns p corrected so that any false discovery among all tests is as rare as it says (Holm, 1979)."""
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * np.arange(len(known), 0, -1)
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return corrected


def selected_ends(
    values: FloatArray, q: FloatArray, sources: list[VarianceSource], within: tuple[Any, Any], alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Returns intervals of numbers that were selected for their small q (Benjamini and Yekutieli, 2005).

    Returns:
        Both ends, shape (numbers,); NaN for those that are not significant.
    """
    found = q <= LEVEL
    tests, significant = np.count_nonzero(~np.isnan(q)), np.count_nonzero(found)
    if not significant:
        nothing = np.full(len(values), np.nan)
        return nothing, nothing
    low, high = interval_ends(values, half_width(sources, alpha * significant / tests), within)
    return np.where(found, low, np.nan), np.where(found, high, np.nan)
