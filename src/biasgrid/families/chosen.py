"""Which units are in a sample: the beginnings of balanced orders, so that larger samples hold the smaller ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import gcd

import numpy as np

from biasgrid.base.arrays import IntArray
from biasgrid.families.orders import Order
from biasgrid.families.sampling import Sample

AT_ONCE = 2**20
"""How many units are looked up together."""


@dataclass(frozen=True)
class Block:
    """Templates that are filled with the same things.

    Attributes:
        templates: how many templates, each of which has as many units.
        order: the units of all of them, of which every beginning is balanced.
    """

    templates: int
    order: Order


def chosen_of_blocks(blocks: Sequence[Block], sample: Sample) -> Iterator[tuple[int, IntArray]]:
    """Yields which units of blocks are in a sample.

    Each template has its share of the sample, to within less than one. So has whatever else the orders are balanced
    over in its block's part of the sample, and in the whole sample where there is one block.

    Args:
        blocks: all units.
        sample: the sample.

    Returns:
        Block by block, part by part, the block's place and the numbers of its units, in no order.
    """
    of_templates = np.repeat(np.arange(len(blocks)), [block.templates for block in blocks])
    sizes = np.array([block.order.size // block.templates for block in blocks], dtype=np.int64)[of_templates]
    counts = shares(sizes, sample.count(int(sizes.sum())))
    for place, block in enumerate(blocks):
        count = int(counts[of_templates == place].sum())
        for start in range(0, count, AT_ONCE):
            yield place, block.order.at(np.arange(start, min(start + AT_ONCE, count)))


def shares(sizes: IntArray, units: int) -> IntArray:
    """Shares out units among parts, one after another, so that no part is ever off its share by one or more.

    The j-th unit of a part that has the share s of the whole comes between the places (j - 1) / s and j / s. Taking
    what must come soonest keeps all of these times (Steiner and Yeomans, Management Science 1993). Of parts of one size
    those that come first are served first.

    Args:
        sizes: shape (parts,), how many units each part has.
        units: how many are taken; at most all.

    Returns:
        Shape (parts,).
    """
    common = gcd(*sizes.tolist())
    if not common:
        return np.zeros_like(sizes)
    # What is taken begins anew whenever each part has had its share exactly.
    smallest = sizes // common
    rounds, rest = divmod(units, int(smallest.sum()))
    served = np.array(soonest(smallest.tolist(), rest), dtype=np.int64)
    return rounds * smallest + np.bincount(served, minlength=len(sizes))


def soonest(sizes: Sequence[int], units: int) -> list[int]:
    """Returns which parts are served, one after another; see `shares`."""
    whole = sum(sizes)
    waiting = [(1, place) for place, size in enumerate(sizes) if size]
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
