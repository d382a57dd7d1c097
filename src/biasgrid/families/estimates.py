"""The stage `statistics`, the same for all families: sums become measures with intervals.

A family that makes numbers of several sums has a function `derive` in its module `measures`; one
whose sums become numbers in ways of its own has `finishes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.references import load, stage_module
from biasgrid.families.outcomes import with_outcomes
from biasgrid.stats.control import beyond_control, control_sizes
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Sums, read_cell_sums
from biasgrid.stats.verdicts.sizes import LARGEST_GAP, largest_gaps, with_size_tests
from biasgrid.tables.completeness import Check, check_rows, withhold_invalid, withholds_all
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURE_KEYS, MEASURES, ROW, cell_table
from biasgrid.tables.metric import NOT_MEASURABLE, MetricDefinitions

CLUSTERS = "clusters"
"""The flag against cells of few clusters."""
NOT_A_SAMPLE = "no sample of templates, items or prompts decides it"
"""Why numbers that are not made of sums have no interval, where they do not say it themselves."""


class EstimatedCell(NamedTuple):
    """The numbers of a cell.

    Attributes:
        measures: schema `MEASURES`: every number once, over what it is a claim about.
        intervals: schema `INTERVALS`: the same numbers over other factors, where these are known.
        design: schema `DESIGN`.
        sizes: how large its tested numbers are, for the dataset whose control it is; see
            `stats.control.control_sizes`. Empty for a cell of which anything is withheld.
        is_withheld: whether all claims of the cell are withheld.
    """

    measures: pl.DataFrame
    intervals: pl.DataFrame
    design: pl.DataFrame
    sizes: Sequence[Mapping[str, Any]]
    is_withheld: bool


def estimate_cell(
    family: str,
    sums: pl.DataFrame,
    measure_options: Mapping[str, Any],
    declared: MetricDefinitions,
    settings: StatisticsSettings,
) -> EstimatedCell:
    """Estimates the numbers of a cell.

    Args:
        family: the reference of the dataset's family.
        sums: the cell's sums (schema `SUMS`).
        measure_options: the options that decide the measures, see `Question`.
        declared: headlines and limits; if a limit withholds the claims of the cell, these have no
            values.
        settings: clusters, level and the like.
    """
    model, dataset = sums.select("model", "dataset").row(0)
    parts, plain = read_cell_sums(family, sums, measure_options)
    numbers = numbers_of_parts(family, parts, plain, measure_options, settings)
    tests_of_sizes = getattr(load(stage_module(family, "measures")), "TESTS_OF_SIZES", {})
    tables = [with_size_tests(numbers.estimates, tests_of_sizes)]
    if LARGEST_GAP in declared.measure_names:
        tables.append(largest_gaps(tables[0], declared.counted_measures))
    checks = check_rows(clusters(parts, settings) if CLUSTERS in declared.limits else ())
    rows = pl.concat([*tables, checks], how="diagonal_relaxed")
    # Tables have null, not NaN, for what is not known.
    rows = rows.with_columns(pl.col(pl.Float64).fill_nan(None))
    is_claim = pl.col("is_claim").fill_null(value=True)
    claims = with_reasons(rows.filter(is_claim))
    claims = cell_table(in_order(claims, MEASURES), MEASURES, model, dataset)
    measures = withhold_invalid(claims, declared)
    intervals = in_order(rows.filter(~is_claim), INTERVALS)
    intervals = cell_table(intervals, INTERVALS, model, dataset)
    is_withheld = measures["flag"].str.starts_with(NOT_MEASURABLE).any()
    return EstimatedCell(
        measures,
        withhold_intervals(intervals, measures),
        cell_table(numbers.design, DESIGN, model, dataset),
        [] if is_withheld else control_sizes(numbers.estimates),
        withholds_all(measures, declared),
    )


def with_reasons(claims: pl.DataFrame) -> pl.DataFrame:
    """Completes `reason` of claims without an interval, and `left_out`, which is 0 by default."""
    has_interval = pl.col("low").is_not_null()
    reason = pl.col("reason").fill_null(NOT_A_SAMPLE)
    return claims.with_columns(
        reason=pl.when(has_interval).then("reason").otherwise(reason),
        left_out=pl.col("left_out").fill_null(0),
    )


def numbers_of_parts(
    family: str,
    parts: Sequence[Sums],
    plain: pl.DataFrame,
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Returns the estimates of a cell, those made of several sums included, and its design.

    Args:
        family: the reference of the dataset's family.
        parts: the sums, from `read_cell_sums`.
        plain: the numbers that are not made of sums, likewise.
        measure_options: the options that decide the measures, see `Question`.
        settings: clusters, level and the like.
    """
    of_sums = with_estimate_columns(estimate(parts, settings))
    of_tables = plain.with_columns(is_claim=pl.lit(value=True))
    of_tables = of_tables.drop("model", "dataset", "factor", "units", "sums")
    estimates = pl.concat([of_sums, of_tables], how="diagonal_relaxed")
    numbers = CellNumbers(estimates)
    derive = getattr(load(stage_module(family, "measures")), "derive", None)
    if derive:
        numbers = derive(estimates, parts, measure_options, settings)
    with_all = with_outcomes(numbers.estimates, parts, settings)
    return numbers._replace(estimates=beyond_control(with_all, settings.controls, settings))


def clusters(parts: Sequence[Sums], settings: StatisticsSettings) -> Iterator[Check]:
    """Yields the number of template clusters behind the numbers of a cell, if there are any."""
    present: set[str] = set()
    for part in parts:
        if part.factor == TEMPLATES:
            present.update(units_present(part.clustered(settings.clusters)))
    if present:
        yield Check(CLUSTERS, len(present), len(present))


def units_present(part: Sums) -> list[str]:
    """Returns the units of the first factor that any number has something of."""
    along = part.along[part.factor]
    places = np.flatnonzero(along.present.any(axis=0))
    return [along.units[place] for place in places.tolist()]


def with_estimate_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns estimates with all columns that measures have, empty where nothing is known."""
    empty = empty_table(MEASURES).drop("model", "dataset")
    return pl.concat([empty, rows.cast({pl.Categorical: pl.String})], how="diagonal_relaxed")


def in_order(rows: pl.DataFrame, schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Sorts estimates by measure, options and keys, and selects the columns of a schema."""
    columns = [name for name in schema.columns if name in rows.columns]
    return rows.select(columns).sort("measure", "options", *MEASURE_KEYS, maintain_order=True)


def withhold_intervals(intervals: pl.DataFrame, measures: pl.DataFrame) -> pl.DataFrame:
    """Leaves out the intervals of numbers that are withheld."""
    withheld = measures.filter(pl.col("value").is_null()).select(ROW)
    return intervals.join(
        withheld, on=list(ROW), how="anti", nulls_equal=True, maintain_order="left"
    )
