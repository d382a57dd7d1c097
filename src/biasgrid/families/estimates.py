"""The stage `statistics`, the same for all families: sums of a cell become measures with their
intervals.

A family that makes numbers of several sums has a function `derive` in its module `measures`; one
whose sums become numbers in ways of its own has `finishes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.references import load, stage
from biasgrid.families.measures import with_outcomes
from biasgrid.stats.estimate import estimate
from biasgrid.stats.noise.control import beyond_control, control_sizes
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Sums, read_cell_sums
from biasgrid.stats.verdicts.sizes import LARGEST_GAP, largest_gaps, with_tests_of_sizes
from biasgrid.tables.completeness import Check, check_rows, withhold_invalid, withholds_all
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURE_KEYS, MEASURES, ROW, table_of_cell
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
            `noise.control.control_sizes`. Empty for a cell of which anything is withheld.
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
    options: Mapping[str, Any],
    declared: MetricDefinitions,
    settings: StatisticsSettings,
) -> EstimatedCell:
    """Estimates the numbers of a cell.

    Args:
        family: the reference of the dataset's family.
        sums: the cell's sums (schema `SUMS`).
        options: what decides the measures, see `Question`.
        declared: headlines and limits; if a limit withholds the claims of the cell, these have no
            values.
        settings: clusters, level and the like.
    """
    model, dataset = sums.select("model", "dataset").row(0)
    parts, plain = read_cell_sums(family, sums, options)
    found = numbers_of_parts(family, parts, plain, options, settings)
    checks = check_rows(clusters(parts, settings) if CLUSTERS in declared.limits else ())
    estimates = with_tests_of_sizes(
        found.estimates, getattr(load(stage(family, "measures")), "TESTS_OF_SIZES", {})
    )
    if LARGEST_GAP in declared.names:
        estimates = pl.concat(
            [estimates, largest_gaps(estimates, declared.counted)], how="diagonal_relaxed"
        )
    rows = pl.concat([estimates, checks], how="diagonal_relaxed").with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    is_claim = pl.col("is_claim").fill_null(value=True)
    claims = rows.filter(is_claim).with_columns(
        reason=pl.when(pl.col("low").is_null())
        .then(pl.col("reason").fill_null(NOT_A_SAMPLE))
        .otherwise("reason"),
        left_out=pl.col("left_out").fill_null(0),
    )
    measures = withhold_invalid(
        table_of_cell(in_order(claims, MEASURES), MEASURES, model, dataset), declared
    )
    is_withheld = measures["flag"].str.starts_with(NOT_MEASURABLE).any()
    others = table_of_cell(in_order(rows.filter(~is_claim), INTERVALS), INTERVALS, model, dataset)
    return EstimatedCell(
        measures,
        withhold_intervals(others, measures),
        table_of_cell(found.design, DESIGN, model, dataset),
        [] if is_withheld else control_sizes(found.estimates),
        withholds_all(measures, declared),
    )


def numbers_of_cell(
    family: str, sums: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellNumbers:
    """Returns the estimates of a cell, those that are made of several sums among them, and its
    design.
    """
    return numbers_of_parts(family, *read_cell_sums(family, sums, options), options, settings)


def numbers_of_parts(
    family: str,
    parts: Sequence[Sums],
    plain: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Does the same with what `read_cell_sums` returned."""
    known = estimate(parts, settings)
    others = plain.with_columns(is_claim=pl.lit(value=True)).drop(
        "model", "dataset", "factor", "units", "sums"
    )
    estimates = pl.concat([with_estimate_columns(known), others], how="diagonal_relaxed")
    derive = getattr(load(stage(family, "measures")), "derive", None)
    found: CellNumbers = (
        derive(estimates, parts, options, settings) if derive else CellNumbers(estimates)
    )
    with_all = with_outcomes(found.estimates, parts, settings)
    return found._replace(estimates=beyond_control(with_all, settings.controls, settings))


def clusters(parts: Sequence[Sums], settings: StatisticsSettings) -> Iterator[Check]:
    """Yields of how many clusters of templates the numbers of a cell are, if they are of
    templates.
    """
    of_templates = [part.clustered(settings.clusters) for part in parts if part.factor == TEMPLATES]
    present = {unit for part in of_templates for unit in units_present(part)}
    if present:
        yield Check(CLUSTERS, len(present), len(present))


def units_present(part: Sums) -> list[str]:
    """Returns the units of the first factor that any number has something of."""
    along = part.along[part.factor]
    return [along.units[place] for place in np.flatnonzero(along.present.any(axis=0)).tolist()]


def with_estimate_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns estimates with all columns that measures have, empty where nothing is known."""
    empty = empty_table(MEASURES).drop("model", "dataset")
    return pl.concat([empty, rows.cast({pl.Categorical: pl.String})], how="diagonal_relaxed")


def in_order(rows: pl.DataFrame, schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Sorts estimates by measure, options and keys, and takes the columns of a schema that they
    have.
    """
    columns = [name for name in schema.columns if name in rows.columns]
    return rows.select(columns).sort("measure", "options", *MEASURE_KEYS, maintain_order=True)


def withhold_intervals(intervals: pl.DataFrame, measures: pl.DataFrame) -> pl.DataFrame:
    """Leaves out the intervals of numbers that are withheld."""
    withheld = measures.filter(pl.col("value").is_null()).select(ROW)
    return intervals.join(
        withheld, on=list(ROW), how="anti", nulls_equal=True, maintain_order="left"
    )
