"""Lines of least squares, and correlation, of sums over items."""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray

LEAST_SPREAD = 1e-12
"""Below this a sum of squares is that of equal numbers."""
LINE_COLUMNS = 6
"""How many sums a line is made of."""


def sums_of_lines(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Returns what lines are made of.

    Args:
        x: shape (items,), the covariate.
        y: shape (items,), the rate.
        weight: shape (items,), 0 where there is no rate.

    Returns:
        Shape (items, 6): weight, x, y and their products, of weight 0 all 0.
    """
    columns = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1) * weight[:, None]
    found: FloatArray = np.where(weight[:, None] > 0, columns, 0)
    return found


def pearson(sums: FloatArray) -> FloatArray:
    """Returns Pearson's correlation.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.

    Returns:
        Shape (...), NaN where one of both does not vary.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        found: FloatArray = np.where(spread > LEAST_SPREAD, (xy - x * y / n) / np.sqrt(spread), np.nan)
    return found


def slope_of_line(sums: FloatArray, bounded: bool) -> FloatArray:
    """Returns the slope of the line of least squares.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.
        bounded: whether the slope must lie in -1..1, and the line at 0 in 0..1.

    Returns:
        Shape (...), NaN where the covariate does not vary.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        varies = xx - x * x / n > LEAST_SPREAD
        free = (xy - x * y / n) / (xx - x * x / n)
        start = (y - free * x) / n
        found: FloatArray = np.where(varies, free, np.nan)
        if not bounded:
            return found
        inside = (np.abs(free) <= 1) & (start >= 0) & (start <= 1)
        edges = [(np.clip((xy - c * x) / xx, -1, 1), np.full_like(n, c)) for c in (0, 1)]
        edges += [(np.full_like(n, b), np.clip((y - b * x) / n, 0, 1)) for b in (-1, 1)]
        errors = np.stack([b * b * xx + 2 * b * c * x + c * c * n - 2 * b * xy - 2 * c * y for b, c in edges])
        # The error is convex: where its least is outside of the bounds, the least within lies on an edge of them.
        best = np.take_along_axis(np.stack([b for b, _ in edges]), errors.argmin(axis=0)[None], axis=0)[0]
    bound: FloatArray = np.where(inside | ~varies, found, best)
    return bound
