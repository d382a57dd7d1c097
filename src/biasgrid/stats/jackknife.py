"""Variances by leaving one unit out (jackknife), from sums: exact, and without computing anything anew."""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, ratio

ROUNDING = 1e-13
"""Values that differ by no more are the same but for rounding: their variance is 0."""


def left_out(
    sums: FloatArray, counts: FloatArray, total: FloatArray | None = None, count: FloatArray | None = None
) -> FloatArray:
    """Returns the mean without each unit, shape of `sums`; NaN where a unit has nothing, or nothing is left.

    Args:
        sums: shape (..., units), the sum of the values of each unit.
        counts: shape (..., units), how many there are.
        total: shape (..., 1), the sum over all, where units share values; without it that over units.
        count: the same of `counts`.
    """
    total = sums.sum(axis=-1, keepdims=True) if total is None else total
    count = counts.sum(axis=-1, keepdims=True) if count is None else count
    without: FloatArray = ratio(total - sums, count - counts)
    return np.where(counts > 0, without, np.nan)


def jackknife(without: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns the jackknife variance of a number, and of how many units it is made.

    Args:
        without: shape (..., units), the number without each unit, NaN where it does not have the unit.

    Returns:
        Shape (...): (T - 1) / T times the sum of squares around their mean, NaN for fewer than two units; and T.
    """
    known = ~np.isnan(without)
    units = known.sum(axis=-1)
    means = ratio(np.where(known, without, 0).sum(axis=-1), units)
    apart = np.where(known, without - means[..., None], 0)
    apart = np.where(np.abs(apart) <= ROUNDING * np.maximum(1, np.abs(means))[..., None], 0, apart)
    squares = (apart**2).sum(axis=-1)
    return np.where(units > 1, ratio(units - 1, units) * squares, np.nan), units


def jackknife_of_means(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns what `jackknife` does of sum / count over all units; see `left_out`."""
    variance, _ = jackknife(left_out(sums, counts))
    return variance, (counts > 0).sum(axis=-1)
