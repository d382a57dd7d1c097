"""Functions of sums that are more than one mean: ratios, spreads, shares of words, and lines.

They take sums of any shape (..., columns), in which the columns of several parts are side by
side, and return numbers of shape (...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.sums import Function, mean


def means_by_part(sums: FloatArray) -> FloatArray:
    """Returns the means of several parts, shape (..., parts), NaN for a part of nothing.

    Args:
        sums: shape (..., 2 * parts): sum and count of the first part, of the second, and so on.
    """
    return mean(sums.reshape(*sums.shape[:-1], sums.shape[-1] // 2, 2))


def spread_between_parts(sums: FloatArray) -> FloatArray:
    """Returns the largest mean minus the smallest, NaN if one is NaN; see `means_by_part`."""
    values = means_by_part(sums)
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))


def part_difference(sums: FloatArray, *, minuend: int, subtrahend: int) -> FloatArray:
    """Returns the mean of one part minus the mean of another; see `means_by_part`.

    Args:
        sums: shape (..., 2 * parts).
        minuend: the position of a part.
        subtrahend: the position of the part that is subtracted.
    """
    columns = sums[..., 2 * minuend : 2 * minuend + 2]
    subtracted = sums[..., 2 * subtrahend : 2 * subtrahend + 2]
    return mean(columns) - mean(subtracted)


def part_ratio(sums: FloatArray, *, is_directed: bool) -> FloatArray:
    """Returns the ratio of two means: 1 for 0 / 0, inf for x / 0.

    Args:
        sums: shape (..., 2 * parts), see `means_by_part`; of exactly two parts if directed.
        is_directed: whether it is first / second; else it is smallest / largest, between 0 and 1.
    """
    values = means_by_part(sums)
    if is_directed:
        numerator, denominator = values[..., 0], values[..., 1]
    else:
        numerator, denominator = values.min(axis=-1), values.max(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((numerator == 0) & (denominator == 0), 1.0, numerator / denominator)


def distance_from_centre(sums: FloatArray, centre: float) -> FloatArray:
    """Returns a mean minus its fair value, of sums of shape (..., 2)."""
    return mean(sums) - centre


def absolute_number(sums: FloatArray, function: Function) -> FloatArray:
    """Returns the absolute value of a number."""
    return np.abs(function(sums))


def halves_difference(sums: FloatArray, function: Function) -> FloatArray:
    """Returns a number of the first half of the columns minus that number of the second half."""
    half = sums.shape[-1] // 2
    return function(sums[..., :half]) - function(sums[..., half:])


def smoothed_share(sums: FloatArray, plus: float) -> FloatArray:
    """Returns the share of the first of two kinds, after `plus` cases of each kind are added.

    Args:
        sums: shape (..., 2): how many cases are of the first kind, and of both.
        plus: how many cases are added, not necessarily a whole number.
    """
    return mean(sums + np.array([plus, 2 * plus]))


def high_less_low(sums: FloatArray, high: int, times: float, plus: float) -> FloatArray:
    """Returns times * (mean of the means of some parts - that of the other parts) + plus.

    Args:
        sums: shape (..., 2 * parts), see `means_by_part`.
        high: how many parts, the first ones, are added; the others are subtracted.
        times: a factor.
        plus: an offset.

    Returns:
        Shape (...). A part of nothing is skipped; NaN if all parts on one side are.
    """
    values = means_by_part(sums)
    number = mean_without_nan(values[..., :high])
    if values.shape[-1] > high:
        number = number - mean_without_nan(values[..., high:])
    return times * number + plus


def mean_without_nan(values: FloatArray) -> FloatArray:
    """Returns means over the last axis that skip NaN, NaN if all values are."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=-1)
    return mean(np.stack([total, known.sum(axis=-1)], axis=-1))


def evaluate_columns(sums: FloatArray, function: Function, columns: slice) -> FloatArray:
    """Returns a number of some of the columns."""
    return function(sums[..., columns])


def combine_numbers(
    sums: FloatArray, functions: Sequence[Function], join: Callable[..., FloatArray]
) -> FloatArray:
    """Combines several numbers, such as by their sum or maximum.

    Args:
        sums: shape (..., columns), from which each number is computed.
        functions: compute the numbers.
        join: combines a list of arrays over `axis=0`, such as `np.sum`. It must pass NaN on.
    """
    return np.asarray(join([function(sums) for function in functions], axis=0))


LEAST_SPREAD = 1e-12
"""A sum of squares of at most this is only the rounding of equal numbers."""
LINE_COLUMNS = 6
"""The number of columns of `line_sums`."""


def line_sums(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Returns the weighted moments from which a line or a correlation is computed.

    Args:
        x: shape (items,), the covariate.
        y: shape (items,), the rate.
        weight: shape (items,), 0 for an item without a rate.

    Returns:
        Shape (items, 6): 1, x, y, x², xy and y², times the weight; 0 for a weight of 0, even if x
        or y is NaN.
    """
    products = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    weights = weight[:, None]
    columns: FloatArray = np.where(weights > 0, products * weights, 0)
    return columns


def pearson(sums: FloatArray) -> FloatArray:
    """Returns Pearson's correlation.

    Args:
        sums: shape (..., 6), `line_sums` added up over items.

    Returns:
        Shape (...), NaN if x or y does not vary.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        covariance = xy - x * y / n
        correlation: FloatArray = np.where(
            spread > LEAST_SPREAD, covariance / np.sqrt(spread), np.nan
        )
    return correlation


def line_slope(sums: FloatArray, *, bounded: bool) -> FloatArray:
    """Returns the slope of the line of least squares.

    Args:
        sums: shape (..., 6), `line_sums` added up over items.
        bounded: whether the line must keep its slope between -1 and 1, and its value at x = 0
            between 0 and 1.

    Returns:
        Shape (...), NaN if the covariate does not vary.
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
        # The squared error is convex, so if its minimum is outside of the bounds, the minimum
        # within them is on an edge.
        on_edge = slope_on_edge(sums)
    free_slope = np.where(varies, slope, np.nan)
    bounded_slope: FloatArray = np.where(is_inside | ~varies, free_slope, on_edge)
    return bounded_slope


def slope_on_edge(sums: FloatArray) -> FloatArray:
    """Returns the slope of the best line on the edge of the bounds: slope ±1, or start 0 or 1.

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
    """Returns the squared error of lines, without the sum of y², which all lines have in common.

    Args:
        slope: shape (...).
        start: shape (...), where the covariate is 0.
        sums: shape (..., 6), see `line_slope`.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    b, c = slope, start
    return np.asarray(b * b * xx + 2 * b * c * x + c * c * n - 2 * b * xy - 2 * c * y)
