"""How sure the measures of statements are; repetitions of a statement stay within their cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.statement.measure import (
    CLASS_PARTS,
    TableParts,
    answered_in_comparable_domains,
    class_records,
    float_column,
    measures_of_statements,
    pairs_with_negations,
)
from biasgrid.families.statement.observe import by_class
from biasgrid.groups.uncertainty.differences import difference_rows
from biasgrid.groups.uncertainty.matrix import scores_of_terms
from biasgrid.groups.uncertainty.table import statistics_of_groups
from biasgrid.stats.clusters import clusters_of_templates
from biasgrid.stats.estimate import jackknife_measures
from biasgrid.stats.settings import CellStatistics, StatisticsSettings
from biasgrid.tables.metric import options_text

__all__ = ["statistics"]

AGREEMENT_IN_CASES = options_text(score="agreement", mode="counterfactual")


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellStatistics:
    """Finds how sure the measures of a cell are.

    Args:
        observations: from `observe`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: clusters, level and the like.

    Returns:
        Beside the cell's measures agreement and acquiescence, of statements that have a negation, and by how much
        classes differ in agreement.
    """
    tables = [jackknife_measures(measures_of_clusters, observations, options, settings)]
    several = answered_in_comparable_domains(by_class(observations))
    if len(several):
        asked = options["measures"], options["failure_threshold"]
        tables.append(statistics_of_groups(class_records(several), *asked, settings))
        tables += differences_of_classes(several, settings)
    return CellStatistics(pl.concat([table for table in tables if len(table)], how="diagonal_relaxed"))


def measures_of_clusters(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures some of the clusters of a cell: all but comparisons of classes, and what is of single templates."""
    exploded = by_class(observations)
    parts = [(observations, ()), *((exploded, keys) for keys in CLASS_PARTS)]
    tables = [
        rows for table, keys in parts for rows in (*measures_of_statements(table, keys), *agreement_rows(table, keys))
    ]
    return pl.concat(tables, how="diagonal").with_columns(options=pl.lit(""))


def agreement_rows(table: pl.DataFrame, keys: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yields agreement and acquiescence of the parts of a table."""
    pairs = pairs_with_negations(table)
    parts = TableParts.of(pairs, keys)
    stated, negated = (float_column(pairs, name) for name in ("share", "share negated"))
    yield parts.rows("agreement", *parts.means((stated - negated) / 2))
    yield parts.rows("acquiescence", *parts.means((stated + negated) / 2 - 0.5))


def differences_of_classes(answered: pl.DataFrame, settings: StatisticsSettings) -> Iterator[pl.DataFrame]:
    """Yields by how much classes differ in agreement.

    Args:
        answered: rows of `by_class` that have an answer.
        settings: clusters, level and the like.
    """
    pairs = pairs_with_negations(answered).drop_nulls(["share", "share negated"])
    if pairs.is_empty():
        return
    asked = class_records(pairs)
    values = (float_column(pairs, "share") - float_column(pairs, "share negated")) / 2
    cluster = clusters_of_templates(asked.template.astype(np.int64), settings.clusters)
    for scores in scores_of_terms(asked, values, cluster):
        rows = difference_rows(scores, settings)
        yield rows.with_columns(measure=pl.lit("difference"), options=pl.lit(AGREEMENT_IN_CASES))
