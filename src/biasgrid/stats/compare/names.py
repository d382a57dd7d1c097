"""How differences of two models vary with more than clusters: names, terms or persons, and prompt formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.factors import sources_of_formats
from biasgrid.stats.noise.names import has_two_sides, sources_of_groups
from biasgrid.stats.noise.persons import PERSONS, persons_source
from biasgrid.stats.sums import DIFFERENCE, FORMATS, MEAN, PAIR_OF_LISTS, Along, Sums
from biasgrid.tables.measures import ROW


def claims_over_more(parts: Sequence[Sums]) -> list[Sums]:
    """Returns the sums of means that are claims about names, terms, persons or prompt formats, beside clusters.

    Args:
        parts: the sums of a cell, from `Sums.clustered`.
    """
    means = [part for part in parts if part.finish.name in (MEAN.name, DIFFERENCE.name) and len(part.keys)]
    return [part for part in means if is_of_groups(part) or {PERSONS, FORMATS} & {*part.along}]


def is_of_groups(part: Sums) -> bool:
    """Says whether numbers are claims about groups of names or terms."""
    return part.claims_all and has_two_sides(part)


class OtherFactors(NamedTuple):
    """How numbers vary with other factors than their first.

    Attributes:
        sources: arrays of shape (numbers,), NaN where nothing is known.
        name: what the factors are called, such as `names x formats`; empty where there are none.
    """

    sources: Sequence[VarianceSource]
    name: str


NO_OTHER_FACTORS = OtherFactors((), "")


def other_factors(names: pl.DataFrame, one: Sequence[Sums], other: Sequence[Sums]) -> OtherFactors:
    """Returns how the differences of two models vary with names of groups, with persons and with prompt formats.

    The same names stand for the groups in both models, and the same formats were asked, so it is told from how the
    difference of each name's or format's numbers varies; those that one of the models was not asked say nothing.
    Of persons the residuals of one model are taken from those of the other.

    Args:
        names: what the numbers are: the columns `ROW`.
        one: the sums of one model, from `claims_over_more`.
        other: those of the other.
    """
    sides = [part_of(names, parts) for parts in (one, other)]
    if sides[0] is None or sides[1] is None:
        return NO_OTHER_FACTORS
    apart = difference_of_models(names, *sides[0], *sides[1])
    of_groups = sources_of_groups(apart) if is_of_groups(apart) else []
    persons = persons_source(apart)
    of_persons = [] if persons is None else [persons]
    formats = sources_of_formats(apart, may_grow=False)
    words = ("terms" if PAIR_OF_LISTS in apart.along else "names", PERSONS, FORMATS)
    called = [word for word, sources in zip(words, (of_groups, of_persons, formats), strict=True) if sources]
    return OtherFactors([*of_groups, *of_persons, *formats], " x ".join(called))


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
