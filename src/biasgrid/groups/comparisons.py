"""What a distance is taken between: the comparisons of Czarnowska et al. (TACL 2021), in all units
at once.

With phi the score, d the distance, A_1 ... A_G the records of the groups of a unit and A all its
records:

- pairwise (PCM):         2 / (G (G - 1)) sum over i < j of d(phi(A_i), phi(A_j))
- background (BCM):       1 / G sum over g of d(phi(A), phi(A_g))
- multi_group (MCM):      d(phi(A_1), ..., phi(A_G)), one of the divergences
- background_per_group:   d(phi(A), phi(A_g)) of each group
- multi_group_per_group:  the part of each group in a divergence

The background A holds the group itself, and a group with more identity terms weighs more in it (as
in BiaXposer). Where a unit lacks groups G counts those that it has; with fewer than two there is
nothing to compare: NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.groups.distances import (
    DISTANCES,
    RATIO,
    Distances,
    Divergence,
    ScalarDistances,
    WassersteinDistances,
    absolute_difference,
    divergence,
    smaller_by_larger,
)
from biasgrid.groups.records import Units
from biasgrid.groups.scores import ScoredRecords

COMPARISONS = {
    "pairwise": ("absolute", "ratio", "wasserstein"),
    "background": ("absolute", "ratio", "wasserstein"),
    "background_per_group": ("absolute", "ratio", "wasserstein"),
    "multi_group": ("divergence", "normalized_divergence"),
    "multi_group_per_group": ("divergence_per_group",),
}
"""Every comparison with the distances that it goes with."""


def compare_units(
    scored: ScoredRecords, units: Units, distance: str, comparison: str
) -> FloatArray:
    """Compares the groups of every unit.

    Args:
        scored: the records with their values.
        units: the units of these records; records without a value are left out of them here.
        distance: a key of `DISTANCES` that goes with the comparison and the score.
        comparison: a key of `COMPARISONS`.

    Returns:
        Shape (units, width), NaN where a unit lacks the group, for the comparisons per group, else
        (units,). NaN where a unit has no two groups with values, and where a divergence is of
        scores whose sum is 0.
    """
    units = units.only(scored.defined)
    if comparison in OF_PAIRS:
        values = OF_PAIRS[comparison](distances_of(scored, units, distance))
    else:
        values = divergence(group_scores(scored, units), cast(Divergence, distance))
    return with_two_groups(values, units)


def with_two_groups(values: FloatArray, units: Units) -> FloatArray:
    """Sets values of units to NaN where these have fewer than two groups."""
    values[np.count_nonzero(units.sizes, axis=1) < 2] = np.nan
    return values


def group_scores(scored: ScoredRecords, units: Units) -> FloatArray:
    """Returns the scalar score of every group, shape (units, width)."""
    return scored.of_pools(units.pools).reshape(-1, units.width)


def distances_of(scored: ScoredRecords, units: Units, distance: str) -> Distances:
    """Returns a distance between the groups of all units, ready to be asked for pairs."""
    if DISTANCES[distance] == "set":
        return WassersteinDistances(scored.known, units)
    between = smaller_by_larger if distance == RATIO else absolute_difference
    return ScalarDistances(between, group_scores(scored, units), scored.of_pools(units.backgrounds))


def each_group(distances: Distances) -> Iterator[tuple[int, FloatArray]]:
    """Yields every place but the last with its distances to the places behind it, shape (later
    places, units).
    """
    for one in range(distances.shape[1] - 1):
        yield one, distances.to_later(one)


class MeanOfPairs:
    """The mean distance of a pair of groups, taken as the distances come."""

    def __init__(self, units: int):
        """Takes the number of units."""
        self.total, self.count = np.zeros((2, units))

    def add(self, distances: FloatArray) -> None:
        """Takes further pairs, shape (pairs, units)."""
        missing = np.isnan(distances)
        self.count += (~missing).sum(axis=0)
        # One after the other, so that sums do not depend on which come together.
        for distance in np.where(missing, 0, distances):
            self.total += distance

    def values(self) -> FloatArray:
        """Returns the means, shape (units,)."""
        return divide(self.total, self.count)


def pairwise(distances: Distances) -> FloatArray:
    """Returns the mean distance of a pair of groups, shape (units,)."""
    mean = MeanOfPairs(distances.shape[0])
    for _, to_later in each_group(distances):
        mean.add(to_later)
    return mean.values()


def background(distances: Distances) -> FloatArray:
    """Returns the mean distance of a group from its unit, shape (units,)."""
    apart = background_per_group(distances)
    groups = (~np.isnan(apart)).sum(axis=1)
    return divide(np.nansum(apart, axis=1), groups)


def background_per_group(distances: Distances) -> FloatArray:
    """Returns the distance of each group from its unit, shape (units, width)."""
    _, width = distances.shape
    return np.stack([distances.from_background(place) for place in range(width)], axis=1)


OF_PAIRS: dict[str, Callable[[Distances], FloatArray]] = {
    "pairwise": pairwise,
    "background": background,
    "background_per_group": background_per_group,
}
