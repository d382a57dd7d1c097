"""Distances between groups, in all units at once; NaN in a unit that lacks one of the groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.groups.records import ComparisonUnits
from biasgrid.groups.scores import ScoreType

VALUES_IN_CACHE = 2**14
"""About how many values of samples are compared together, so that they fit into a processor's
cache.
"""
Divergence = Literal["divergence", "normalized_divergence", "divergence_per_group"]

RATIO = "ratio"
"""Of equal scores 1, not 0, so its numbers are no `distance` but a measure of the same name."""
DISTANCES: dict[str, ScoreType] = {
    "absolute": "scalar",
    RATIO: "scalar",
    "wasserstein": "set",
    "divergence": "scalar",
    "normalized_divergence": "scalar",
    "divergence_per_group": "scalar",
}
"""The kind of score that each distance is computed from."""


class Distances(Protocol):
    """A distance d between the groups of all units; groups are given by their places."""

    @property
    def unit_count(self) -> int:
        """How many units there are."""

    @property
    def width(self) -> int:
        """The number of groups of the unit that has the most; see `ComparisonUnits.width`."""

    def to_later(self, group: int) -> FloatArray:
        """Returns d(group, other) for each place behind a group.

        Args:
            group: a place, not the last one.

        Returns:
            Shape (later places, units): the place comes first, unlike elsewhere. Row 0 is of the
            place `group + 1`.
        """

    def from_background(self, group: int) -> FloatArray:
        """Returns d(all records of the unit, group), shape (units,)."""


def distance_measure(distance: str) -> str:
    """Returns the measure of the numbers of a distance."""
    return RATIO if distance == RATIO else "distance"


def absolute_difference(score: FloatArray, other: FloatArray) -> FloatArray:
    """Returns |x - y| of scores."""
    return np.abs(score - other)


def smaller_by_larger(score: FloatArray, other: FloatArray) -> FloatArray:
    """Returns the smaller of two scores that are not negative, divided by the larger; NaN where
    both are 0.
    """
    return divide(np.minimum(score, other), np.maximum(score, other))


class ScalarDistances:
    """A function of two scalar scores: `absolute_difference` or `smaller_by_larger`."""

    def __init__(
        self,
        function: Callable[[FloatArray, FloatArray], FloatArray],
        *,
        groups: FloatArray,
        backgrounds: FloatArray,
    ):
        """Takes scores, NaN where there is none.

        Args:
            function: computes the distance of two scores.
            groups: the scores of the groups, shape (units, width).
            backgrounds: the scores of all records of the units, shape (units,).
        """
        self.function = function
        self.groups = groups
        self.backgrounds = backgrounds
        self.unit_count, self.width = groups.shape

    def to_later(self, group: int) -> FloatArray:
        """Returns the distance to each place behind a group; see `Distances.to_later`."""
        return self.function(self.groups[:, group], self.groups[:, group + 1 :].T)

    def from_background(self, group: int) -> FloatArray:
        """Returns the distance from the unit to a group, shape (units,)."""
        return self.function(self.backgrounds, self.groups[:, group])


class WassersteinDistances:
    """The Wasserstein-1 distance between the values of two samples of any sizes.

    In one dimension it is the area between their distribution functions F and G, the integral of
    |F(v) - G(v)| over v (Vallender 1974). The values are sorted once; F - G at all of them is then
    a running sum in which a value counts 1/m in one sample and -1/n in the other. Here both are
    multiplied by m n: sums of integers end in an exact 0 with every unit, so that one running sum
    serves all units.
    """

    def __init__(self, values: FloatArray, units: ComparisonUnits):
        """Sorts the values.

        Args:
            values: shape (records,), without NaN.
            units: the units of the same records.
        """
        order = np.lexsort((values, units.unit))
        self.values = values[order]
        self.unit, self.place = units.unit[order], units.place[order]
        self.sizes = units.sizes
        self.unit_count, self.width = self.sizes.shape
        self.rows = [np.flatnonzero(self.place == place) for place in range(units.width)]

    def to_later(self, group: int) -> FloatArray:
        """Returns the distance to each place behind a group; see `Distances.to_later`."""
        width = self.width
        step = max(1, VALUES_IN_CACHE // (1 + len(self.rows[group])))
        parts = [range(start, min(start + step, width)) for start in range(group + 1, width, step)]
        return np.concatenate([self._to_places(group, places) for places in parts])

    def _to_places(self, group: int, places: range) -> FloatArray:
        """Returns the distance of a group to each of some places, shape (places, units).

        The running sum ends at 0 with every pair of groups, too, so that it serves all of them.
        """
        pairs = np.arange(len(places))
        rows_by_place = [self.rows[place] for place in places]
        counts = [len(rows) for rows in rows_by_place]
        own_rows = self.rows[group]
        # Each pair of groups has the rows of the other one, and those of the group itself.
        pair = np.concatenate([np.repeat(pairs, counts), np.repeat(pairs, len(own_rows))])
        rows = np.concatenate([*rows_by_place, np.tile(own_rows, len(places))])
        in_order = np.sort(pair * len(self.unit) + rows)
        pair, rows = np.divmod(in_order, len(self.unit))
        unit = self.unit[rows]
        is_own = self.place[rows] == group
        other_sizes = self.sizes[unit, places.start + pair]
        weights = np.where(is_own, other_sizes, -self.sizes[unit, group])
        area = pair * self.unit_count + unit
        areas = self._areas(rows, weights, area, area_count=len(places) * self.unit_count)
        products = self.sizes[:, [group]] * self.sizes[:, places.start : places.stop]
        return divide(areas.reshape(len(places), -1), products.T)

    def from_background(self, group: int) -> FloatArray:
        """Returns the distance of the unit, the group included, and the group, shape (units,)."""
        own, all_groups = self.sizes[:, group], self.sizes.sum(axis=1)
        is_own = self.place == group
        weights = own[self.unit] - all_groups[self.unit] * is_own
        rows = np.arange(len(self.unit))
        areas = self._areas(rows, weights, self.unit, area_count=self.unit_count)
        return divide(areas, own * all_groups)

    def _areas(
        self, rows: IntArray, weights: IntArray, area: IntArray, *, area_count: int
    ) -> FloatArray:
        """Returns areas under the absolute running sum of weights, shape (areas,).

        Args:
            rows: shape (values,), positions of the sorted values; those of an area are neighbours,
                in ascending order.
            weights: shape (values,); their sum over each area is 0.
            area: shape (values,), the area of each value, from 0.
            area_count: how many areas there are.
        """
        steps = np.abs(np.cumsum(weights)[:-1]) * np.diff(self.values[rows])
        return np.bincount(area[:-1], steps, minlength=area_count).astype(np.float64)


def divergence(scores: FloatArray, kind: Divergence) -> FloatArray:
    """Computes how far the scores of the groups are from being equal.

    With the shares s_g = x_g / sum(x) of the G groups of a unit, "divergence_per_group" is |s_g -
    1/G|, "divergence" half its sum over the groups (the total variation distance of s from the
    uniform distribution), and "normalized_divergence" the latter divided by 1 - 1/G, its largest
    value where no score is negative.

    Args:
        scores: scalar scores, shape (units, width), NaN where there is no such group.
        kind: see above.

    Returns:
        Shape (units, width) for "divergence_per_group", else (units,). NaN where the sum of the
        scores is 0, and for "normalized_divergence" where there is one group; BiaXposer ends with a
        ZeroDivisionError there.
    """
    share = divide(scores, np.nansum(scores, axis=1, keepdims=True))
    groups = (~np.isnan(scores)).sum(axis=1, keepdims=True)
    equal_share = divide(1, groups)
    deviation = np.abs(share - equal_share)
    if kind == "divergence_per_group":
        return deviation
    is_unknown = np.isnan(deviation).all(axis=1)
    half = np.where(is_unknown, np.nan, np.nansum(deviation, axis=1) / 2)
    if kind == "divergence":
        return half
    return divide(half, 1 - equal_share[:, 0])
