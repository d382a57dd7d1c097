"""The comparisons of Czarnowska et al. (TACL 2021), which decide what a distance is taken between,
in all units at once.

With phi the score, d the distance, A_1 ... A_G the records of the groups of a unit and A all its
records:

- pairwise (PCM):         2 / (G (G - 1)) sum over i < j of d(phi(A_i), phi(A_j))
- background (BCM):       1 / G sum over g of d(phi(A), phi(A_g))
- multi_group (MCM):      d(phi(A_1), ..., phi(A_G)), one of the divergences
- background_per_group:   d(phi(A), phi(A_g)) of each group
- multi_group_per_group:  the part of each group in a divergence

The background A holds the group itself, and a group with more identity terms weighs more in it (as
in BiaXposer). If a unit lacks groups, G counts the groups that it has. With fewer than two there is
nothing to compare, and the value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

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
from biasgrid.groups.records import ComparisonUnits
from biasgrid.groups.scores import ScoredRecords

COMPARISONS = {
    "pairwise": ("absolute", "ratio", "wasserstein"),
    "background": ("absolute", "ratio", "wasserstein"),
    "background_per_group": ("absolute", "ratio", "wasserstein"),
    "multi_group": ("divergence", "normalized_divergence"),
    "multi_group_per_group": ("divergence_per_group",),
}
"""The distances that each comparison can be made with."""
PER_GROUP = ("background_per_group", "multi_group_per_group")
"""The comparisons with a number per group; the others have one per bias type."""


def compare_units(
    scores: ScoredRecords, units: ComparisonUnits, *, distance: str, comparison: str
) -> FloatArray:
    """Compares the groups of every unit.

    Args:
        scores: the records with their values.
        units: the units of all these records; records without a value are left out here.
        distance: a key of `DISTANCES` that goes with the comparison and the score.
        comparison: a key of `COMPARISONS`.

    Returns:
        Shape (units, width) for the comparisons per group, NaN where a unit lacks the group, else
        (units,). All of a unit is NaN if fewer than two of its groups have values, or if scores
        that a divergence is computed from sum to 0.
    """
    defined_units = units.only(scores.is_defined)
    if comparison in FROM_DISTANCES:
        values = FROM_DISTANCES[comparison](make_distances(scores, defined_units, distance))
    else:
        values = divergence(group_scores(scores, defined_units), cast(Divergence, distance))
    # A single group has the distance 0 from its unit, and is all of it.
    values[np.count_nonzero(defined_units.sizes, axis=1) < 2] = np.nan
    return values


def group_scores(scores: ScoredRecords, defined_units: ComparisonUnits) -> FloatArray:
    """Returns the scalar score of every group, shape (units, width), NaN where it has no value.

    Args:
        scores: the records with their values.
        defined_units: the units of the records that have a value.
    """
    return scores.pool_scores(defined_units.pools).reshape(-1, defined_units.width)


def make_distances(
    scores: ScoredRecords, defined_units: ComparisonUnits, distance: str
) -> Distances:
    """Prepares the distance of any two groups in all units.

    Args:
        scores: the records with their values.
        defined_units: the units of the records that have a value.
        distance: a key of `DISTANCES` that is not a divergence.
    """
    if DISTANCES[distance] == "set":
        return WassersteinDistances(scores.defined_values, defined_units)
    return ScalarDistances(
        smaller_by_larger if distance == RATIO else absolute_difference,
        groups=group_scores(scores, defined_units),
        backgrounds=scores.pool_scores(defined_units.backgrounds),
    )


class GroupDistances(NamedTuple):
    """The distances of one group to the groups behind it.

    Attributes:
        group: the place of the group.
        to_later: shape (later places, units), from `Distances.to_later`.
    """

    group: int
    to_later: FloatArray

    def to_place(self, other: int) -> FloatArray:
        """Returns the distance to a place behind the group, shape (units,)."""
        return np.asarray(self.to_later[other - self.group - 1])


def list_distances(distances: Distances) -> Iterator[GroupDistances]:
    """Yields the distances of each place but the last, one place at a time to spare memory."""
    for group in range(distances.width - 1):
        yield GroupDistances(group, distances.to_later(group))


class MeanOfPairs:
    """The mean distance of a pair of groups, added up as the distances come."""

    def __init__(self, unit_count: int):
        self.total, self.pair_count = np.zeros((2, unit_count))

    def add(self, distances: FloatArray) -> None:
        """Adds pairs, shape (pairs, units), NaN in units that lack one of the two groups."""
        is_missing = np.isnan(distances)
        self.pair_count += (~is_missing).sum(axis=0)
        # Pair by pair, as numpy's sum over an axis would depend on how many pairs come together.
        for distance in np.where(is_missing, 0, distances):
            self.total += distance

    def values(self) -> FloatArray:
        """Returns the means, shape (units,), NaN in units without a pair."""
        return divide(self.total, self.pair_count)


def pairwise(distances: Distances) -> FloatArray:
    """Returns the mean distance of a pair of groups, shape (units,)."""
    mean = MeanOfPairs(distances.unit_count)
    for row in list_distances(distances):
        mean.add(row.to_later)
    return mean.values()


def background(distances: Distances) -> FloatArray:
    """Returns the mean distance of a group from its unit, shape (units,)."""
    by_group = background_per_group(distances)
    groups = (~np.isnan(by_group)).sum(axis=1)
    return divide(np.nansum(by_group, axis=1), groups)


def background_per_group(distances: Distances) -> FloatArray:
    """Returns the distance of each group from its unit, shape (units, width)."""
    columns = [distances.from_background(place) for place in range(distances.width)]
    return np.stack(columns, axis=1)


FROM_DISTANCES: dict[str, Callable[[Distances], FloatArray]] = {
    "pairwise": pairwise,
    "background": background,
    "background_per_group": background_per_group,
}
"""The comparisons that are made from distances of two; the others are divergences."""
