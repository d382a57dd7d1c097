"""How differences of two models in numbers of groups vary with the names or terms that stand for these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.names import has_two_sides, sources_of_groups
from biasgrid.stats.sums import Along, Sums
from biasgrid.tables.measures import ROW


def claims_of_groups(parts: Sequence[Sums]) -> list[Sums]:
    """Returns the sums of numbers that are claims about groups of names or terms."""
    return [part for part in parts if part.claims_all and has_two_sides(part) and len(part.keys)]


def sources_of_pair(names: pl.DataFrame, one: Sequence[Sums], other: Sequence[Sums]) -> list[VarianceSource]:
    """Returns how the differences of two models vary with names, none where the numbers are not of groups.

    The same names stand for the groups in both models, so it is told from how the difference of each name's numbers
    varies; names that one of the models was not asked say nothing.

    Args:
        names: what the numbers are: the columns `ROW`.
        one: the sums of one model, from `claims_of_groups`.
        other: those of the other.

    Returns:
        Arrays of shape (numbers,), NaN where nothing is known.
    """
    sides = [part_of(names, parts) for parts in (one, other)]
    if sides[0] is None or sides[1] is None:
        return []
    return sources_of_groups(difference_of_models(names, *sides[0], *sides[1]))


def part_of(names: pl.DataFrame, parts: Sequence[Sums]) -> tuple[Sums, list[int]] | None:
    """Returns the sums that numbers are made of and the place of each there, -1 of those that have none."""
    for part in parts:
        known = part.keys.select(ROW).with_row_index("place").cast({"place": pl.Int64})
        placed = names.join(known, on=list(ROW), how="left", nulls_equal=True, maintain_order="left")["place"]
        if placed.null_count() < len(placed):
            return part, placed.fill_null(-1).to_list()
    return None


def difference_of_models(
    names: pl.DataFrame, one: Sums, places: Sequence[int], other: Sums, other_places: Sequence[int]
) -> Sums:
    """Returns the numbers of one model less those of another as sums: each unit's mean is the difference of both.

    Args:
        names: what the numbers are.
        one: the sums of one model.
        places: the places of the numbers there, -1 of none.
        other: those of the other model.
        other_places: the places there.
    """
    along = {}
    for factor in [factor for factor in one.along if factor in other.along]:
        units = list(dict.fromkeys([*one.along[factor].units, *other.along[factor].units]))
        sides = [aligned(part.along[factor], units, of) for part, of in ((one, places), (other, other_places))]
        along[factor] = Along(units, difference_of_units(*sides))
    return replace(one, keys=names, along=along)


def aligned(along: Along, units: Sequence[str], places: Sequence[int]) -> FloatArray:
    """Returns the sums of some numbers over some units, 0 where there are none."""
    found = np.zeros((len(places), len(units), along.sums.shape[2]))
    columns = [units.index(unit) for unit in along.units]
    for number, place in enumerate(places):
        if place >= 0:
            found[number, columns] = along.sums[place]
    return found


def difference_of_units(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns sums whose means are those of one model less those of another, with the counts of the one.

    Args:
        one: shape (numbers, units, columns): pairs of sum and count.
        other: the same.
    """
    found = np.zeros_like(one)
    for first in range(0, one.shape[2], 2):
        sums, counts = one[..., first], one[..., first + 1]
        both = (counts > 0) & (other[..., first + 1] > 0)
        means = divide(sums, counts) - divide(other[..., first], other[..., first + 1])
        found[..., first] = np.where(both, means * counts, 0)
        found[..., first + 1] = np.where(both, counts, 0)
    return found
