"""The jackknife, and moderated variances: those of few clusters borrow from similar numbers (Smyth,
2004; limma).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma, psi

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource

ROUNDING = 1e-13
"""Values that differ by no more are the same but for rounding: their variance is 0."""
ROUNDING_OF_VALUE = 1e-12
"""A variance of a unit's value of at most this share of the square of the number is 0.

Answers are kept in single precision, in which equal values differ by about 1e-7 of their size.
"""
FEWEST_VARIANCES = 10
"""With fewer variances no prior is known well enough."""


def jackknife(without: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns the jackknife variance of a number, and of how many units it is made.

    Args:
        without: shape (..., units), the number without each unit, NaN where it does not have the
            unit.

    Returns:
        Shape (...): (T - 1) / T times the sum of squares around their mean, NaN for fewer than two
        units; and T.
    """
    known = ~np.isnan(without)
    units = known.sum(axis=-1)
    means = divide(np.where(known, without, 0).sum(axis=-1), units)
    deviations = np.where(known, without - means[..., None], 0)
    is_rounding = np.abs(deviations) <= ROUNDING * np.maximum(1, np.abs(means))[..., None]
    squares = (np.where(is_rounding, 0, deviations) ** 2).sum(axis=-1)
    variance = without_rounding(divide(units - 1, units) * squares, units, means)
    return np.where(units > 1, variance, np.nan), units


def without_rounding(variance: FloatArray, units: IntArray, values: FloatArray) -> FloatArray:
    """Returns the variances of numbers, 0 where rounding alone makes units differ.

    Args:
        variance: shape (...), jackknife variances.
        units: shape (...), the number of units of each.
        values: shape (...), the numbers.
    """
    with np.errstate(invalid="ignore"):
        return np.where(units * variance <= ROUNDING_OF_VALUE * values**2, 0.0, variance)


class Prior(NamedTuple):
    """What the variances of like numbers have in common.

    Attributes:
        df: how many degrees of freedom it is worth; 0 where there is none, infinite where all
            variances are one.
        variance: the variance of a cluster's value; where it grows with numbers, shape (numbers,).
    """

    df: float
    variance: float | FloatArray


NO_PRIOR = Prior(0.0, float("nan"))


class Trend(NamedTuple):
    """How variances grow with the size of numbers.

    Attributes:
        logs: shape (numbers,), what is expected of `logs_of_variances`.
        parameters: how many were fitted.
    """

    logs: FloatArray
    parameters: int


def logs_of_variances(variances: FloatArray, df: FloatArray) -> FloatArray:
    """Returns the logarithms of variances, less what few degrees of freedom take off their mean."""
    return np.asarray(np.log(variances) - psi(df / 2) + np.log(df / 2))


def variance_prior(
    variances: FloatArray,
    df: FloatArray,
    counted: BoolArray | None = None,
    trend: Trend | None = None,
) -> Prior:
    """Estimates the prior of variances.

    Args:
        variances: shape (numbers,), s², of a cluster's value; a variance of 0 is not used.
        df: shape (numbers,), degrees of freedom: the number of clusters less 1.
        counted: shape (numbers,), False for numbers that mirror others: the same variance is no
            second evidence. None if all count.
        trend: how variances grow with numbers, see `noise.trend`; None if the same is expected of
            all.
    """
    usable = (variances > 0) & (df >= 1)
    if counted is not None:
        usable &= counted
    if np.count_nonzero(usable) < FEWEST_VARIANCES:
        return NO_PRIOR
    logs = logs_of_variances(variances[usable], df[usable])
    centre: float | FloatArray
    if trend is None:
        centre = float(logs.mean())
        squares, parameters = (logs - centre) ** 2, 1
    else:
        centre = trend.logs
        squares, parameters = (logs - trend.logs[usable]) ** 2, trend.parameters
    # Logarithms of variances spread by chance, too, the more the fewer their degrees of freedom.
    by_chance = polygamma(1, df[usable] / 2).mean()
    spread = squares.sum() / (len(logs) - parameters) - by_chance
    if spread <= 0:
        return Prior(float("inf"), np.exp(centre))
    strength = 2 * inverse_trigamma(float(spread))
    return Prior(strength, np.exp(centre + psi(strength / 2) - np.log(strength / 2)))


def inverse_trigamma(value: float) -> float:
    """Returns x with trigamma(x) = value, for a positive value, by Newton's method."""
    if value > 1e7:
        return float(value**-0.5)
    x = 0.5 + 1 / value
    for _ in range(100):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def moderate_variances(
    variance: FloatArray,
    clusters: FloatArray,
    counted: BoolArray | None = None,
    trend: Trend | None = None,
) -> tuple[VarianceSource, Prior]:
    """Returns the moderated variances of numbers over clusters.

    Args:
        variance: shape (numbers,), jackknife variances.
        clusters: shape (numbers,), the number of clusters of each.
        counted: see `variance_prior`.
        trend: see `variance_prior`.

    Returns:
        The source, with variances NaN where nothing is known: one cluster alone, or no variance and
        no prior. And the prior.
    """
    df = np.maximum(clusters - 1.0, 0)
    own = clusters * variance
    prior = variance_prior(own, df, counted, trend)
    if prior.df == 0:
        strengthened = np.where(own > 0, own, np.nan)
    elif np.isinf(prior.df):
        strengthened = np.broadcast_to(prior.variance, own.shape)
    else:
        strengthened = (prior.df * prior.variance + df * own) / (prior.df + df)
    known = (clusters > 1) & ~np.isnan(own)
    of_mean = np.where(known, strengthened / np.maximum(clusters, 1), np.nan)
    return VarianceSource(of_mean, np.where(df > 0, prior.df + df, 0)), prior
