"""Variances over few clusters, strengthened by those of all like numbers (Smyth, 2004; the method of limma)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma, psi

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import Source

FEWEST = 10
"""Of fewer variances no prior is known well enough."""


class Prior(NamedTuple):
    """What the variances of like numbers have in common.

    Attributes:
        df: how many degrees of freedom it is worth; 0 where there is none, infinite where all variances are one.
        variance: the variance of a cluster's value.
    """

    df: float
    variance: float


NOTHING = Prior(0.0, float("nan"))


def prior_of(variances: FloatArray, df: FloatArray) -> Prior:
    """Finds what variances have in common.

    Args:
        variances: shape (numbers,), s², of a cluster's value; those that are 0 do not count.
        df: shape (numbers,), degrees of freedom: how many clusters there are less 1.
    """
    usable = (variances > 0) & (df >= 1)
    if np.count_nonzero(usable) < FEWEST:
        return NOTHING
    half = df[usable] / 2
    logs = np.log(variances[usable]) - psi(half) + np.log(half)
    mean, spread = logs.mean(), logs.var(ddof=1) - polygamma(1, half).mean()
    if spread <= 0:
        return Prior(float("inf"), float(np.exp(mean)))
    strength = 2 * inverse_trigamma(float(spread))
    return Prior(strength, float(np.exp(mean + psi(strength / 2) - np.log(strength / 2))))


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


def moderated(variance: FloatArray, clusters: FloatArray) -> tuple[Source, Prior]:
    """Returns the moderated variances of numbers over clusters.

    Args:
        variance: shape (numbers,), jackknife variances.
        clusters: shape (numbers,), of how many clusters.

    Returns:
        The source, with variances NaN where nothing is known: one cluster alone, or no variance and no prior. And the
        prior.
    """
    df = np.maximum(clusters - 1.0, 0)
    own = clusters * variance
    prior = prior_of(own, df)
    if prior.df == 0:
        strengthened = np.where(own > 0, own, np.nan)
    elif np.isinf(prior.df):
        strengthened = np.full(len(own), prior.variance)
    else:
        strengthened = (prior.df * prior.variance + df * own) / (prior.df + df)
    known = (clusters > 1) & ~np.isnan(own)
    of_mean = np.where(known, strengthened / np.maximum(clusters, 1), np.nan)
    return Source(of_mean, np.where(df > 0, prior.df + df, 0)), prior
