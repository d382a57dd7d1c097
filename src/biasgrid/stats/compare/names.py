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
    """Whether numbers are claims about groups of names or terms."""
    return part.generalises_to_all_factors and has_two_sides(part)


class OtherFactors(NamedTuple):
    """Variances of numbers over other factors than their primary one.

    Attributes:
        sources: one for each variance that adds up, with arrays of one shape, NaN if unknown.
        name: the names of the factors, such as `names x formats`; empty if there are none.
    """

    sources: Sequence[VarianceSource]
    name: str


NO_OTHER_FACTORS = OtherFactors((), "")


def factor_variances(
    keys: pl.DataFrame, sums: Sequence[Sums], other_sums: Sequence[Sums]
) -> OtherFactors:
    """Returns the variances of differences of two models over names, persons and prompt formats.

    The same names stand for the groups in both models, and the same formats were asked. So the
    variance is that of the differences of each name or format; names and formats that one model was
    not asked are left out. For persons, residuals of one model are subtracted from those of the
    other.

    Args:
        keys: the columns `ROW` of the numbers.
        sums: the sums of one model, from `claims_over_more`.
        other_sums: the sums of the model that is subtracted.

    Returns:
        Arrays of shape (numbers,), in the order of `keys`.
    """
    parts = place_parts(keys, sums)
    other_parts = place_parts(keys, other_sums)
    # Numbers of a kind may be of several parts, such as one for each bias type.
    factors = [part_factors(keys, part, other_parts) for part in parts]
    return join_parts([known for known in factors if known is not None], len(keys))


class PlacedPart(NamedTuple):
    """Sums of a cell, and the positions of compared numbers in them.

    Attributes:
        sums: the sums.
        places: shape (numbers,), the position of each number in the sums; -1 if it is not there.
    """

    sums: Sums
    places: IntArray


class FactorsOfPart(NamedTuple):
    """Variances of the numbers that are in one part of a cell.

    Attributes:
        rows: shape (rows,), the positions of these numbers among all.
        factors: arrays of shape (rows,).
    """

    rows: IntArray
    factors: OtherFactors


def place_parts(keys: pl.DataFrame, parts: Sequence[Sums]) -> list[PlacedPart]:
    """Returns the parts of a cell that hold some of the numbers.

    Args:
        keys: the columns `ROW` of the numbers.
        parts: all parts of the cell, each of one measure and one choice of options.
    """
    measure = ["measure", "options"]
    measures = {*keys.select(measure).rows()}
    rows = keys.select(ROW).rows()
    placed_parts = []
    for part in parts:
        if part.keys.is_empty() or part.keys.select(measure).row(0) not in measures:
            continue
        place_of = {row: place for place, row in enumerate(part.keys.select(ROW).rows())}
        places = np.array([place_of.get(row, -1) for row in rows], dtype=np.int64)
        if (places >= 0).any():
            placed_parts.append(PlacedPart(part, places))
    return placed_parts


def part_factors(
    keys: pl.DataFrame, part: PlacedPart, opposite_parts: Sequence[PlacedPart]
) -> FactorsOfPart | None:
    """Returns the variances of the differences in a part, None if the other model has no such part.

    Args:
        keys: the columns `ROW` of all numbers.
        part: sums of the one model.
        opposite_parts: the sums of the model that is subtracted.
    """
    for opposite in opposite_parts:
        has_place, has_other_place = part.places >= 0, opposite.places >= 0
        if (has_place & has_other_place).any():
            rows = np.flatnonzero(has_place | has_other_place)
            places, other_places = part.places[rows].tolist(), opposite.places[rows].tolist()
            differences = subtract_sums(keys[rows], part.sums, places, opposite.sums, other_places)
            return FactorsOfPart(rows, difference_factors(differences))
    return None


def difference_factors(differences: Sums) -> OtherFactors:
    """Returns the variances of differences over factors other than the primary one.

    Args:
        differences: from `subtract_sums`.
    """
    persons = persons_source(differences)
    label = "terms" if PAIR_OF_LISTS in differences.along else "names"
    sources_by_name = {
        label: group_sources(differences) if claims_groups(differences) else [],
        PERSONS: [] if persons is None else [persons],
        PROMPT_FORMATS: format_sources(differences, may_grow=False),
    }
    names = [name for name, sources in sources_by_name.items() if sources]
    sources = [source for sources in sources_by_name.values() for source in sources]
    return OtherFactors(sources, " x ".join(names))


def join_parts(parts: Sequence[FactorsOfPart], number_count: int) -> OtherFactors:
    """Returns the variances of several parts as variances of all numbers.

    There are as many as the part with most of them has. They are NaN for numbers in no part, and 0
    in a part that has fewer.

    Args:
        parts: the parts.
        number_count: the number of all numbers.
    """
    most = max(
        (part.factors for part in parts),
        key=lambda factors: len(factors.sources),
        default=NO_OTHER_FACTORS,
    )
    sources = [
        VarianceSource(np.full(number_count, np.nan), np.zeros(number_count)) for _ in most.sources
    ]
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
    keys: pl.DataFrame,
    sums: Sums,
    places: Sequence[int],
    other_sums: Sums,
    other_places: Sequence[int],
) -> Sums:
    """Subtracts the sums of two models, so that the means of units are subtracted.

    Args:
        keys: the columns `ROW` of the numbers.
        sums: the sums of one model.
        places: the positions of the numbers there, -1 if absent.
        other_sums: the sums of the model that is subtracted.
        other_places: the positions of the numbers there, -1 if absent.

    Returns:
        Sums along the factors that both have, with the settings of `sums`.
    """
    along = {}
    for factor, own_along in sums.along.items():
        other_along = other_sums.along.get(factor)
        if other_along is None:
            continue
        units = list(dict.fromkeys([*own_along.units, *other_along.units]))
        unit_sums = aligned(own_along, units, places)
        other_unit_sums = aligned(other_along, units, other_places)
        along[factor] = Along(units, subtract_units(unit_sums, other_unit_sums))
    return replace(sums, keys=keys, along=along)


def aligned(along: Along, units: Sequence[str], places: Sequence[int]) -> FloatArray:
    """Returns the sums of some numbers over some units, 0 if a number or unit is absent.

    Args:
        along: sums over the units of one model.
        units: the units of both models, all of `along` among them.
        places: the positions of the numbers in `along`, -1 if absent.

    Returns:
        Shape (numbers, units, columns).
    """
    sums = np.zeros((len(places), len(units), along.sums.shape[2]))
    columns = [units.index(unit) for unit in along.units]
    for number, place in enumerate(places):
        if place >= 0:
            sums[number, columns] = along.sums[place]
    return sums


def subtract_units(sums: FloatArray, other_sums: FloatArray) -> FloatArray:
    """Subtracts the means of two models, unit by unit, and keeps the counts of the first.

    Args:
        sums: shape (numbers, units, columns): sum, count, sum, count, ...
        other_sums: likewise.

    Returns:
        The same shape; sum and count are 0 if one of the models has no case.
    """
    differences = np.zeros_like(sums)
    for column in range(0, sums.shape[2], 2):
        totals, counts = sums[..., column], sums[..., column + 1]
        other_totals, other_counts = other_sums[..., column], other_sums[..., column + 1]
        has_both = (counts > 0) & (other_counts > 0)
        means = divide(totals, counts) - divide(other_totals, other_counts)
        differences[..., column] = np.where(has_both, means * counts, 0)
        differences[..., column + 1] = np.where(has_both, counts, 0)
    return differences
