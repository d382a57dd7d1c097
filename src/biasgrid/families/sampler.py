"""The units of a sample.

Units are whole: all versions of an item or none, all questions of a swap group or none.

Units are put in an order, of which a sample is the beginning, so that a larger sample holds the
smaller ones. A family says of each unit a key, the text that names it wherever it stands in its
file, and its strata: labels at several levels, the outermost first, such as the template and,
within templates, the classes of people.

Of the first n units in this order:
- each stratum of the outermost level has its share of n, to within less than one unit;
- each stratum within another one has its share of the units of that one, to within less than one
  unit. Of n it has its share to within less than two, or less than one where the strata within each
  other one have one size;
- within an innermost stratum, the order is that of hashes of seed and keys.

Strata of one level that must be even in several respects at once, such as bias type and direction,
are tuples: cells of a cross. The cells are kept even then, and the sums of cells as far as this
makes them so.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.tables.keys import Digests, digest_texts, mix_bits

Strata = Sequence[Hashable]
"""The stratum of a unit at each level."""


def units_of_sample(
    strata: Sequence[Strata],
    keys: Sequence[str],
    sample: Sample | None,
    sizes: Sequence[int] | None = None,
) -> list[int]:
    """Returns the units that a sample asks, in the order of their file.

    Args:
        strata: of each unit, its stratum at each level.
        keys: the key of each unit.
        sample: the sample, None where all units are asked.
        sizes: how much each unit counts, such as its items: the sample ends before the first unit
            with which it would have more than it asks for, but has one unit at least. Default: each
            counts as one.
    """
    if sample is None:
        return list(range(len(keys)))
    weights = np.ones(len(keys), np.int64) if sizes is None else np.array(sizes, np.int64)
    count = sample.count(int(weights.sum()))
    digests = digest_texts(pl.Series(keys, dtype=pl.String))
    hashes = seeded_hashes(digests, sample.seed)
    order = first_units(numbered_strata(strata), hashes, min(count, len(keys)))
    ends = np.cumsum(weights[order])
    taken = max(1, int(np.searchsorted(ends, count, side="right")))
    return sorted(order[:taken].tolist())


def numbered_strata(strata: Sequence[Strata]) -> IntArray:
    """Numbers the strata of each level; shape (units, levels)."""
    levels = []
    for labels in zip(*strata, strict=True):
        numbers: dict[Hashable, int] = {}
        levels.append([numbers.setdefault(label, len(numbers)) for label in labels])
    return np.array(levels, np.int64).reshape(len(levels), len(strata)).T


def seeded_hashes(digests: Digests, seed: int) -> Digests:
    """Returns the hashes of units for a seed, given the digests of their keys."""
    return mix_bits(digests + mix_bits(np.full(1, seed % 2**64, np.uint64)))


def sampled_strata(strata: IntArray, hashes: Digests, sample: Sample) -> IntArray:
    """Returns the units of a sample, in no order.

    A sample of blocks has at least one unit of each stratum of the first level.

    A sample of blocks is the beginning of the order and, of the strata that are not in it yet, the
    first unit. So strata have their shares from the size on at which each has a unit by its share.

    Args:
        strata: shape (units, levels), the number of the stratum of each unit at each level.
        hashes: shape (units,), from `seeded_hashes`.
        sample: the sample.
    """
    count = sample.count(len(hashes))
    order = first_units(strata, hashes, count)
    if not isinstance(sample, BlockSample):
        return order
    firsts = []
    for part in parts_of(strata[:, 0]):
        first = first_units(strata[part, 1:], hashes[part], 1)[0]
        firsts.append(part[first])
    units = list(dict.fromkeys([*firsts, *order.tolist()]))
    return np.array(units[: max(count, len(firsts))], np.int64)


def first_units(strata: IntArray, hashes: Digests, unit_count: int) -> IntArray:
    """Returns the first `unit_count` units of the order; see the head of this file.

    Args:
        strata: shape (units, levels), the number of the stratum of each unit at each level.
        hashes: shape (units,), from `seeded_hashes`. Of strata of one size, the one with the
            smallest hash is first.
        unit_count: how many units are taken; at most all.
    """
    if not strata.shape[1]:
        return np.argsort(hashes, kind="stable")[:unit_count]
    parts = sorted(parts_of(strata[:, 0]), key=lambda part: int(hashes[part].min()))
    turns = np.array(serving_order([len(part) for part in parts], unit_count), np.int64)
    counts = np.bincount(turns, minlength=len(parts))
    # Without parts there are no units, and `concatenate` needs an array.
    units = [np.zeros(0, np.int64)]
    for part, number in zip(parts, counts, strict=True):
        first = first_units(strata[part, 1:], hashes[part], int(number))
        units.append(part[first])
    order = np.empty(unit_count, np.int64)
    # The turns of a part, in ascending order, are the places of its units.
    order[np.argsort(turns, kind="stable")] = np.concatenate(units)
    return order


def parts_of(numbers: IntArray) -> list[IntArray]:
    """Returns the places of each number, in ascending order; none without numbers."""
    if not len(numbers):
        return []
    order = np.argsort(numbers, kind="stable")
    _, starts = np.unique(numbers[order], return_index=True)
    return np.split(order, starts[1:])


def serving_order(sizes: Sequence[int], units: int) -> list[int]:
    """Returns the order in which parts are served so that each always has its share.

    No part is ever off its share by one unit or more.

    The j-th unit of a part that has the share s of the whole comes between the places (j - 1) / s
    and j / s. Taking what must come soonest keeps all of these times (Steiner and Yeomans,
    Management Science 1993). Of parts of one size those that come first are served first.

    Args:
        sizes: how many units each part has, at least one.
        units: how many are served; at most all.
    """
    whole = sum(sizes)
    waiting = [(1, place) for place in range(len(sizes))]
    heapify(waiting)
    ready: list[tuple[int, int]] = []
    taken = [0] * len(sizes)
    served = []
    for time in range(1, units + 1):
        while waiting and waiting[0][0] <= time:
            place = heappop(waiting)[1]
            heappush(ready, (-(-(taken[place] + 1) * whole // sizes[place]), place))
        place = heappop(ready)[1]
        taken[place] += 1
        served.append(place)
        heappush(waiting, (taken[place] * whole // sizes[place] + 1, place))
    return served
