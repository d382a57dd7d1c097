"""Functions of sums that are more than a mean: ratios, spreads, shares of words, lines, and what
several make together.

They take any shape (..., columns), columns being sums and counts of parts side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.sums import Function, mean


def means_by_part(sums: FloatArray) -> FloatArray:
    """Returns the means of several parts, shape (..., parts), NaN of nothing.

    Args:
        sums: shape (..., 2 * parts), sum and count of each part.
    """
    return mean(sums.reshape(*sums.shape[:-1], sums.shape[-1] // 2, 2))


def spread_between_parts(sums: FloatArray) -> FloatArray:
    """Returns the largest mean less the smallest, NaN where one is not known."""
    values = means_by_part(sums)
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))


def difference_of_means(sums: FloatArray, one: int, other: int) -> FloatArray:
    """Returns the mean of one part less the mean of another."""
    columns = sums[..., 2 * one : 2 * one + 2]
    other_columns = sums[..., 2 * other : 2 * other + 2]
    return mean(columns) - mean(other_columns)


def part_ratio(sums: FloatArray, signed: bool) -> FloatArray:
    """Returns the mean of the first part by that of the second, or the smallest by the largest; of
    zeros alone 1.
    """
    values = means_by_part(sums)
    if signed:
        above, below = values[..., 0], values[..., 1]
    else:
        above, below = values.min(axis=-1), values.max(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((above == 0) & (below == 0), 1.0, above / below)


def distance_from_centre(sums: FloatArray, centre: float) -> FloatArray:
    """Returns how far means are above what is fair."""
    return mean(sums) - centre


def size(sums: FloatArray, function: Function) -> FloatArray:
    """Returns a number without its sign."""
    return np.abs(function(sums))


def halves_difference(sums: FloatArray, function: Function) -> FloatArray:
    """Returns the number of the first half of the columns less that of the second."""
    half = sums.shape[-1] // 2
    return function(sums[..., :half]) - function(sums[..., half:])


def smoothed_share(sums: FloatArray, plus: float) -> FloatArray:
    """Returns the share of one kind of two, with so many more of either counted."""
    return mean(sums + np.array([plus, 2 * plus]))


def high_less_low(sums: FloatArray, high: int, times: float, plus: float) -> FloatArray:
    """Returns the mean of the means of some parts less that of the others.

    Args:
        sums: shape (..., 2 * parts).
        high: how many of the parts, the first ones, are added; the others are subtracted.
        times: what the number is multiplied with.
        plus: what is added then.

    Returns:
        Shape (...). A part of nothing counts for nothing; NaN where all of one kind are such.
    """
    values = means_by_part(sums)
    number = mean_without_nan(values[..., :high])
    if values.shape[-1] > high:
        number = number - mean_without_nan(values[..., high:])
    return times * number + plus


def mean_without_nan(values: FloatArray) -> FloatArray:
    """Returns the means of the last axis without NaN, NaN where all values are."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=-1)
    return mean(np.stack([total, known.sum(axis=-1)], axis=-1))


def evaluate_columns(sums: FloatArray, function: Function, columns: slice) -> FloatArray:
    """Returns a number of some of the columns."""
    return function(sums[..., columns])


def combine_numbers(
    sums: FloatArray, functions: Sequence[Function], join: Callable[..., FloatArray]
) -> FloatArray:
    """Returns what several numbers make together, NaN where one of them is not known."""
    return np.asarray(join([each(sums) for each in functions], axis=0))


LEAST_SPREAD = 1e-12
"""Below this a sum of squares is that of equal numbers."""
LINE_COLUMNS = 6
"""How many sums a line is made of."""


def line_sums(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Returns the products that lines are fitted by.

    Args:
        x: shape (items,), the covariate.
        y: shape (items,), the rate.
        weight: shape (items,), 0 where there is no rate.

    Returns:
        Shape (items, 6): weight, x, y and their products, of weight 0 all 0.
    """
    products = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    weights = weight[:, None]
    columns: FloatArray = np.where(weights > 0, products * weights, 0)
    return columns


def pearson(sums: FloatArray) -> FloatArray:
    """Returns Pearson's correlation.

    Args:
        sums: shape (..., 6), of `line_sums` added up.

    Returns:
        Shape (...), NaN where one of both does not vary.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        covariance = xy - x * y / n
        correlation: FloatArray = np.where(
            spread > LEAST_SPREAD, covariance / np.sqrt(spread), np.nan
        )
    return correlation


def line_slope(sums: FloatArray, bounded: bool) -> FloatArray:
    """Returns the slope of the line of least squares.

    Args:
        sums: shape (..., 6), of `line_sums` added up.
        bounded: whether the slope must lie in -1..1, and the line at 0 in 0..1.

    Returns:
        Shape (...), NaN where the covariate does not vary.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = xx - x * x / n
        slope = (xy - x * y / n) / spread
        start = (y - slope * x) / n
        varies = spread > LEAST_SPREAD
        if not bounded:
            free: FloatArray = np.where(varies, slope, np.nan)
            return free
        is_inside = (np.abs(slope) <= 1) & (start >= 0) & (start <= 1)
        # The error is convex: where its least is outside of the bounds, the least within lies on an
        # edge of them.
        on_edge = slope_on_edge(sums)
    found: FloatArray = np.where(is_inside | ~varies, np.where(varies, slope, np.nan), on_edge)
    return found


def slope_on_edge(sums: FloatArray) -> FloatArray:
    """Returns the slope of the best line whose slope is -1 or 1, or whose start is 0 or 1.

    Args:
        sums: shape (..., 6), see `line_slope`.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    slopes, errors = [], []
    for start in (0, 1):
        slopes.append(np.clip((xy - start * x) / xx, -1, 1))
        starts = np.full_like(n, start)
        errors.append(squared_error(slopes[-1], starts, sums))
    for slope in (-1, 1):
        slopes.append(np.full_like(n, slope))
        starts = np.clip((y - slope * x) / n, 0, 1)
        errors.append(squared_error(slopes[-1], starts, sums))
    best = np.stack(errors).argmin(axis=0)
    on_edge: FloatArray = np.take_along_axis(np.stack(slopes), best[None], axis=0)[0]
    return on_edge


def squared_error(slope: FloatArray, start: FloatArray, sums: FloatArray) -> FloatArray:
    """Returns the squared error of lines, but for the part that is the same for all lines.

    Args:
        slope: shape (...).
        start: shape (...), where the covariate is 0.
        sums: shape (..., 6), see `line_slope`.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    b, c = slope, start
    return np.asarray(b * b * xx + 2 * b * c * x + c * c * n - 2 * b * xy - 2 * c * y)
