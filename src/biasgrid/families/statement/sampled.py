"""Samples of statements, balanced over templates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasgrid.arrays import BoolArray, IntArray
from biasgrid.families.chosen import chosen_units
from biasgrid.families.sampling import Sample


def chosen_of_each(sizes: Sequence[int], sample: Sample) -> list[BoolArray]:
    """Says which units of several parts are in a sample; each part has its share of it, to within one.

    Of one seed, a larger sample holds the smaller ones.

    Args:
        sizes: how many units each part has.
        sample: the sample.

    Returns:
        For each part an array of shape (units,).
    """
    counts = shares(np.array(sizes, dtype=np.int64), min(sample.units, sum(sizes)))
    return [
        chosen_units(size, Sample(units=int(count), seed=sample.seed)) if count else np.zeros(size, dtype=np.bool_)
        for size, count in zip(sizes, counts, strict=True)
    ]


def shares(sizes: IntArray, units: int) -> IntArray:
    """Shares out units among parts, one after another, so that no part is ever off its share by one or more.

    The j-th unit of a part that has the share s of the whole comes between the places (j - 1) / s and j / s. Taking
    what must come soonest keeps all of these times (Steiner and Yeomans, Management Science 1993).

    Args:
        sizes: shape (parts,), how many units each part has.
        units: how many are taken; at most all.

    Returns:
        Shape (parts,).
    """
    whole, taken = int(sizes.sum()), np.zeros(len(sizes), dtype=np.int64)
    with_units = np.flatnonzero(sizes)
    size = sizes[with_units]
    for place in range(1, units + 1):
        count = taken[with_units]
        last = -(-(count + 1) * whole // size)
        begun = count * whole // size + 1 <= place
        taken[with_units[np.where(begun & (count < size), last, np.iinfo(np.int64).max).argmin()]] += 1
    return taken
