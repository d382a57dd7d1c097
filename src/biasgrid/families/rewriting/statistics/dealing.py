"""Distances of scores: how far apart groups are that make no difference, by dealing answers to them anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.metric import options_of
from biasgrid.tables.statistics import NO_METHOD


def distances(
    rows: pl.DataFrame, measured: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns noise floor and p of the distances of scores, and what is beyond the noise floor; of the cell their means.

    Args:
        rows: observations, with the `place` of the prompt.
        measured: the cell's measures.
        options: see `measure.measure`.
        settings: how many dealings are drawn, and their seed.
    """
    found: list[dict[str, Any]] = []
    for row in measured.filter(measure="score_distance").drop_nulls("group").to_dicts():
        score = options_of(row["options"])["score"]
        chosen = rows.filter(
            pl.col("other").is_null(), pl.col("group").is_in([row["group"], row["other"]]), score=score
        )
        null_mean, p = dealt(chosen.drop_nulls("value"), row["group"], settings)
        found.append(row | {"null_mean": null_mean, "p": p, "method": f"dealing ({settings.permutations})"})
    if not found:
        return pl.DataFrame()
    table = pl.DataFrame(found, infer_schema_length=None)
    means = table.group_by("measure", "options", maintain_order=True).agg(pl.col("value", "null_mean").mean())
    means = means.join(
        measured.filter(pl.col("group").is_null()).select("measure", "options", "n"), on=["measure", "options"]
    )
    both = pl.concat([table, means], how="diagonal_relaxed").with_columns(method=pl.col("method").fill_null(NO_METHOD))
    beyond = both.with_columns(
        measure=pl.lit("score_distance_corrected"),
        value=pl.col("value") - pl.col("null_mean"),
        method=pl.lit(NO_METHOD),
    ).drop("null_mean", "p")
    clusters = rows["place"].n_unique()
    return pl.concat([both, beyond], how="diagonal_relaxed").with_columns(
        generalises_to=pl.lit("templates"), clusters=clusters
    )


def dealt(known: pl.DataFrame, group: str, settings: StatisticsSettings) -> tuple[float, float]:
    """Deals the scores of two groups anew within each prompt: so far apart are groups that make no difference.

    Args:
        known: the scores of both groups, with `group` and `place`.
        group: one of them.
        settings: how many dealings are drawn, and their seed.

    Returns:
        The mean of the Wasserstein-1 distance over dealings, and the share of them in which it is at least as large.
    """
    ordered = known.sort("value", "place", "group")
    values, prompt = ordered["value"].to_numpy(), ordered["place"].to_numpy()
    is_first = (ordered["group"] == group).to_numpy()
    first, second = int(is_first.sum()), int((~is_first).sum())
    if not first or not second:
        return np.nan, np.nan
    widths, order = np.diff(values), np.argsort(prompt, kind="stable")
    labels, of_prompt = is_first[order], prompt[order]

    def distance(firsts: BoolArray) -> FloatArray:
        weights = np.where(firsts, 1 / first, -1 / second)
        return np.asarray(np.abs(weights.cumsum(axis=1)[:, :-1]) @ widths)

    random, observed = np.random.default_rng(settings.seed), float(distance(is_first[None])[0])
    total, at_least, left = 0.0, 0, settings.permutations
    while left:
        count = min(left, max(1, VALUES_AT_ONCE // len(values)))
        # Within each prompt the rows come in a random order, and take the labels one after another.
        keys = np.argsort(of_prompt + random.random((count, len(values))), axis=1)
        firsts = np.empty((count, len(values)), dtype=np.bool_)
        np.put_along_axis(firsts, order[keys], np.broadcast_to(labels, firsts.shape), axis=1)
        some = distance(firsts)
        total, at_least, left = total + some.sum(), at_least + int((some >= observed - TOLERANCE).sum()), left - count
    return total / settings.permutations, (at_least + 1) / (settings.permutations + 1)
