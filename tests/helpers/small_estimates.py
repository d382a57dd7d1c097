"""Measures and estimates of small cells, by the way that the stages of a run take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.references import load, stage_module
from biasgrid.families.cell import measured_values, parts_of
from biasgrid.families.estimates import numbers_of_parts
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import read_cell_sums, sums_table, values_table
from biasgrid.tables.measures import CELL, DESIGN, MEASURES, cell_table
from biasgrid.tables.metric import Measure
from biasgrid.tables.sums import SUMS


def measures_of_cell(
    family: str, observations: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """The values of a cell, without their intervals: rows of `MEASURES`."""
    measured = measured_values(
        load(stage_module(reference(family), "measures")).measure, observations, options
    )
    return as_measures(measured)


def measures_of_sums(family: str, sums: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """The values of a table of sums, and the flags in it: rows of `MEASURES`."""
    parts, plain = read_cell_sums(reference(family), sums, options)
    return as_measures(values_table([*parts, plain]))


def sums_of_cell(
    family: str,
    observations: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings | None = None,
) -> pl.DataFrame:
    """The table of sums of a cell."""
    measure = load(stage_module(reference(family), "measures")).measure
    parts = parts_of(measure, observations, options, settings or StatisticsSettings())
    return cell_table(sums_table(parts), SUMS, "model", "dataset")


def numbers_of(
    family: str,
    observations: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """The estimates and the design of a cell, of its table of sums."""
    sums = sums_of_cell(family, observations, options, settings)
    found = numbers_of_parts(
        reference(family),
        *read_cell_sums(reference(family), sums, options),
        options,
        settings,
    )
    columns = [name for name in MEASURES.columns if name in found.estimates.columns]
    return found._replace(
        estimates=found.estimates.select(*columns, "is_claim").with_columns(
            pl.col(pl.Float64).fill_nan(None)
        ),
        design=cell_table(found.design, DESIGN, "model", "dataset"),
    )


def estimates_of(
    family: str,
    observations: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """The estimates of a cell, a row for all that each number may generalise over."""
    return numbers_of(family, observations, options, settings).estimates


def settings_of(definitions: Mapping[str, Measure], **chosen: Any) -> StatisticsSettings:
    """The settings of a cell of some measures, between whose ends intervals lie."""
    units = {name: measure.unit for name, measure in definitions.items()}
    ranges = {
        name: measure.range for name, measure in definitions.items() if measure.range is not None
    }
    return StatisticsSettings(units=units, ranges=ranges, **chosen)


def as_measures(values: pl.DataFrame) -> pl.DataFrame:
    """Values in the columns of `MEASURES`."""
    own = [name for name in MEASURES.columns if name in values.columns and name not in CELL]
    return cell_table(values.select(own), MEASURES, "model", "dataset")


def reference(family: str) -> str:
    """The reference of a family, by its name."""
    return f"biasgrid.families.{family}"


def over(rows: pl.DataFrame, factors: str) -> pl.DataFrame:
    """Estimates over `clusters` alone, over `names` alone, or over `all` factors."""
    chosen = pl.col("generalises_to")
    if factors == "all":
        return rows.filter(chosen.str.starts_with("clusters x "))
    return rows.filter(
        chosen.is_in(["names", "terms"]) if factors == "names" else chosen == factors
    )
