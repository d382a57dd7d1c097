"""How sure the measures of rewritten prompts are: prompts are the sample, their repetitions stay within them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.rewriting.section import NEUTRAL
from biasgrid.families.rewriting.statistics.dealing import distances
from biasgrid.families.rewriting.statistics.further import harms, lists
from biasgrid.families.rewriting.statistics.means import jackknifed
from biasgrid.families.rewriting.statistics.parts import NAMED
from biasgrid.stats.estimate import column_numbers, jackknife, statistics_rows
from biasgrid.stats.intervals import VarianceSource, p_values
from biasgrid.stats.multiplicity import false_discovery_rates
from biasgrid.stats.settings import Found, StatisticsSettings
from biasgrid.tables.statistics import ROW

__all__ = ["statistics"]

TESTED = ("similarity_corrected", "score_difference")
"""Measures that are 0 where groups are treated alike."""


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> Found:
    """Leaves out each prompt in turn; of distances of scores, deals answers anew between two groups.

    Args:
        observations: from `observe`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: level, seed and the like.

    Returns:
        Rows over templates, which are prompts here. Distances of scores have a noise floor and p, see `dealt`, and what is
        beyond the noise floor is a row of its own; others have intervals, those of `TESTED` also p and q.
    """
    prompts = observations.select("prompt").unique().sort("prompt").with_row_index("place")
    rows = observations.cast({pl.Categorical: pl.String}).join(prompts, on="prompt", maintain_order="left")
    measured = measures.select(*ROW, "value", "n")
    further = [*harms(rows, len(prompts), options["harms"]), *lists(rows, len(prompts))]
    rows = rows.filter(pl.col("group") != NEUTRAL, pl.col("other").fill_null("") != NEUTRAL)
    found = [*jackknifed(rows, prompts, options), *further]
    table = pl.concat([each.rows for each in found], how="diagonal_relaxed")
    without, has = (np.concatenate([each[place] for each in found]) for place in (1, 2))
    # What is nothing without one of its prompts hangs on that one: nobody knows how sure it is.
    undefined = (has & np.isnan(without)).any(axis=1, keepdims=True)
    variance, _ = jackknife(np.where(has & ~undefined, without, np.nan))
    whole = table.join(measured, on=NAMED, how="left", nulls_equal=True, maintain_order="left").select(measured.columns)
    clusters = has.sum(axis=1)
    intervals = with_tests(statistics_rows(whole, column_numbers(whole, "n"), variance, clusters, settings), settings)
    return Found(pl.concat([intervals, distances(rows, measured, options, settings)], how="diagonal_relaxed"))


def with_tests(rows: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Adds p of what is 0 where groups are treated alike, and q over the pairs of groups of one measure and score."""
    tested = rows["measure"].is_in(TESTED).to_numpy()
    source = VarianceSource(column_numbers(rows, "se") ** 2, column_numbers(rows, "df"))
    p = np.where(tested, p_values(column_numbers(rows, "value"), [source]), np.nan)
    q = np.full(len(rows), np.nan)
    of_pairs = rows.with_row_index("row").filter(pl.col("other").is_not_null())
    for _, part in of_pairs.group_by("measure", "options", maintain_order=True):
        places = part["row"].to_numpy()
        q[places] = false_discovery_rates(p[places], settings.fdr)
    return rows.with_columns(p=p, q=q)
