"""Claims about associations by the book (plain loops of the published formulas), to compare a run
with.

Associations G have shape (subjects, attributes, clusters); every cluster asks all attributes.
Formulas: moderated variances of Smyth (2004), the split-half noise floor, and gains and trends as
docs/statistics.md has them.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import f as f_distribution
from scipy.stats import false_discovery_control, rankdata
from scipy.stats import t as student

Array = npt.NDArray[np.float64]
EQUAL = 1e-12
"""Relative variance of values that are equal in single precision."""
FEWEST = 10
FEWEST_OF_TREND = 30


class Gain(NamedTuple):
    """Clusters that multiply all associations.

    Attributes:
        is_found: whether they do so more than noise would.
        factors: shape (clusters,).
        residual: shape (numbers,), the variance of a cluster's value around factor times mean.
        variance: shape (numbers,), the variance of the mean that the gain causes, 0 if it is not
            found.
        ratio: the variance of the factors by that of noise.
    """

    is_found: bool
    factors: Array
    residual: Array
    variance: Array
    ratio: float


def gain_of(values: Array) -> Gain:
    subjects, _, clusters = values.shape
    free = clusters - 1
    mean = values.mean(axis=2)
    square = (mean**2).sum()
    factors = np.array(
        [(values[:, :, cluster] * mean).sum() / square for cluster in range(clusters)]
    )
    rest = values - mean[:, :, None] * factors
    residual = (rest**2).sum(axis=2) / free
    noise = residual.mean() / square
    shared = 0.0
    for subject in range(subjects):
        for cluster in range(clusters):
            shared += (rest[subject, :, cluster] * mean[subject]).sum() ** 2
    noise = max(noise, subjects / (subjects - 1) * shared / (free * square**2))
    # Neither gain nor noise is NaN, which is no gain.
    with np.errstate(invalid="ignore"):
        ratio = factors.var(ddof=1) / noise
    is_found = ratio > f_distribution.ppf(0.95, free, free * (subjects - 1))
    variance = (
        mean**2 * (factors.var(ddof=1) - noise) / clusters if is_found else np.zeros_like(mean)
    )
    return Gain(bool(is_found), factors, residual.ravel(), variance.ravel(), float(ratio))


def log_of(variance: Array, free: int) -> Array:
    return np.log(variance) - digamma(free / 2) + np.log(free / 2)


def trend_of(variance: Array, mean: Array, residual: Array, clusters: int) -> Array | None:
    """What is expected of the logarithm of each variance, None if the mean of all is."""
    usable = variance > 0
    count = usable.sum()
    if count < FEWEST_OF_TREND or 1 - (residual / clusters).mean() / (mean**2).mean() < 0.6:
        return None
    logs = log_of(variance[usable], clusters - 1)
    place = (rankdata(np.abs(mean)) - 0.5) / len(mean)
    line = np.stack(
        [np.ones_like(place), place, np.maximum(place - 0.5, 0), np.maximum(place - 0.9, 0)], axis=1
    )
    fit = line @ np.linalg.lstsq(line[usable], logs, rcond=None)[0]
    rest = ((logs - fit[usable]) ** 2).sum()
    explained = ((logs - logs.mean()) ** 2).sum() - rest
    if f_distribution.sf(explained / 3 / (rest / (count - 4)), 3, count - 4) >= 0.05:
        return None
    order = np.argsort(place, kind="stable")
    rising = fit.copy()
    rising[order] = np.maximum.accumulate(fit[order])
    return np.asarray(rising + (logs - rising[usable]).mean())


def prior_of(variance: Array, free: int, trend: Array | None) -> tuple[float, Array]:
    """Degrees of freedom and variance of the prior; 0 degrees if nothing is borrowed."""
    usable = variance > 0
    count = usable.sum()
    if count < FEWEST:
        return 0.0, np.full(len(variance), np.nan)
    logs = log_of(variance[usable], free)
    fit = np.full(len(variance), logs.mean()) if trend is None else trend
    spread = ((logs - fit[usable]) ** 2).sum() / (count - (1 if trend is None else 4)) - polygamma(
        1, free / 2
    )
    if spread <= 0:
        return np.inf, np.exp(fit)
    df = 2 * brentq(lambda half: polygamma(1, half) - spread, 1e-6, 1e9, xtol=1e-14, rtol=1e-15)
    return df, np.exp(fit + digamma(df / 2) - np.log(df / 2))


class Claims(NamedTuple):
    """What may be said of associations, subject by subject; arrays of shape (numbers,), NaN where
    nothing may.
    """

    value: Array
    low: Array
    high: Array
    p: Array
    q: Array
    bound: Array
    detectable: float
    gain: Gain | None
    prior_df: float


def claims_of_associations(values: Array) -> Claims:
    subjects, _, clusters = values.shape
    free, mean = clusters - 1, values.mean(axis=2).ravel()
    variance = values.var(axis=2, ddof=1).ravel()
    variance[variance <= EQUAL * mean**2] = 0
    gain = gain_of(values) if subjects > 2 and len(mean) >= FEWEST else None
    trend = None
    if gain is not None:
        if gain.is_found:
            variance = np.where(gain.residual <= EQUAL * mean**2, 0, gain.residual)
        trend = trend_of(variance, mean, gain.residual, clusters)
    prior_df, prior = prior_of(variance, free, trend)
    if prior_df == 0:
        moderated = np.where(variance > 0, variance, np.nan)
    else:
        moderated = (
            prior
            if np.isinf(prior_df)
            else (prior_df * prior + free * variance) / (prior_df + free)
        )
    own, df = moderated / clusters, prior_df + free
    shared = np.zeros_like(mean) if gain is None else gain.variance

    def half(alpha: Array | float) -> Array:
        return np.sqrt(
            student.ppf(1 - alpha / 2, df) ** 2 * own
            + student.ppf(1 - alpha / 2, free) ** 2 * shared
        )

    p = np.array([p_of(number, mean, own, shared, df, free) for number in range(len(mean))])
    p = np.where(np.isnan(own), np.where(mean != 0, 2.0 ** (1 - clusters), 1.0), p)
    if clusters < 3:
        p[:] = np.nan
    q = p if np.isnan(p).all() else false_discovery_control(p)
    tests, low, high = len(mean), mean - half(0.05), mean + half(0.05)
    most = (
        student.ppf(1 - 0.05 / (2 * tests), df) ** 2 * own + student.ppf(0.975, free) ** 2 * shared
    )
    bound = np.where(np.isnan(p), np.nan, mean - np.sqrt(most))
    found = max(1, np.count_nonzero(q <= 0.05))
    detectable = detectable_of(np.sqrt(own), np.full(tests, df), 0.05 * found / tests)
    return Claims(mean, low, high, p, q, bound, detectable, gain, prior_df)


def p_of(number: int, mean: Array, own: Array, shared: Array, df: float, free: int) -> float:
    """The alpha at which the interval of a number ends at 0."""
    size, variance, more = abs(mean[number]), own[number], shared[number]
    if np.isnan(variance):
        return float("nan")
    if more == 0:
        return float(2 * student.sf(size / np.sqrt(variance), df))
    low, high = -700.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        quantiles = [student.isf(np.exp(middle) / 2, degrees) ** 2 for degrees in (df, free)]
        if np.sqrt(quantiles[0] * variance + quantiles[1] * more) > size:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def detectable_of(se: Array, df: Array, alpha: float) -> float:
    """The size that four in five of all associations of that size would be found at."""
    known = ~np.isnan(se)
    if not known.any():
        return float("nan")
    se, df = se[known], df[known]
    least = student.ppf(1 - alpha / 2, df)

    def power(size: float) -> float:
        return float(student.cdf(size / se - least, df).mean())

    high = 1.0
    while power(high) < 0.8:
        high *= 2
    return float(brentq(lambda size: power(size) - 0.8, 0, high, xtol=1e-300, rtol=1e-14))


def likeness_of_clusters(values: Array) -> list[float]:
    """Correlation of what clusters say beside the associations, of all pairs in order."""
    clusters, gain = values.shape[2], gain_of(values)
    rest = values - values.mean(axis=2, keepdims=True) * gain.factors
    rest = rest - rest.mean(axis=1, keepdims=True)
    found = []
    for one, other in combinations(range(clusters), 2):
        # Clusters that say nothing of their own are the same.
        is_equal = np.abs(rest[..., [one, other]]).max() <= np.sqrt(EQUAL) * np.abs(values).max()
        likeness = (
            1.0 if is_equal else np.corrcoef(rest[..., one].ravel(), rest[..., other].ravel())[0, 1]
        )
        found.append(float(likeness + 1 / (clusters - 1)))
    return found


def split_weights(clusters: int) -> list[Array]:
    """Weights of clusters that cancel what these agree on and keep their noise."""
    found = []
    for left_out in [None] if clusters % 2 == 0 else range(clusters):
        rest = [cluster for cluster in range(clusters) if cluster != left_out]
        half, size = len(rest) // 2, 1 / clusters if left_out is None else 1 / (clusters - 1)
        scale = size * (1 if left_out is None else np.sqrt((clusters - 1) / clusters))
        for positive in combinations(rest[1:], half - 1):
            weights = np.zeros(clusters)
            weights[rest] = -scale
            weights[[rest[0], *positive]] = scale
            found.append(weights)
    return found


def largest_of_subjects(values: Array) -> float:
    return float(np.abs(values).max(axis=1).mean())


def signed_root(value: float) -> float:
    return float(np.sign(value) * np.sqrt(abs(value)))


def corrected_mu(values: Array) -> float:
    floor = np.mean(
        [largest_of_subjects(values @ weights) for weights in split_weights(values.shape[2])]
    )
    return signed_root(largest_of_subjects(values.mean(axis=2)) ** 2 - floor**2)


def strength(values: Array) -> float:
    clusters = values.shape[2]
    return signed_root(
        float((values.mean(axis=2) ** 2 - values.var(axis=2, ddof=1) / clusters).mean())
    )


def size_of_cell(values: Array, size: Any) -> dict[str, float]:
    """A size of a cell with its interval: of logarithms upwards where all is positive."""
    clusters, value = values.shape[2], size(values)
    without = np.array([size(np.delete(values, cluster, axis=2)) for cluster in range(clusters)])
    se = jackknife_se(without)
    quantile = student.ppf(0.975, clusters - 1)
    high = value + quantile * se
    if value > 0 and (without > 0).all():
        high = value * np.exp(quantile * jackknife_se(np.log(without)))
    known = se > 1e-12 * abs(value)
    ends = (
        {"low": value - quantile * se, "high": high} if known else {"low": np.nan, "high": np.nan}
    )
    return {"value": value, **ends}


def jackknife_se(without: Array) -> float:
    count = len(without)
    return float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))
