"""Intervals of rates whose cases are not independent: those of one cluster are alike."""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, ratio
from biasgrid.stats.intervals import quantile


def effective_interval(
    rates: FloatArray, cases: FloatArray, variance: FloatArray, clusters: IntArray, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns Wilson's interval with as many cases as the variance over clusters is worth (Korn and Graubard, 1998).

    Args:
        rates: shape (rates,), the share of cases.
        cases: shape (rates,), how many cases there are.
        variance: shape (rates,), the jackknife variance of the rate over clusters.
        clusters: shape (rates,), how many clusters there are.
        alpha: how often intervals miss.

    Returns:
        Both ends, and how many cases the rate is worth; shape (rates,), NaN for fewer than two clusters.
    """
    worth = np.minimum(cases, ratio(rates * (1 - rates), variance))
    worth = np.where(variance == 0, cases, worth)
    # Where all or none fail, cases tell no more than clusters do.
    worth = np.where((rates <= 0) | (rates >= 1), clusters, worth)
    worth = np.where((clusters > 1) & ~np.isnan(rates) & ~np.isnan(variance), worth, np.nan)
    square = quantile(alpha, (clusters - 1).astype(np.float64)) ** 2
    centre = (rates + square / (2 * worth)) / (1 + square / worth)
    spread = np.sqrt(rates * (1 - rates) / worth + square / (4 * worth**2))
    half = np.sqrt(square) * spread / (1 + square / worth)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1), worth
