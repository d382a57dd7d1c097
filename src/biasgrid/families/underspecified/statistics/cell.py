"""How sure the measures of underspecified questions are, and where their variance is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.underspecified.measure import MEANS_OF_GROUPS, records_of_subjects
from biasgrid.families.underspecified.observe import answered_groups, both_sides, stereotype_sides
from biasgrid.families.underspecified.statistics.parts import TESTED_MEASURE, statistics_of_parts
from biasgrid.families.underspecified.statistics.sources import clusters_of_cell, effects_of, variances_of
from biasgrid.families.underspecified.statistics.sums import SwapGroups
from biasgrid.families.underspecified.statistics.whole import means_of_groups, statistics_of_whole
from biasgrid.groups.uncertainty.table import statistics_of_groups
from biasgrid.stats.settings import CellStatistics, StatisticsSettings
from biasgrid.tables.metric import STEREOTYPE_AGREEMENT

__all__ = ["statistics"]


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellStatistics:
    """Finds how sure the measures of a cell are.

    Args:
        observations: from `observe.compare_subjects`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: clusters, level and the like.
    """
    known = answered_groups(observations)
    if known.is_empty():
        return CellStatistics(pl.DataFrame())
    groups = SwapGroups.of(known, settings.clusters)
    parts, prior = statistics_of_parts(groups, settings)
    whole, gamma = statistics_of_whole(groups, {name: known[name].to_numpy() for name in MEANS_OF_GROUPS}, settings)
    effects = effects_of(gamma, prior, q_of_associations(parts))
    tables = [parts, whole]
    if "stereotypes" in options:
        tables.append(statistics_of_agreement(known, options["stereotypes"], settings))
    if options.get("measures", []) != []:
        asked = options["measures"], options["failure_threshold"]
        tables.append(statistics_of_groups(records_of_subjects(known), *asked, settings))
    return CellStatistics(
        statistics=pl.concat(tables, how="diagonal_relaxed"),
        variances=pl.concat([variances_of(groups, known, gamma), effects], how="diagonal_relaxed"),
        clusters=clusters_of_cell(groups, gamma, known["template"].to_numpy()),
        by_template=statistics_by_template(known),
    )


def statistics_of_agreement(
    observations: pl.DataFrame, stereotypes: Mapping[str, str], settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of the agreement with stereotypes, none where nothing of them was answered.

    Args:
        observations: from `observe.compare_subjects`, those that were answered.
        stereotypes: see `stereotypes.stereotype_sides`.
        settings: clusters, level and the like.
    """
    sides = stereotype_sides(observations, stereotypes)
    asked = observations.filter(pl.Series(sides != 0))
    if asked.is_empty():
        return pl.DataFrame()
    groups = SwapGroups.of(asked, settings.clusters)
    rows = means_of_groups(groups, STEREOTYPE_AGREEMENT, sides[sides != 0] * groups.comparison, (-1, 1), settings)
    return rows.with_columns(options=pl.lit(""))


def q_of_associations(parts: pl.DataFrame) -> FloatArray:
    """Returns the q of all associations over templates, NaN where there is none."""
    rows = parts.filter(measure=TESTED_MEASURE, generalises_to="templates").drop_nulls(["subject", "attribute"])
    q: FloatArray = rows["q"].fill_null(float("nan")).to_numpy()
    return q


def statistics_by_template(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of `BY_TEMPLATE`: what there is to know of a cell without its predictions.

    Args:
        observations: from `observe.compare_subjects`, those that were answered.
    """
    seen = both_sides(observations).with_columns(
        *(pl.concat([observations[name].cast(pl.Float64)] * 2) for name in MEANS_OF_GROUPS)
    )
    keys = ["subject", "other_group", "attribute", "template"]
    means = seen.group_by(keys).agg(
        n=pl.len(),
        comparison=pl.col("comparison").mean(),
        sign=pl.col("comparison").sign().mean(),
        wins=(pl.col("comparison") > 0).mean(),
        **{name: pl.col(name).mean() for name in MEANS_OF_GROUPS},
    )
    return means.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort(keys)
