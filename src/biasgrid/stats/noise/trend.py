"""Noise that grows with the size of numbers: how their variances depend on it."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.stats.noise.variance import Trend, logs_of_variances

FEWEST_OF_TREND = 30
"""With fewer variances above 0 no trend is looked for."""
KNOTS = (0.5, 0.9)
"""Where the slope of a trend may change, as shares of the numbers in the order of their sizes."""
PARAMETERS = 2 + len(KNOTS)
LEAST_SIGNAL = 0.6
"""Sizes that are mostly noise tell nothing of the noise; from this share of signal on they do."""
LEVEL_OF_TREND = 0.05


def trend_of(
    own: FloatArray, df: FloatArray, values: FloatArray, residual: FloatArray, counted: BoolArray
) -> Trend | None:
    """Returns how the logarithms of variances grow with the size of numbers.

    They are a line in the rank of the size, with other slopes from the middle and from the upper
    tenth on; used where it explains more than their mean does, and where sizes are mostly signal;
    made to fall nowhere.

    Args:
        own: shape (numbers,), the variance of a cluster's value, NaN where it is not known.
        df: shape (numbers,), its degrees of freedom.
        values: shape (numbers,), the numbers.
        residual: shape (numbers,), `own` without what clusters multiply all numbers by.
        counted: shape (numbers,), all but those that mirror others.

    Returns:
        None where the mean of all logarithms is used instead.
    """
    usable = (own > 0) & (df >= 1) & counted
    if np.count_nonzero(usable) < FEWEST_OF_TREND:
        return None
    known = ~np.isnan(residual) & (df >= 1) & counted
    noise = float((residual[known] / (df[known] + 1)).mean())
    if not 1 - noise / float((values[known] ** 2).mean()) >= LEAST_SIGNAL:
        return None
    place = share_below(np.abs(values))
    beyond_knots = [np.maximum(place - knot, 0) for knot in KNOTS]
    design = np.stack([np.ones_like(place), place, *beyond_knots], axis=1)
    logs = logs_of_variances(own[usable], df[usable])
    coefficients, *_ = np.linalg.lstsq(design[usable], logs, rcond=None)
    line = np.asarray(design @ coefficients)
    if not explains_more(line[usable], logs):
        return None
    order = np.argsort(place, kind="stable")
    rising = np.empty_like(line)
    rising[order] = np.maximum.accumulate(line[order])
    # Raising parts of the line has moved its mean.
    return Trend(rising + float((logs - rising[usable]).mean()), PARAMETERS)


def explains_more(line: FloatArray, logs: FloatArray) -> bool:
    """Whether a line explains logarithms of variances better than their mean, by an F test.

    Args:
        line: shape (variances,), the line at each of them.
        logs: shape (variances,), the logarithms.
    """
    rest = float(((logs - line) ** 2).sum())
    explained = float(((logs - logs.mean()) ** 2).sum()) - rest
    if not rest > 0:
        return False
    df, rest_df = PARAMETERS - 1, len(logs) - PARAMETERS
    f = explained / df / (rest / rest_df)
    return bool(fdtrc(df, rest_df, f) < LEVEL_OF_TREND)


def share_below(sizes: FloatArray) -> FloatArray:
    """Ranks sizes, less a half, as a share of all; equal sizes have the mean of their ranks.

    Args:
        sizes: shape (numbers,).
    """
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last_rank = np.cumsum(counts)
    mean_rank = last_rank - (counts - 1) / 2
    return np.asarray((mean_rank[place.reshape(-1)] - 0.5) / len(sizes))
