"""Intervals and p-values of numbers that vary with one or several factors (templates, subjects),
and of shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from biasgrid.base.arrays import FloatArray, IntArray, divide

LOWEST_LOG_P = -700.0
"""The bisection of p ends here: exp(-700) is about the smallest number that is not 0."""
BISECTION_STEPS = 80
"""After so many steps ln p is known to within 700 / 2^80."""


class VarianceSource(NamedTuple):
    """A source of variance of numbers, such as clusters of templates or names.

    Attributes:
        variance: shape (numbers,), the variance that it gives to each number itself (not to the
            value of one cluster or name). NaN if it is unknown, as with a single unit.
        df: shape (numbers,), degrees of freedom of the variance; 0 if it is unknown, infinite if it
            is known exactly.
    """

    variance: FloatArray
    df: FloatArray


def half_width(sources: Sequence[VarianceSource], alpha: FloatArray | float) -> FloatArray:
    """Returns half the width of intervals: sqrt(sum of t² V), each t at the df of its V.

    Args:
        sources: what makes the numbers vary.
        alpha: how often the intervals miss; one probability, or one per number.

    Returns:
        Shape (numbers,), NaN for a number with an unknown variance.
    """
    squares = [quantile(alpha, source.df) ** 2 * source.variance for source in sources]
    return np.sqrt(np.asarray(np.sum(squares, axis=0), dtype=np.float64))


def quantile(alpha: FloatArray | float, df: FloatArray) -> FloatArray:
    """Returns the quantile of Student's t at 1 - alpha / 2, NaN without degrees of freedom."""
    usable = np.where(np.asarray(df) > 0, df, np.nan)
    # By the lower tail: for a tiny alpha 1 - alpha / 2 is 1 in floating point.
    return -np.asarray(stdtrit(usable, np.asarray(alpha) / 2))


def p_values(values: FloatArray, sources: Sequence[VarianceSource]) -> FloatArray:
    """Returns two-sided p-values against 0: the alpha at which an interval just reaches 0.

    Args:
        values: shape (numbers,), or distances from the value that is tested.
        sources: what makes the numbers vary.

    Returns:
        Shape (numbers,), NaN for a number with an unknown variance, or with no variance at all.
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
    known_sources = []
    for source in sources:
        known_sources.append(VarianceSource(source.variance[usable], source.df[usable]))
    p[usable] = p_from_sizes(np.abs(values[usable]), known_sources)
    return p


def sign_test_p(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Returns the p of numbers that are equal in all clusters, from the agreement of signs alone.

    Args:
        values: shape (numbers,), distances from the value that is tested.
        clusters: shape (numbers,), the number of clusters of each.

    Returns:
        2^(1 - clusters), the probability that random signs all agree; 1 if the distance is 0.
    """
    return np.where(values == 0, 1.0, 2.0 ** (1 - clusters))


def fewest_sign_test_units(alpha: float) -> int:
    """Returns how many units must agree in sign for a p of at most alpha.

    The least p of k units is 2^(1 - k).
    """
    return ceil(1 - log2(alpha))


def p_from_sizes(sizes: FloatArray, sources: Sequence[VarianceSource]) -> FloatArray:
    """Returns the alpha at which half the width of an interval equals a size, by bisection of ln p.

    Args:
        sizes: shape (numbers,), 0 or more, not NaN.
        sources: what makes the numbers vary. No variance may be unknown: its p would be 1.
    """
    lowest_log, highest_log = np.full(len(sizes), LOWEST_LOG_P), np.zeros(len(sizes))
    for _ in range(BISECTION_STEPS):
        middle = (lowest_log + highest_log) / 2
        # scipy returns NaN for far tails with few degrees of freedom. The width is then larger than
        # any size, so NaN must count as too wide.
        is_too_wide = np.logical_not(half_width(sources, np.exp(middle)) <= sizes)
        lowest_log = np.where(is_too_wide, middle, lowest_log)
        highest_log = np.where(is_too_wide, highest_log, middle)
    return np.exp((lowest_log + highest_log) / 2)


def interval_ends(
    values: FloatArray, half: FloatArray, limits: tuple[Any, Any]
) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of the intervals values ± half, clipped to the range of the numbers."""
    return np.clip(values - half, *limits), np.clip(values + half, *limits)


class WilsonInterval(NamedTuple):
    """Wilson's intervals of rates; arrays of shape (rates,), NaN for fewer than two clusters.

    Attributes:
        low: lower ends.
        high: upper ends.
        effective_cases: how many independent cases the rates are worth.
    """

    low: FloatArray
    high: FloatArray
    effective_cases: FloatArray


def wilson_interval(
    rates: FloatArray,
    *,
    independent_cases: FloatArray,
    variance: FloatArray,
    clusters: IntArray,
    alpha: float,
) -> WilsonInterval:
    """Returns Wilson's intervals of rates in clustered data (Korn and Graubard, 1998).

    The sample size is the effective one, rate (1 - rate) / variance, at most `independent_cases`.

    Args:
        rates: shape (rates,), the share of cases.
        independent_cases: shape (rates,), an upper limit of the effective sample size; less than
            the denominator of the rate if a case is counted several times.
        variance: shape (rates,), the jackknife variance of the rate over clusters.
        clusters: shape (rates,), the number of clusters.
        alpha: how often the intervals miss.
    """
    binomial = rates * (1 - rates)
    effective = np.minimum(independent_cases, divide(binomial, variance))
    effective = np.where(variance == 0, independent_cases, effective)
    # A rate of 0 or 1 has the variance 0 however alike the cases of a cluster are: count each
    # cluster as one case.
    effective = np.where((rates <= 0) | (rates >= 1), clusters, effective)
    is_known = (clusters > 1) & ~np.isnan(rates) & ~np.isnan(variance)
    effective = np.where(is_known, effective, np.nan)
    square = quantile(alpha, (clusters - 1).astype(np.float64)) ** 2
    centre = (rates + square / (2 * effective)) / (1 + square / effective)
    spread = np.sqrt(binomial / effective + square / (4 * effective**2))
    half = np.sqrt(square) * spread / (1 + square / effective)
    return WilsonInterval(np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1), effective)
