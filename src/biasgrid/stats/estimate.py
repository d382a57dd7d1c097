"""The delete-one-cluster jackknife, and intervals of any measure from it.

Nothing need be known of a measure but how to compute it: it is computed again without each cluster in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, ratio
from biasgrid.stats.clusters import clusters_of_templates
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, wilson_interval
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.tables.statistics import NO_METHOD, ROW

ROUNDING = 1e-13
"""Values that differ by no more are the same but for rounding: their variance is 0."""
MeasureOf = Callable[[pl.DataFrame, Mapping[str, Any]], pl.DataFrame]
"""Makes the measures of a family from observations and options."""


def leave_one_out(
    sums: FloatArray, counts: FloatArray, total: FloatArray | None = None, count: FloatArray | None = None
) -> FloatArray:
    """Returns the mean without each unit, shape of `sums`; NaN where a unit has nothing, or nothing is left.

    Args:
        sums: shape (..., units), the sum of the values of each unit.
        counts: shape (..., units), how many there are.
        total: shape (..., 1), the sum over all, where units share values; without it that over units.
        count: the same of `counts`.
    """
    total = sums.sum(axis=-1, keepdims=True) if total is None else total
    count = counts.sum(axis=-1, keepdims=True) if count is None else count
    without: FloatArray = ratio(total - sums, count - counts)
    return np.where(counts > 0, without, np.nan)


def jackknife(without: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns the jackknife variance of a number, and of how many units it is made.

    Args:
        without: shape (..., units), the number without each unit, NaN where it does not have the unit.

    Returns:
        Shape (...): (T - 1) / T times the sum of squares around their mean, NaN for fewer than two units; and T.
    """
    known = ~np.isnan(without)
    units = known.sum(axis=-1)
    means = ratio(np.where(known, without, 0).sum(axis=-1), units)
    deviations = np.where(known, without - means[..., None], 0)
    is_rounding = np.abs(deviations) <= ROUNDING * np.maximum(1, np.abs(means))[..., None]
    squares = (np.where(is_rounding, 0, deviations) ** 2).sum(axis=-1)
    return np.where(units > 1, ratio(units - 1, units) * squares, np.nan), units


def jackknife_of_means(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns what `jackknife` does of sum / count over all units; see `leave_one_out`."""
    variance, _ = jackknife(leave_one_out(sums, counts))
    return variance, (counts > 0).sum(axis=-1)


def jackknife_measures(
    measure: MeasureOf, observations: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> pl.DataFrame:
    """Jackknifes all measures over clusters.

    Shares have Wilson's interval with as many cases as their variance over clusters is worth, distances that may be
    noise alone none, and all others that of Student's t.

    Args:
        measure: the family's own; its distances are known by their unit.
        observations: with `template`; without it there are no rows.
        options: those of the measures.
        settings: clusters, level and units.

    Returns:
        Rows of `STATISTICS`, over templates.
    """
    if "template" not in observations.columns:
        return pl.DataFrame()
    whole = rows_with_clusters(measure(observations, options), settings)
    cluster = clusters_of_templates(observations["template"].to_numpy().astype(np.int64), settings.clusters)
    count = int(cluster.max(initial=-1)) + 1
    # Of a single cluster nothing is left.
    without = [observations.filter(pl.Series(cluster != each)) for each in range(count)] if count > 1 else []
    parts = [rows_with_clusters(measure(part, options), settings) for part in without]
    repetitions = observations["repetition"].n_unique() if "repetition" in observations.columns else 1
    return intervals_of(whole, parts, repetitions, settings)


def rows_with_clusters(measures: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Returns those rows of measures that other templates might have given another value: none of a template's own."""
    missing = [pl.lit(None, pl.String).alias(key) for key in ROW if key not in measures.columns]
    rows = measures.with_columns(missing).filter(
        pl.col("measure").is_in([name for name, unit in settings.units.items() if unit not in (None, "distance")]),
        pl.col("template").is_null(),
    )
    texts = [pl.col(key).cast(pl.String) for key in ROW if key != "template"]
    return rows.select(*texts, pl.lit(None, pl.UInt16).alias("template"), pl.col("value").cast(pl.Float64), "n")


def align_rows(whole: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """Returns value and n of a part in the rows of the whole, n 0 where it has no such row."""
    joined = whole.select(ROW).join(part, on=list(ROW), how="left", nulls_equal=True, maintain_order="left")
    return joined.select("value", pl.col("n").fill_null(0))


def intervals_of(
    whole: pl.DataFrame, parts: Sequence[pl.DataFrame], repetitions: int, settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of measures, from what they are without each cluster.

    Args:
        whole: the measures.
        parts: the measures without each cluster.
        repetitions: how often each prompt was repeated, which counts as one case.
        settings: level and units.
    """
    tables = [align_rows(whole, part) for part in parts]
    nothing = np.full((len(whole), 1), np.nan)
    without = np.stack([column_numbers(each, "value") for each in tables], axis=1) if tables else nothing
    left = np.stack([column_numbers(each, "n") for each in tables], axis=1) if tables else nothing
    # What a cluster has nothing of is the same without it.
    has = ~(left >= column_numbers(whole, "n")[:, None])
    undefined = (has & np.isnan(without)).any(axis=1)
    known = np.where(has & ~undefined[:, None], without, np.nan)
    variance, _ = jackknife(known)
    cases = column_numbers(whole, "n") / repetitions
    rows = statistics_rows(whole, cases, variance, has.sum(axis=1), settings)
    return rows.with_columns(**jackknife_columns(known))


def statistics_rows(
    whole: pl.DataFrame, cases: FloatArray, variance: FloatArray, clusters: IntArray, settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` over templates: of shares with Wilson's interval, of others with that of t."""
    value = column_numbers(whole, "value")
    is_share = np.array([settings.units.get(name) == "share" for name in whole["measure"]], dtype=np.bool_)
    ranges = np.array([settings.range_of(name) for name in whole["measure"]]).reshape(-1, 2).T
    source = VarianceSource(variance, (clusters - 1).astype(np.float64))
    plain = interval_ends(value, half_width([source], settings.alpha), (ranges[0], ranges[1]))
    wilson = wilson_interval(np.where(is_share, value, np.nan), cases, variance, clusters, settings.alpha)
    low, high = (np.where(is_share, one, other) for one, other in zip(wilson, plain, strict=False))
    known = ~np.isnan(low)
    method = np.where(is_share, "effective Wilson", "jackknife t")
    return whole.with_columns(
        generalises_to=pl.lit("templates"),
        low=low,
        high=high,
        se=np.sqrt(variance),
        df=source.df,
        clusters=clusters,
        method=pl.Series(np.where(known, method, NO_METHOD)),
    )


def column_numbers(table: pl.DataFrame, name: str) -> FloatArray:
    """Returns a column as numbers, NaN where it is null."""
    values: FloatArray = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values
