"""How differences of two models vary with more than clusters: names, terms or persons, and prompt
formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.factors import sources_of_formats
from biasgrid.stats.noise.names import has_two_sides, sources_of_groups
from biasgrid.stats.noise.persons import PERSONS, persons_source
from biasgrid.stats.sums import DIFFERENCE, FORMATS, MEAN, PAIR_OF_LISTS, Along, Sums
from biasgrid.tables.measures import ROW


def claims_over_more(parts: Sequence[Sums]) -> list[Sums]:
    """Returns the sums of means that are claims about names, terms, persons or prompt formats,
    beside clusters.

    Args:
        parts: the sums of a cell, from `Sums.clustered`.
    """
    means = [
        part
        for part in parts
        if part.finish.name in (MEAN.name, DIFFERENCE.name) and len(part.keys)
    ]
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
    """Returns how the differences of two models vary with names of groups, with persons and with
    prompt formats.

    The same names stand for the groups in both models, and the same formats were asked, so it is
    told from how the difference of each name's or format's numbers varies; those that one of the
    models was not asked say nothing. Of persons the residuals of one model are taken from those of
    the other.

    Args:
        names: what the numbers are: the columns `ROW`.
        one: the sums of one model, from `claims_over_more`.
        other: those of the other.
    """
    sides = [parts_of_numbers(names, parts) for parts in (one, other)]
    # Numbers of a kind may be of several parts, such as one for each bias type.
    of_parts = [
        found for part in sides[0] if (found := factors_of_part(names, part, sides[1])) is not None
    ]
    return join_parts(of_parts, len(names))


class PlacedPart(NamedTuple):
    """Sums of a cell, and where numbers have their place in them.

    Attributes:
        sums: the sums.
        places: shape (numbers,), the place of each number there, -1 of a number that has none.
    """

    sums: Sums
    places: IntArray


class FactorsOfPart(NamedTuple):
    """How those numbers vary with other factors that are of one part of a cell.

    Attributes:
        rows: shape (rows,), the places of these numbers among all.
        factors: arrays of shape (rows,).
    """

    rows: IntArray
    factors: OtherFactors


def parts_of_numbers(names: pl.DataFrame, parts: Sequence[Sums]) -> list[PlacedPart]:
    """Returns the parts of a cell of which some numbers are.

    Args:
        names: the numbers: the columns `ROW`.
        parts: all parts of the cell, each of one measure and one choice of options.
    """
    kind = ["measure", "options"]
    kinds, rows = {*names.select(kind).rows()}, names.select(ROW).rows()
    placed = []
    for part in (
        part for part in parts if len(part.keys) and part.keys.select(kind).row(0) in kinds
    ):
        place = {row: number for number, row in enumerate(part.keys.select(ROW).rows())}
        places = np.array([place.get(row, -1) for row in rows], dtype=np.int64)
        if (places >= 0).any():
            placed.append(PlacedPart(part, places))
    return placed


def factors_of_part(
    names: pl.DataFrame, part: PlacedPart, others: Sequence[PlacedPart]
) -> FactorsOfPart | None:
    """Returns how differences of two models vary that are of a part of the one; None where the
    other has none.

    Args:
        names: all numbers: the columns `ROW`.
        part: sums of the one model.
        others: the sums of the other model.
    """
    shared = (other for other in others if ((part.places >= 0) & (other.places >= 0)).any())
    other = next(shared, None)
    if other is None:
        return None
    rows = np.flatnonzero((part.places >= 0) | (other.places >= 0))
    sides = part.sums, part.places[rows].tolist(), other.sums, other.places[rows].tolist()
    return FactorsOfPart(rows, factors_of(difference_of_models(names[rows], *sides)))


def factors_of(apart: Sums) -> OtherFactors:
    """Returns how differences of two models vary with other factors than their first; see
    `difference_of_models`.
    """
    of_groups = sources_of_groups(apart) if is_of_groups(apart) else []
    persons = persons_source(apart)
    of_persons = [] if persons is None else [persons]
    formats = sources_of_formats(apart, may_grow=False)
    words = ("terms" if PAIR_OF_LISTS in apart.along else "names", PERSONS, FORMATS)
    called = [
        word
        for word, sources in zip(words, (of_groups, of_persons, formats), strict=True)
        if sources
    ]
    return OtherFactors([*of_groups, *of_persons, *formats], " x ".join(called))


def join_parts(parts: Sequence[FactorsOfPart], count: int) -> OtherFactors:
    """Returns the sources of several parts as sources of all numbers.

    Args:
        parts: the parts.
        count: how many numbers there are.
    """
    most = max(
        (part.factors for part in parts),
        key=lambda factors: len(factors.sources),
        default=NO_OTHER_FACTORS,
    )
    sources = [VarianceSource(np.full(count, np.nan), np.zeros(count)) for _ in most.sources]
    for rows, factors in (part for part in parts if part.factors.sources):
        # A part with fewer sources does not vary with the others.
        none = VarianceSource(np.zeros(len(rows)), np.ones(len(rows)))
        own = [*factors.sources, *[none] * (len(sources) - len(factors.sources))]
        for source, (variance, df) in zip(sources, own, strict=True):
            source.variance[rows], source.df[rows] = variance, df
    return OtherFactors(sources, most.name)


def difference_of_models(
    names: pl.DataFrame, one: Sums, places: Sequence[int], other: Sums, other_places: Sequence[int]
) -> Sums:
    """Returns the numbers of one model less those of another as sums: each unit's mean is the
    difference of both.

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
        sides = [
            aligned(part.along[factor], units, of)
            for part, of in ((one, places), (other, other_places))
        ]
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
    """Returns sums whose means are those of one model less those of another, with the counts of the
    one.

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
