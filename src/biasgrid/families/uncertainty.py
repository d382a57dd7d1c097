"""The stage `statistics`, the same for all families: how sure the measures of a cell are.

A family whose observations have a column `template` gets intervals of the measures that declare `template` in their
`design`: the cell is measured anew without each cluster. One that can say more has a function `statistics`, in a module
of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.references import exists, load, stage
from biasgrid.families.cell import observe_cell
from biasgrid.stats.estimate import jackknife_measures
from biasgrid.stats.settings import CellStatistics, StatisticsSettings
from biasgrid.tables.completeness import are_headlines
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.metric import NOT_MEASURABLE
from biasgrid.tables.statistics import NO_METHOD, RANDOM_FACTORS, ROW, STATISTICS_TABLES

STATISTIC_COLUMNS = ("value", "low", "high", "selected_low", "selected_high", "se", "df", "p", "q", "holm", "null_mean")


def statistics_of_cell(
    family: str,
    instances_path: Path,
    prediction_paths: Sequence[Path],
    answer: str,
    options: Mapping[str, Any],
    measures: pl.DataFrame,
    headlines: Mapping[str, str],
    settings: StatisticsSettings,
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> CellStatistics:
    """Says how sure the measures of a cell are.

    Args:
        family: the reference of the dataset's family.
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        answer: the kind of the answers.
        options: what decides the measures, see `Question`.
        measures: the cell's measures (schema `MEASURES`).
        headlines: the options of the measures that stand in the summary; of a cell whose headlines are withheld, theirs
            are too.
        settings: clusters, level and the like.
        scorer_predictions: what other models said of its texts, from `read_scorers`.

    Returns:
        Tables of the schemas in `TABLES`.

    Raises:
        TableError: a file does not fit its schema, or its rows contradict each other.
        IncompleteCell: not every instance has exactly one prediction.
    """
    model, dataset = measures.select("model", "dataset").row(0)
    name = f"{model} on {dataset}"
    observations = observe_cell(family, instances_path, prediction_paths, answer, options, name, scorer_predictions)
    found = statistics_of_family(family, observations, measures, options, settings)
    statistics = withhold_headlines(with_unknown_rows(found.statistics, measures, settings), measures, headlines)
    compared = pl.DataFrame() if is_withheld(measures) else values_without_clusters(statistics)
    tables = found._replace(statistics=statistics, without_clusters=compared)._asdict()
    return CellStatistics(**{name: statistics_table(tables[name], name, model, dataset) for name in STATISTICS_TABLES})


def statistics_of_family(
    family: str,
    observations: pl.DataFrame,
    measures: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellStatistics:
    """Lets the family say how sure its measures are, or measures the cell anew without each cluster."""
    reference = stage(family, "statistics")
    own = getattr(load(reference), "statistics", None) if exists(reference) else None
    if own is not None:
        found: CellStatistics = own(observations, measures, options, settings)
        return found
    return CellStatistics(jackknife_measures(load(stage(family, "measure")).measure, observations, options, settings))


def with_unknown_rows(rows: pl.DataFrame, measures: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Adds a row for each measure and `generalises_to` of which nothing can be said."""
    measured = measures.filter(pl.col("measure").is_in(list(settings.units))).select(*ROW, "value", "n")
    overs = pl.DataFrame({"generalises_to": RANDOM_FACTORS})
    found = pl.concat(
        [empty_table(STATISTICS_TABLES["statistics"]).drop("model", "dataset"), rows], how="diagonal_relaxed"
    )
    known = found.join(measured, on=ROW, how="left", nulls_equal=True, maintain_order="left", suffix=" measured")
    known = known.with_columns(pl.coalesce(f"{name} measured", name).alias(name) for name in ("value", "n"))
    known = known.select(found.columns)
    unknown = measured.join(overs, how="cross").join(known, on=[*ROW, "generalises_to"], how="anti", nulls_equal=True)
    silent = unknown.with_columns(clusters=pl.lit(0, pl.Int64), method=pl.lit(NO_METHOD))
    places = {generalises_to: place for place, generalises_to in enumerate(RANDOM_FACTORS)}
    order = pl.col("generalises_to").replace_strict(places, return_dtype=pl.Int64)
    return pl.concat([known, silent], how="diagonal_relaxed").sort("measure", "options", *MEASURE_KEYS, order)


def withhold_headlines(rows: pl.DataFrame, measures: pl.DataFrame, headlines: Mapping[str, str]) -> pl.DataFrame:
    """Takes the numbers of headlines away where the cell's are withheld."""
    if not is_withheld(measures):
        return rows
    return rows.with_columns(
        *(pl.when(~are_headlines(headlines)).then(name).alias(name) for name in STATISTIC_COLUMNS),
        method=pl.when(are_headlines(headlines)).then(pl.lit(NO_METHOD)).otherwise("method"),
    )


def is_withheld(measures: pl.DataFrame) -> bool:
    """Says whether the headlines of a cell are withheld."""
    return bool(measures["flag"].drop_nulls().str.starts_with(NOT_MEASURABLE).any())


def values_without_clusters(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of `WITHOUT_CLUSTERS`: of the numbers that are known without each cluster and are not withheld."""
    if "without" not in rows.columns:
        return pl.DataFrame()
    known = rows.filter(generalises_to="templates").drop_nulls(["without", "value"])
    clusters = pl.col("without").list.len().max()
    # What has nothing of the last clusters tells so as what has nothing of others does.
    missing = pl.lit(None, pl.Float64).repeat_by(clusters - pl.col("without").list.len())
    return known.with_columns(without=pl.concat_list("without", missing))


def statistics_table(rows: pl.DataFrame, name: str, model: str, dataset: str) -> pl.DataFrame:
    """Returns rows in the columns and types of a table, NaN as null."""
    if rows.is_empty():
        return empty_table(STATISTICS_TABLES[name])
    empty = empty_table(STATISTICS_TABLES[name])
    named = rows.with_columns(model=pl.lit(model), dataset=pl.lit(dataset)).cast({pl.Categorical: pl.String})
    table = pl.concat([empty, named], how="diagonal_relaxed").cast(empty.schema).select(empty.columns)
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))
