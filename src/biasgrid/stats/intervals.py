"""Intervals and p-values of numbers that vary with one or several factors (templates, subjects),
and of shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from biasgrid.base.arrays import FloatArray, IntArray, divide

LEAST_LOG = -700.0
STEPS = 80
"""Of the bisection of p: ln p is found to within 700 / 2^80."""


class VarianceSource(NamedTuple):
    """Something with which numbers vary.

    Attributes:
        variance: shape (numbers,), of the mean; NaN where it is not known.
        df: shape (numbers,), degrees of freedom, may be infinite.
    """

    variance: FloatArray
    df: FloatArray


def half_width(sources: Sequence[VarianceSource], alpha: FloatArray | float) -> FloatArray:
    """Returns half the width of intervals that miss with probability alpha: sqrt(sum of t² V over
    the sources).

    Args:
        sources: each with arrays of shape (numbers,).
        alpha: one, or one for each number.
    """
    squares = [quantile(alpha, source.df) ** 2 * source.variance for source in sources]
    return np.sqrt(np.asarray(np.sum(squares, axis=0), dtype=np.float64))


def quantile(alpha: FloatArray | float, df: FloatArray) -> FloatArray:
    """Returns the t quantile of 1 - alpha / 2, NaN without degrees of freedom."""
    usable = np.where(np.asarray(df) > 0, df, np.nan)
    # The tail, which keeps its digits where 1 - alpha / 2 is 1.
    return -np.asarray(stdtrit(usable, np.asarray(alpha) / 2))


def p_values(values: FloatArray, sources: Sequence[VarianceSource]) -> FloatArray:
    """Returns the alpha at which the interval of each value just reaches 0.

    It is NaN where a variance is not known.

    Args:
        values: shape (numbers,).
        sources: each with arrays of shape (numbers,).
    """
    if len(sources) == 1:
        variance, df = sources[0]
        usable = (variance > 0) & (df > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.abs(values) / np.sqrt(variance)
        return np.where(usable, 2 * stdtr(np.where(usable, df, 1), -size), np.nan)
    # No closed form: each source has its own quantile at an alpha.
    are_known = [~np.isnan(source.variance) & (source.df > 0) for source in sources]
    total = np.sum([source.variance for source in sources], axis=0)
    usable = np.all(are_known, axis=0) & (total > 0)
    p = np.full(len(values), np.nan)
    known_sources = [VarianceSource(one.variance[usable], one.df[usable]) for one in sources]
    p[usable] = p_from_sizes(np.abs(values[usable]), known_sources)
    return p


def sign_test_p(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Returns p of numbers that are the same in all clusters: how rarely signs by chance would all
    agree.

    Args:
        values: shape (numbers,).
        clusters: shape (numbers,), how many clusters there are.

    Returns:
        2^(1 - clusters), and 1 of numbers that are 0.
    """
    return np.where(values == 0, 1.0, 2.0 ** (1 - clusters))


def p_from_sizes(sizes: FloatArray, sources: Sequence[VarianceSource]) -> FloatArray:
    """Returns the alpha at which half the width is a size, by bisection of its logarithm."""
    low, high = np.full(len(sizes), LEAST_LOG), np.zeros(len(sizes))
    for _ in range(STEPS):
        middle = (low + high) / 2
        # Of far tails scipy gives NaN for a few degrees of freedom; there the width is beyond any
        # size.
        too_wide = np.logical_not(half_width(sources, np.exp(middle)) <= sizes)
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    return np.exp((low + high) / 2)


def interval_ends(
    values: FloatArray, half: FloatArray, within: tuple[Any, Any]
) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of intervals, cut to a range."""
    return np.clip(values - half, *within), np.clip(values + half, *within)


def wilson_interval(
    rates: FloatArray, cases: FloatArray, variance: FloatArray, clusters: IntArray, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns Wilson's interval of rates over clusters (Korn and Graubard, 1998).

    It has as many cases as the variance over clusters is worth.

    Args:
        rates: shape (rates,), the share of cases.
        cases: shape (rates,), how many cases there are.
        variance: shape (rates,), the jackknife variance of the rate over clusters.
        clusters: shape (rates,), how many clusters there are.
        alpha: the share of intervals that miss.

    Returns:
        Both ends, and how many cases the rate is worth; shape (rates,), NaN for fewer than two
        clusters.
    """
    binomial = rates * (1 - rates)
    worth = np.minimum(cases, divide(binomial, variance))
    worth = np.where(variance == 0, cases, worth)
    # Where all or none fail, cases tell no more than clusters do.
    worth = np.where((rates <= 0) | (rates >= 1), clusters, worth)
    is_known = (clusters > 1) & ~np.isnan(rates) & ~np.isnan(variance)
    worth = np.where(is_known, worth, np.nan)
    square = quantile(alpha, (clusters - 1).astype(np.float64)) ** 2
    centre = (rates + square / (2 * worth)) / (1 + square / worth)
    spread = np.sqrt(binomial / worth + square / (4 * worth**2))
    half = np.sqrt(square) * spread / (1 + square / worth)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1), worth
