"""Numbers of the sums of several parts side by side; all of them take sums of any shape (..., columns)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.sums import Function, mean


def means_of_parts(sums: FloatArray) -> FloatArray:
    """Returns the means of several parts, shape (..., parts), NaN of nothing.

    Args:
        sums: shape (..., 2 * parts), sum and count of each part.
    """
    return mean(sums.reshape(*sums.shape[:-1], sums.shape[-1] // 2, 2))


def spread_of_means(sums: FloatArray) -> FloatArray:
    """Returns the largest mean less the smallest, NaN where one is not known."""
    values = means_of_parts(sums)
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))


def difference_of_means(sums: FloatArray, one: int, other: int) -> FloatArray:
    """Returns the mean of one part less that of another."""
    return mean(sums[..., 2 * one : 2 * one + 2]) - mean(sums[..., 2 * other : 2 * other + 2])


def ratio_of_means(sums: FloatArray, signed: bool) -> FloatArray:
    """Returns the mean of the first part by that of the second, or the smallest by the largest; of zeros alone 1."""
    values = means_of_parts(sums)
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


def difference_of_halves(sums: FloatArray, function: Function) -> FloatArray:
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
    values = means_of_parts(sums)
    number = mean_without_nan(values[..., :high])
    if values.shape[-1] > high:
        number = number - mean_without_nan(values[..., high:])
    return times * number + plus


def mean_without_nan(values: FloatArray) -> FloatArray:
    """Returns the means of the last axis without what is NaN, NaN where all is."""
    known = ~np.isnan(values)
    return mean(np.stack([np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1)], axis=-1))


def number_of_columns(sums: FloatArray, function: Function, columns: slice) -> FloatArray:
    """Returns a number of some of the columns."""
    return function(sums[..., columns])


def joined(sums: FloatArray, functions: Sequence[Function], join: Callable[..., FloatArray]) -> FloatArray:
    """Returns what several numbers make together, NaN where one of them is not known."""
    return np.asarray(join([each(sums) for each in functions], axis=0))
