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
from biasgrid.stats.noise.random_factors import (
    PERSONS,
    format_sources,
    group_sources,
    has_two_sides,
    persons_source,
)
from biasgrid.stats.sums import DIFFERENCE, MEAN, PAIR_OF_LISTS, PROMPT_FORMATS, Along, Sums
from biasgrid.tables.measures import ROW


def claims_over_more(parts: Sequence[Sums]) -> list[Sums]:
    """Returns the sums of means that are claims about more factors than clusters.

    These are names, terms, persons or prompt formats.

    Args:
        parts: the sums of a cell, from `Sums.clustered`.
    """
    claims = []
    for part in parts:
        is_mean = part.finish.name in (MEAN.name, DIFFERENCE.name)
        has_more = claims_groups(part) or not {PERSONS, PROMPT_FORMATS}.isdisjoint(part.along)
        if is_mean and len(part.keys) and has_more:
            claims.append(part)
    return claims


def claims_groups(part: Sums) -> bool:
    """Says whether numbers are claims about groups of names or terms."""
    return part.generalises_to_all_factors and has_two_sides(part)


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
    """Returns the variances of differences of two models over names, persons and prompt formats.

    The same names stand for the groups in both models, and the same formats were asked, so it is
    told from how the difference of each name's or format's numbers varies; those that one of the
    models was not asked say nothing. Of persons the residuals of one model are taken from those of
    the other.

    Args:
        names: what the numbers are: the columns `ROW`.
        one: the sums of one model, from `claims_over_more`.
        other: those of the other.
    """
    parts = place_parts(names, one)
    other_parts = place_parts(names, other)
    # Numbers of a kind may be of several parts, such as one for each bias type.
    factors = [part_factors(names, part, other_parts) for part in parts]
    return join_parts([known for known in factors if known is not None], len(names))


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


def place_parts(names: pl.DataFrame, parts: Sequence[Sums]) -> list[PlacedPart]:
    """Returns the parts of a cell that hold some of the numbers.

    Args:
        names: the numbers: the columns `ROW`.
        parts: all parts of the cell, each of one measure and one choice of options.
    """
    measure = ["measure", "options"]
    measures = {*names.select(measure).rows()}
    rows = names.select(ROW).rows()
    placed = []
    for part in parts:
        if part.keys.is_empty() or part.keys.select(measure).row(0) not in measures:
            continue
        place_of = {row: place for place, row in enumerate(part.keys.select(ROW).rows())}
        places = np.array([place_of.get(row, -1) for row in rows], dtype=np.int64)
        if (places >= 0).any():
            placed.append(PlacedPart(part, places))
    return placed


def part_factors(
    names: pl.DataFrame, part: PlacedPart, others: Sequence[PlacedPart]
) -> FactorsOfPart | None:
    """Returns the variances of the differences in a part, None if the other model has no such part.

    Args:
        names: all numbers: the columns `ROW`.
        part: sums of the one model.
        others: the sums of the other model.
    """
    for other in others:
        has_one, has_other = part.places >= 0, other.places >= 0
        if (has_one & has_other).any():
            rows = np.flatnonzero(has_one | has_other)
            one_places, other_places = part.places[rows].tolist(), other.places[rows].tolist()
            apart = subtract_sums(names[rows], part.sums, one_places, other.sums, other_places)
            return FactorsOfPart(rows, difference_factors(apart))
    return None


def difference_factors(apart: Sums) -> OtherFactors:
    """Returns the variances of differences over factors other than the first.

    The differences are from `subtract_sums`.
    """
    persons = persons_source(apart)
    sources_by_name = {
        "terms" if PAIR_OF_LISTS in apart.along else "names": (
            group_sources(apart) if claims_groups(apart) else []
        ),
        PERSONS: [] if persons is None else [persons],
        PROMPT_FORMATS: format_sources(apart, may_grow=False),
    }
    names = [name for name, sources in sources_by_name.items() if sources]
    sources = [source for sources in sources_by_name.values() for source in sources]
    return OtherFactors(sources, " x ".join(names))


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
    for rows, factors in parts:
        if not factors.sources:
            continue
        # A part with fewer sources does not vary with the others.
        none = VarianceSource(np.zeros(len(rows)), np.ones(len(rows)))
        missing = len(sources) - len(factors.sources)
        own_sources = [*factors.sources, *[none] * missing]
        for source, own in zip(sources, own_sources, strict=True):
            source.variance[rows] = own.variance
            source.df[rows] = own.df
    return OtherFactors(sources, most.name)


def subtract_sums(
    names: pl.DataFrame, one: Sums, places: Sequence[int], other: Sums, other_places: Sequence[int]
) -> Sums:
    """Returns the numbers of one model less the other's as sums.

    The mean of each unit is the difference of both means.

    Args:
        names: what the numbers are.
        one: the sums of one model.
        places: the places of the numbers there, -1 of none.
        other: those of the other model.
        other_places: the places there.
    """
    along = {}
    for factor, units_of_one in one.along.items():
        units_of_other = other.along.get(factor)
        if units_of_other is None:
            continue
        units = list(dict.fromkeys([*units_of_one.units, *units_of_other.units]))
        sums = aligned(units_of_one, units, places)
        other_sums = aligned(units_of_other, units, other_places)
        along[factor] = Along(units, subtract_units(sums, other_sums))
    return replace(one, keys=names, along=along)


def aligned(along: Along, units: Sequence[str], places: Sequence[int]) -> FloatArray:
    """Returns the sums of some numbers over some units, 0 where there are none.

    Args:
        along: sums over the units of one model.
        units: the units of both models.
        places: the places of the numbers in `along`, -1 of none.

    Returns:
        Shape (numbers, units, columns).
    """
    sums = np.zeros((len(places), len(units), along.sums.shape[2]))
    columns = [units.index(unit) for unit in along.units]
    for number, place in enumerate(places):
        if place >= 0:
            sums[number, columns] = along.sums[place]
    return sums


def subtract_units(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns sums whose means are differences of two models, with the counts of the first.

    Args:
        one: shape (numbers, units, columns): pairs of sum and count.
        other: the same.
    """
    differences = np.zeros_like(one)
    for column in range(0, one.shape[2], 2):
        sums, counts = one[..., column], one[..., column + 1]
        other_sums, other_counts = other[..., column], other[..., column + 1]
        has_both = (counts > 0) & (other_counts > 0)
        means = divide(sums, counts) - divide(other_sums, other_counts)
        differences[..., column] = np.where(has_both, means * counts, 0)
        differences[..., column + 1] = np.where(has_both, counts, 0)
    return differences
