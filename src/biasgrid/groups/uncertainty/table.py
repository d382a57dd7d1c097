"""How sure all measures of the groups of a cell are, as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Records
from biasgrid.groups.scores import ScoredRecords, score_records
from biasgrid.groups.tables import CURVE, RequestedComparison, requested_comparisons
from biasgrid.groups.uncertainty.differences import difference_rows
from biasgrid.groups.uncertainty.matrix import scores_of_terms
from biasgrid.groups.uncertainty.permutation import GroupPermutation, permute_groups
from biasgrid.groups.uncertainty.scores import cases_over_clusters, failures_over_clusters, scores_over_clusters
from biasgrid.stats.clusters import clusters_of_templates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.metric import options_text
from biasgrid.tables.statistics import ROW

WITH_NULL = ("bias_type", "measure", "options")


def statistics_of_groups(
    records: Records, asked: Sequence[Mapping[str, Any]] | None, threshold: float, settings: StatisticsSettings
) -> pl.DataFrame:
    """Says how sure the measures of groups are, and compares each pair of groups with its sign.

    Args:
        records: what was said of every group.
        asked: which comparisons are made; see `groups.tables.measure_groups`.
        threshold: the failure threshold.
        settings: clusters, level and the like.

    Returns:
        Rows of `STATISTICS`: beside those of the measures the signed differences of groups (`difference`), and of
        distances and failure rates what arbitrary sets of the terms would give (`null_mean`, and over subjects p).
    """
    sort = records.outputs.sort
    main = RequestedComparison(MAIN_SCORES[sort], None, "absolute", "pairwise")
    chosen = requested_comparisons(sort) if asked is None else [RequestedComparison(**each) for each in asked]
    wanted = list(dict.fromkeys([*chosen, main]))
    cluster = clusters_of_templates(records.template, settings.clusters)
    scored = {key: score_records(records, *key) for key in dict.fromkeys(each[:2] for each in wanted)}
    tables = [scores_over_clusters(each, cluster, settings) for each in scored.values()]
    for each in wanted:
        tables += list(cases_over_clusters(scored[each[:2]], each, cluster, settings))
    curve = failures_over_clusters(records, cluster_lookup(records, cluster), sorted({*CURVE, threshold}), settings)
    tables += [compared_at(rates, threshold) for rates in curve]
    signed, permuted = of_main_score(scored[main[:2]], cluster, threshold, settings)
    known = pl.concat([table for table in tables if len(table)], how="diagonal_relaxed")
    return pl.concat([add_null_means(known, permuted), *signed, permuted], how="diagonal_relaxed")


def compared_at(rates: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Returns failure rates of which those at a threshold alone are what models are compared by."""
    is_chosen = pl.col("options").str.ends_with(options_text(threshold=float(threshold)))
    return rates.with_columns(without=pl.when(is_chosen).then("without"))


def cluster_lookup(records: Records, cluster: IntArray) -> Any:
    """Returns a function that gives the clusters of templates."""
    of_template = np.zeros(int(records.template.max()) + 1, dtype=np.int64)
    of_template[records.template] = cluster
    return of_template.__getitem__


def of_main_score(
    scored: ScoredRecords, cluster: IntArray, threshold: float, settings: StatisticsSettings
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Returns the signed differences of the main score, and the permutation tests of its distances."""
    signed, permuted = [], [pl.DataFrame(schema=dict.fromkeys(WITH_NULL, pl.String) | {"null_mean": pl.Float64})]
    for scores in scores_of_terms(scored.records, scored.values, cluster):
        options = options_text(score=scored.score, mode=EACH_CASE)
        rows = difference_rows(scores, settings)
        signed.append(rows.with_columns(measure=pl.lit("difference"), options=pl.lit(options)))
        permutation = permute_groups(scores, threshold, settings.permutations, settings.seed)
        if permutation is not None:
            rows_of = permutation_rows(scored.score, permutation, threshold)
            clusters, n = int(scores.cluster.max()) + 1, len(scores.cluster)
            names = {"bias_type": scores.bias_type, "generalises_to": "subjects", "clusters": clusters, "n": n}
            permuted.append(pl.DataFrame([{**names, **row} for row in rows_of]))
    return signed, pl.concat(permuted, how="diagonal_relaxed")


def permutation_rows(score: str, permutation: GroupPermutation, threshold: float) -> Iterator[dict[str, Any]]:
    """Yields measure, options, value, noise floor and p of what the permutation test found."""
    method = f"permutation ({'exact' if permutation.exact else permutation.tried})"
    for name, found in permutation.found.items():
        kind, _, where = name.partition(" ")
        if kind == "fails":
            options = options_text(difference=where.removeprefix("by "), threshold=float(threshold))
        else:
            mode = EACH_CASE if where else ALL_CASES
            options = options_text(score=score, distance="absolute", comparison=kind, mode=mode)
        measure = "failure_rate" if kind == "fails" else "distance"
        yield {"measure": measure, "options": options, **found._asdict(), "method": method}


def add_null_means(rows: pl.DataFrame, permuted: pl.DataFrame) -> pl.DataFrame:
    """Adds the noise floors that the permutation test found to the rows of whole bias types over templates."""
    null_means = permuted.select(*WITH_NULL, "null_mean")
    joined = rows.join(null_means, on=list(WITH_NULL), how="left", maintain_order="left")
    about = [pl.col(key).is_null() for key in ROW if key in rows.columns and key not in WITH_NULL]
    return joined.with_columns(pl.when(about).then("null_mean").alias("null_mean"))
