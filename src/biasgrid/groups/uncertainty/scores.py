"""Intervals of the scores of groups, and of comparisons that are means over cases: jackknife over clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.groups.comparisons import by_group, compare_units, distances_of, group_scores
from biasgrid.groups.distances import measure_of_distance
from biasgrid.groups.failure_rate import case_differences
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Records, Units, units_of
from biasgrid.groups.scores import SCORES, ScoredRecords
from biasgrid.groups.tables import RequestedComparison, shared_columns
from biasgrid.stats.estimate import jackknife, jackknife_of_means, leave_one_out
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, wilson_interval
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.tables.metric import options_text
from biasgrid.tables.statistics import NO_METHOD


class NumberKeys(NamedTuple):
    """What a number is about; see `MEASURES`."""

    bias_type: str
    group: str | None = None
    other: str | None = None


def interval_rows(
    rows: Sequence[NumberKeys], values: FloatArray, n: IntArray, variance: FloatArray, clusters: IntArray,
    settings: StatisticsSettings,
    within: tuple[float, float],
) -> pl.DataFrame:  # fmt: skip
    """Returns rows of `STATISTICS` over templates, of numbers of which the variance over clusters is known."""
    source = VarianceSource(variance, (clusters - 1).astype(np.float64))
    low, high = interval_ends(values, half_width([source], settings.alpha), within)
    return pl.DataFrame(
        {
            **{name: [getattr(row, name) for row in rows] for name in NumberKeys._fields},
            "value": values,
            "low": low,
            "high": high,
            "se": np.sqrt(variance),
            "df": np.where(np.isnan(variance), np.nan, source.df),
            "n": n,
            "clusters": clusters,
            "method": np.where(np.isnan(low), NO_METHOD, "jackknife t"),
        },
        schema_overrides=dict.fromkeys(NumberKeys._fields, pl.String) | {"n": pl.Int64, "clusters": pl.Int64},
    ).with_columns(generalises_to=pl.lit("templates"))


def scores_over_clusters(scored: ScoredRecords, cluster: IntArray, settings: StatisticsSettings) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of the scores of groups and bias types, computed anew without each cluster.

    Args:
        scored: the records with their values of any score; of a set score there are no rows.
        cluster: shape (records,), the cluster of each.
        settings: level and units.
    """
    if SCORES[scored.score].reduce is None:
        return pl.DataFrame()
    units = units_of(scored.records, ALL_CASES)
    whole, without = all_scores(scored, units), []
    has = clusters_of_pools(units, cluster, scored)
    for each in range(has.shape[-1]):
        missing = (cluster == each).reshape(-1, *[1] * (scored.values.ndim - 1))
        without.append(all_scores(replace(scored, values=np.where(missing, np.nan, scored.values)), units))
    left = np.where(has, np.stack(without, axis=-1), np.nan)
    variance, _ = jackknife(left)
    # What has all of a pool in one cluster is nothing without it.
    variance = np.where((has & np.isnan(left)).any(axis=-1), np.nan, variance)
    rows = [
        NumberKeys(scored.records.bias_types[code], name)
        for code in units.bias_type
        for name in [None, *units.group_names[code], *[""] * (units.width - len(units.group_names[code]))]
    ]
    chosen = units.only(scored.defined)
    sizes = [chosen.backgrounds.sizes[:, None], chosen.sizes]
    n = np.concatenate(sizes, axis=1).ravel()
    table = interval_rows(rows, whole, n, variance, has.sum(axis=-1), settings, settings.range_of("score"))
    shared = shared_columns("score", scored, ALL_CASES)
    return table.filter(pl.col("group").fill_null("all") != "").with_columns(
        **{name: pl.lit(text) for name, text in shared.items()}
    )


def all_scores(scored: ScoredRecords, units: Units) -> FloatArray:
    """Returns the score of each bias type and, behind it, of its groups, shape (units x (1 + width),)."""
    chosen = units.only(scored.defined)
    whole = scored.of_pools(chosen.backgrounds)[:, None]
    return np.concatenate([whole, group_scores(scored, chosen)], axis=1).ravel()


def clusters_of_pools(units: Units, cluster: IntArray, scored: ScoredRecords) -> FloatArray:
    """Says which clusters each number of `all_scores` has, shape (units x (1 + width), clusters)."""
    chosen, count = units.only(scored.defined), int(cluster.max()) + 1
    own = cluster[scored.defined]
    parts = []
    for pools in (chosen.backgrounds, chosen.pools):
        there = np.bincount(pools.of_record * count + own, minlength=pools.count * count) > 0
        parts.append(there.reshape(len(units.bias_type), -1, count))
    return np.asarray(np.concatenate(parts, axis=1).reshape(-1, count))


def cases_over_clusters(
    scored: ScoredRecords, asked: RequestedComparison, cluster: IntArray, settings: StatisticsSettings
) -> Iterator[pl.DataFrame]:
    """Yields rows of `STATISTICS` of a comparison that is made in each case, and of each pair where it is pairwise.

    Args:
        scored: the records with their values.
        asked: the comparison.
        cluster: shape (records,), the cluster of each.
        settings: level and units.
    """
    units = units_of(scored.records, EACH_CASE)
    measure = measure_of_distance(asked.distance)
    shared = shared_columns(measure, scored, EACH_CASE, distance=asked.distance, comparison=asked.comparison)
    names = {name: pl.lit(text) for name, text in shared.items()}
    of_unit = cluster[units.first_record]
    values = compare_units(scored, units, asked.distance, asked.comparison)
    for code in np.unique(units.bias_type):
        groups = units.group_names[code] if values.ndim == 2 else [None]
        rows = [NumberKeys(scored.records.bias_types[code], name) for name in groups]
        of_code = units.bias_type == code
        columns = values[of_code].reshape(int(of_code.sum()), -1)[:, : len(groups)].T
        yield means_over_clusters(rows, columns, of_unit[of_code], settings, measure).with_columns(**names)
    if asked.comparison == "pairwise":
        for table in pairs_over_clusters(scored, units, asked.distance, of_unit, settings):
            yield table.with_columns(**names)


def pairs_over_clusters(
    scored: ScoredRecords, units: Units, distance: str, of_unit: IntArray, settings: StatisticsSettings
) -> Iterator[pl.DataFrame]:
    """Yields rows of `STATISTICS` of the distance of each pair of groups in the cases."""
    for one, to_later in by_group(distances_of(scored, units.only(scored.defined), distance)):
        for code in np.unique(units.bias_type):
            names, of_code = units.group_names[code], units.bias_type == code
            rows = [NumberKeys(scored.records.bias_types[code], names[one], other) for other in names[one + 1 :]]
            if one < len(names) and rows:
                apart, measure = to_later[: len(rows), of_code], measure_of_distance(distance)
                yield means_over_clusters(rows, apart, of_unit[of_code], settings, measure)


def means_over_clusters(
    rows: Sequence[NumberKeys], values: FloatArray, cluster: IntArray, settings: StatisticsSettings, measure: str
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of means over cases.

    Args:
        rows: what each mean is about.
        values: shape (rows, cases), NaN where a case has none.
        cluster: shape (cases,), the cluster of each.
        settings: level and units.
        measure: what they are.
    """
    sums, counts = by_cluster(values, cluster)
    variance, _ = jackknife_of_means(sums, counts)
    n = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=1) / n
    clusters = (counts > 0).sum(axis=1)
    return interval_rows(rows, means, n.astype(np.int64), variance, clusters, settings, settings.range_of(measure))


def by_cluster(values: FloatArray, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
    """Returns sums and counts of values of cases by cluster, shape (rows, clusters)."""
    known = ~np.isnan(values)
    clusters = np.asarray(cluster[:, None] == np.arange(int(cluster.max()) + 1), dtype=np.float64)
    return np.where(known, values, 0) @ clusters, known.astype(np.float64) @ clusters


def failures_over_clusters(
    records: Records,
    cluster_of: Callable[[IntArray], IntArray],
    thresholds: Sequence[float],
    settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:
    """Yields rows of `STATISTICS` of the failure rates of bias types.

    Args:
        records: the records.
        cluster_of: the clusters of templates.
        thresholds: the differences from which on a case fails.
        settings: level and units.
    """
    differences = case_differences(records)
    cluster = cluster_of(differences["template"].to_numpy())
    for bias_type in differences["bias_type"].unique(maintain_order=True):
        rows = (differences["bias_type"] == bias_type).to_numpy()
        for difference in ("mean", "largest"):
            apart = differences[difference].to_numpy()[rows]
            limits = np.asarray(thresholds)[:, None]
            failing = np.where(np.isnan(apart), np.nan, apart > limits)
            names = [options_text(difference=difference, threshold=float(threshold)) for threshold in thresholds]
            yield rates_over_clusters(bias_type, names, failing, cluster[rows], settings)


def rates_over_clusters(
    bias_type: str, options: Sequence[str], failing: FloatArray, cluster: IntArray, settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of rates, with Wilson's interval; see `failures.effective_interval`."""
    sums, counts = by_cluster(failing, cluster)
    variance, _ = jackknife_of_means(sums, counts)
    n, clusters = counts.sum(axis=1), (counts > 0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = sums.sum(axis=1) / n
    low, high, _ = wilson_interval(rates, n, variance, clusters, settings.alpha)
    return pl.DataFrame(
        {
            "measure": ["failure_rate"] * len(rates),
            "options": list(options),
            "bias_type": bias_type,
            "generalises_to": "templates",
            "value": rates,
            "low": low,
            "high": high,
            "se": np.sqrt(variance),
            "clusters": clusters,
            "n": n.astype(np.int64),
            "method": np.where(np.isnan(low), NO_METHOD, "effective Wilson"),
            **jackknife_columns(leave_one_out(sums, counts)),
        }
    )
