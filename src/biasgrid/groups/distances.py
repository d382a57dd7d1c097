"""Distances between groups, in all units at once; NaN in a unit that lacks one of the groups.

All arrays of groups have shape (units, width), see `Units`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.groups.records import Units
from biasgrid.groups.scores import ScoreType

UNITS_AT_ONCE = 2**14
"""About how many values of samples are compared together, so that they fit into a processor's
cache.
"""
Divergence = Literal["divergence", "normalized_divergence", "divergence_per_group"]

RATIO = "ratio"
"""1 for equal scores, not 0: its numbers are rows of the measure of that name."""
DISTANCES: dict[str, ScoreType] = {
    "absolute": "scalar",
    RATIO: "scalar",
    "wasserstein": "set",
    "divergence": "scalar",
    "normalized_divergence": "scalar",
    "divergence_per_group": "scalar",
}
"""Every distance with the kind of score that it compares."""


class Distances(Protocol):
    """A distance d between the groups of all units, by the places of the groups."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many units there are, and the width."""

    def to_later(self, one: int) -> FloatArray:
        """Returns d(one, other) for each group behind it, shape (later groups, units)."""

    def from_background(self, group: int) -> FloatArray:
        """Returns d(all records of the unit, group), shape (units,)."""


def measure_of_distance(distance: str) -> str:
    """Returns the measure that a distance's numbers are rows of."""
    return RATIO if distance == RATIO else "distance"


def absolute_difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns |x - y| of scores."""
    return np.abs(one - other)


def smaller_by_larger(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns the smaller of two scores that are not negative, divided by the larger; NaN where
    both are 0.
    """
    return divide(np.minimum(one, other), np.maximum(one, other))


class ScalarDistances:
    """What is between scalar scores x and y: `absolute_difference` or `smaller_by_larger`."""

    def __init__(
        self,
        between: Callable[[FloatArray, FloatArray], FloatArray],
        groups: FloatArray,
        unit: FloatArray,
    ):
        """Takes the scores of the groups, shape (units, width), and of the units, shape
        (units,).
        """
        self.between = between
        self.groups = groups
        self.backgrounds = unit

    @property
    def shape(self) -> tuple[int, ...]:
        """How many units there are, and the width."""
        return self.groups.shape

    def to_later(self, one: int) -> FloatArray:
        """Returns what is between a group and each one behind it, shape (later groups, units)."""
        return self.between(self.groups[:, one], self.groups[:, one + 1 :].T)

    def from_background(self, group: int) -> FloatArray:
        """Returns what is between the unit and a group, shape (units,)."""
        return self.between(self.backgrounds, self.groups[:, group])


class WassersteinDistances:
    """The Wasserstein-1 distance between the values of two samples of any sizes.

    In one dimension it is the area between their distribution functions F and G, the integral of
    |F(v) - G(v)| over v (Vallender 1974). The values are sorted once; F - G at all of them is then
    a running sum in which a value counts 1/m in one sample and -1/n in the other. Here both are
    multiplied by m n: sums of integers end in an exact 0 with every unit, so that one running sum
    serves all units.
    """

    def __init__(self, values: FloatArray, units: Units):
        """Takes the value of each record, shape (records,), and the units of the same records."""
        order = np.lexsort((values, units.unit))
        self.values = values[order]
        self.unit, self.place = units.unit[order], units.place[order]
        self.sizes = units.sizes
        self.rows = [np.flatnonzero(self.place == place) for place in range(units.width)]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many units there are, and the width."""
        return self.sizes.shape

    def to_later(self, one: int) -> FloatArray:
        """Returns the distance of a group and each one behind it, shape (later groups, units)."""
        width = self.shape[1]
        step = max(1, UNITS_AT_ONCE // (1 + len(self.rows[one])))
        parts = [range(start, min(start + step, width)) for start in range(one + 1, width, step)]
        return np.concatenate([self._to_others(one, part) for part in parts])

    def _to_others(self, one: int, others: range) -> FloatArray:
        """Returns the distance of a group and each of some others, shape (others, units).

        The running sum ends at 0 with every pair of groups, too, so that it serves all of them.
        """
        numbers = np.arange(len(others))
        rows_of_others = [self.rows[other] for other in others]
        counts = [len(rows) for rows in rows_of_others]
        # Each pair of groups has the rows of the other one, and those of the group itself.
        pair = np.concatenate([np.repeat(numbers, counts), np.repeat(numbers, len(self.rows[one]))])
        rows = np.concatenate([*rows_of_others, np.tile(self.rows[one], len(others))])
        in_order = np.sort(pair * len(self.unit) + rows)
        pair, rows = np.divmod(in_order, len(self.unit))
        unit = self.unit[rows]
        is_own = self.place[rows] == one
        other_sizes = self.sizes[unit, others.start + pair]
        weights = np.where(is_own, other_sizes, -self.sizes[unit, one])
        area_of = pair * len(self.sizes) + unit
        areas = self._areas(rows, weights, area_of, len(others) * len(self.sizes))
        products = self.sizes[:, [one]] * self.sizes[:, others.start : others.stop]
        return divide(areas.reshape(len(others), -1), products.T)

    def from_background(self, group: int) -> FloatArray:
        """Returns the distance of the unit, the group included, and the group, shape (units,)."""
        own, all_groups = self.sizes[:, group], self.sizes.sum(axis=1)
        is_own = self.place == group
        weights = own[self.unit] - all_groups[self.unit] * is_own
        rows = np.arange(len(self.unit))
        areas = self._areas(rows, weights, self.unit, len(self.sizes))
        return divide(areas, own * all_groups)

    def _areas(
        self, rows: IntArray, weights: IntArray, area_of: IntArray, count: int
    ) -> FloatArray:
        """Returns areas under the absolute running sum of weights, which is 0 at the end of each.

        Args:
            rows: shape (values,), the rows of the sorted values.
            weights: shape (values,).
            area_of: shape (values,), the number of the area that each value belongs to.
            count: how many areas there are.
        """
        area = np.abs(np.cumsum(weights)[:-1]) * np.diff(self.values[rows])
        return np.bincount(area_of[:-1], area, minlength=count).astype(np.float64)


def divergence(scores: FloatArray, which: Divergence) -> FloatArray:
    """Computes how far the scores of the groups are from being equal.

    With the shares s_g = x_g / sum(x) of the G groups of a unit, "divergence_per_group" is |s_g -
    1/G|, "divergence" half its sum over the groups (the total variation distance of s from the
    uniform distribution), and "normalized_divergence" the latter divided by 1 - 1/G, its largest
    value where no score is negative.

    Args:
        scores: scalar scores, shape (units, width), NaN where there is no such group.
        which: see above.

    Returns:
        Shape (units, width) for "divergence_per_group", else (units,). NaN where the sum of the
        scores is 0, and for "normalized_divergence" where there is one group; BiaXposer ends with a
        ZeroDivisionError there.
    """
    share = divide(scores, np.nansum(scores, axis=1, keepdims=True))
    groups = (~np.isnan(scores)).sum(axis=1, keepdims=True)
    equal_share = divide(1, groups)
    apart = np.abs(share - equal_share)
    if which == "divergence_per_group":
        return apart
    is_unknown = np.isnan(apart).all(axis=1)
    half = np.where(is_unknown, np.nan, np.nansum(apart, axis=1) / 2)
    if which == "divergence":
        return half
    return divide(half, 1 - equal_share[:, 0])
