"""Corrections for many tests at once: false discovery rates, Holm, and intervals of selected
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends

SIGNIFICANT = 0.05
"""A result is significant if its q, or p where it is tested alone, is at most this."""


def is_significant(column: str = "q") -> pl.Expr:
    """Says of each row whether it is significant, null where it is not tested."""
    return pl.col(column) <= SIGNIFICANT


def significance(row: Mapping[str, Any]) -> bool | None:
    """Says whether a number is significant, by its q or, where it is tested alone, its p; None
    where it has no test.
    """
    chance = row["p"] if row["q"] is None else row["q"]
    return None if chance is None else bool(chance <= SIGNIFICANT)


def false_discovery_rates(p: FloatArray, how: str = "bh") -> FloatArray:
    """Returns the q of each p: the expected share of false ones among all with a p up to its own.

    Args:
        p: shape (tests,); NaN is no test.
        how: `bh` (Benjamini and Hochberg, 1995), or `by` (Benjamini and Yekutieli, 2001), under any
            dependence.

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
    """Returns p corrected so that any false discovery among all tests is as rare as it says (Holm,
    1979).
    """
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * np.arange(len(known), 0, -1)
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return corrected


def simes(p: Sequence[float]) -> float:
    """Returns the p of there being anything at all behind several tests (Simes, Biometrika 1986).

    The smallest of m p_(i) / i, the p in ascending order; valid for independent tests and,
    conservatively, for positively dependent ones.

    Args:
        p: the p of the tests; NaN of no test.
    """
    ascending = np.sort([single for single in p if not np.isnan(single)])
    tests = len(ascending)
    scaled = tests * ascending / np.arange(1, tests + 1)
    return float(min(scaled, default=np.nan))


def selected_ends(
    values: FloatArray,
    q: FloatArray,
    sources: list[VarianceSource],
    within: tuple[Any, Any],
    alpha: float,
) -> tuple[FloatArray, FloatArray]:
    """Returns intervals of numbers selected for their small q (Benjamini and Yekutieli, 2005).

    Returns:
        Both ends, shape (numbers,); NaN for those that are not significant.
    """
    is_selected = q <= SIGNIFICANT
    tests, selected = np.count_nonzero(~np.isnan(q)), np.count_nonzero(is_selected)
    if not selected:
        nothing = np.full(len(values), np.nan)
        return nothing, nothing
    half = half_width(sources, alpha * selected / tests)
    low, high = interval_ends(values, half, within)
    return np.where(is_selected, low, np.nan), np.where(is_selected, high, np.nan)


def simultaneous_bounds(
    values: FloatArray,
    p: FloatArray,
    sources: list[VarianceSource],
    shared: list[VarianceSource],
    alpha: float,
) -> FloatArray:
    """Returns lower bounds of distances from fair values, all of a kind at once (Bonferroni).

    A number that is picked for its size is mostly larger than it would be in other clusters. A gain
    is one unknown that all numbers share, so its part is not divided by their count.

    Args:
        values: shape (numbers,), less their fair value.
        p: of their tests; NaN is no test.
        sources: what makes them vary.
        shared: what all of them share, a gain.
        alpha: how often one of all may be nearer to its fair value.

    Returns:
        Shape (numbers,), in size; 0 where nothing can be said, NaN where there is no test.
    """
    has_test = ~np.isnan(p)
    tests = np.count_nonzero(has_test)
    if not tests:
        return np.full(len(values), np.nan)
    squares = half_width(sources, alpha / tests) ** 2
    if shared:
        squares = squares + half_width(shared, alpha) ** 2
    bounds = np.maximum(np.abs(values) - np.sqrt(squares), 0)
    return np.where(has_test, bounds, np.nan)
