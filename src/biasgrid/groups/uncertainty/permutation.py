"""Permutation tests of groups: how far apart groups are whose terms are assigned to them at random.

The terms are assigned once for all cases. If they were assigned anew in every case, words that merely differ would
pass for groups that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, ratio
from biasgrid.groups.uncertainty.matrix import TermScores
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE

MOST_GROUP_PERMUTATIONS = 20_000
DISTANCE_DECIMALS = 12
"""What is 0.2 but for rounding is not larger than 0.2."""
GROUP_SEPARATOR = " & "
"""Stands in the names of intersections, whose terms are not free to be permuted."""


class PermutedGroups(NamedTuple):
    """What the permutation test found of a number.

    Attributes:
        value: the number.
        null_mean: its mean over permutations.
        p: the share of permutations in which it is at least as large.
    """

    value: float
    null_mean: float
    p: float


class GroupPermutation(NamedTuple):
    """What the permutation test found of a bias type.

    Attributes:
        found: by name: `pairwise in cases`, `pairwise`, `largest in cases`, `largest`, and of a threshold the share of
            cases whose mean (`fails by mean`) or largest (`fails by largest`) difference is beyond it.
        tried: how many permutations there were.
        exact: whether these are all.
    """

    found: Mapping[str, PermutedGroups]
    tried: int
    exact: bool


def permute_groups(scores: TermScores, threshold: float, most: int, seed: int) -> GroupPermutation | None:
    """Assigns the terms of a bias type at random to groups of the same sizes.

    Args:
        scores: the scores of its terms.
        threshold: from what difference on a case fails.
        most: how many permutations are drawn where there are too many to try all.
        seed: seed of what is drawn.

    Returns:
        None where there is nothing to deal: groups of one term each, and intersections.
    """
    sizes = np.bincount(scores.group_of)
    if sizes.max() < 2 or GROUP_SEPARATOR in scores.bias_type:
        return None
    count = factorial(int(sizes.sum())) // prod(factorial(int(size)) for size in sizes)
    exact = count <= MOST_GROUP_PERMUTATIONS
    permutations = all_permutations(sizes) if exact else drawn_permutations(scores.group_of, most, seed)
    measured = permuted_distances(scores, scores.group_of[None], threshold)
    size = max(1, VALUES_AT_ONCE // (len(scores.sums) * len(sizes)))
    totals, at_least, tried = dict.fromkeys(measured, 0.0), dict.fromkeys(measured, 0), 0
    for some in together(permutations, size):
        tried += len(some)
        for name, values in permuted_distances(scores, some, threshold).items():
            totals[name] += float(values.sum())
            at_least[name] += int(np.count_nonzero(values >= measured[name][0] - TOLERANCE))
    more = 0 if exact else 1
    found = {
        name: PermutedGroups(float(value[0]), totals[name] / tried, (at_least[name] + more) / (tried + more))
        for name, value in measured.items()
    }
    return GroupPermutation(found, tried, exact)


def all_permutations(sizes: IntArray) -> Iterator[IntArray]:
    """Yields every way to divide terms into groups of some sizes: the group of each term."""

    def divide(free: tuple[int, ...], group: int, assigned: IntArray) -> Iterator[IntArray]:
        if group == len(sizes) - 1:
            assigned[list(free)] = group
            yield assigned.copy()
            return
        for chosen in combinations(free, int(sizes[group])):
            assigned[list(chosen)] = group
            yield from divide(tuple(term for term in free if term not in chosen), group + 1, assigned)

    yield from divide(tuple(range(int(sizes.sum()))), 0, np.zeros(int(sizes.sum()), dtype=np.int64))


def drawn_permutations(group_of: IntArray, count: int, seed: int) -> Iterator[IntArray]:
    """Yields random ways to divide terms into groups."""
    random = np.random.default_rng(seed)
    yield from (random.permutation(group_of) for _ in range(count))


def together(permutations: Iterator[IntArray], size: int) -> Iterator[IntArray]:
    """Yields permutations some at a time, shape (permutations, terms)."""
    waiting: list[IntArray] = []
    for permutation in permutations:
        waiting.append(permutation)
        if len(waiting) == size:
            yield np.stack(waiting)
            waiting = []
    if waiting:
        yield np.stack(waiting)


def permuted_distances(scores: TermScores, permutations: IntArray, threshold: float) -> dict[str, FloatArray]:
    """Returns how far groups are apart in permutations, shape (permutations,), by the names in `GroupPermutation`."""
    count = int(scores.group_of.max()) + 1
    members = np.asarray(permutations[:, :, None] == np.arange(count), dtype=np.float64)
    sums, counts = (
        np.moveaxis(np.tensordot(each, members, axes=(1, 1)), 1, 0) for each in (scores.sums, scores.counts)
    )
    in_cases, pooled = ratio(sums, counts), ratio(sums.sum(axis=1), counts.sum(axis=1))
    mean, largest = (each.round(DISTANCE_DECIMALS) for each in group_ranges(in_cases))
    mean_pooled, largest_pooled = group_ranges(pooled)
    compared = ~np.isnan(mean)
    cases = compared.sum(axis=1)
    return {
        "pairwise in cases": ratio(np.where(compared, mean, 0).sum(axis=1), cases),
        "pairwise": mean_pooled,
        "largest in cases": ratio(np.where(compared, largest, 0).sum(axis=1), cases),
        "largest": largest_pooled,
        "fails by mean": ratio((mean > threshold).sum(axis=1), cases),
        "fails by largest": ratio((largest > threshold).sum(axis=1), cases),
    }


def group_ranges(groups: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns mean and largest difference of two groups, NaN where there are no two; arrays of shape (..., groups)."""
    total, count, largest = (np.zeros(groups.shape[:-1]) for _ in range(3))
    for one, other in combinations(range(groups.shape[-1]), 2):
        apart = np.abs(groups[..., one] - groups[..., other])
        known = ~np.isnan(apart)
        total += np.where(known, apart, 0)
        count += known
        largest = np.fmax(largest, apart)
    return ratio(total, count), np.where(count > 0, largest, np.nan)
