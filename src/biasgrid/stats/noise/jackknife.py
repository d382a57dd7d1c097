"""The jackknife: the variance of a number from what it is without each unit.

Measures that are no function of sums are computed again without each cluster of templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.stats.clusters import cluster_positions
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import RECOMPUTED, Along, Sums, cluster_name
from biasgrid.tables.key_columns import KEYS, is_pooled_over
from biasgrid.tables.measures import ROW

ROUNDING = 1e-13
"""Values that differ by no more are the same but for rounding: their variance is 0."""
RELATIVE_ROUNDING = 1e-12
"""A variance of a unit's value of at most this share of the square of the number is 0.

Answers are kept in single precision, in which equal values differ by about 1e-7 of their size.
"""


def jackknife(without: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns the jackknife variance of a number, and of how many units it is made.

    Args:
        without: shape (..., units), the number without each unit, NaN where it does not have the
            unit.

    Returns:
        Shape (...): (T - 1) / T times the sum of squares around their mean, NaN for fewer than two
        units; and T.
    """
    known = ~np.isnan(without)
    units = known.sum(axis=-1)
    means = divide(np.where(known, without, 0).sum(axis=-1), units)
    deviations = np.where(known, without - means[..., None], 0)
    is_rounding = np.abs(deviations) <= ROUNDING * np.maximum(1, np.abs(means))[..., None]
    squares = (np.where(is_rounding, 0, deviations) ** 2).sum(axis=-1)
    variance = without_rounding(divide(units - 1, units) * squares, units, means)
    return np.where(units > 1, variance, np.nan), units


def without_rounding(variance: FloatArray, units: IntArray, values: FloatArray) -> FloatArray:
    """Returns the variances of numbers, 0 where rounding alone makes units differ.

    Args:
        variance: shape (...), jackknife variances.
        units: shape (...), the number of units of each.
        values: shape (...), the numbers.
    """
    with np.errstate(invalid="ignore"):
        return np.where(units * variance <= RELATIVE_ROUNDING * values**2, 0.0, variance)


MeasureFunction = Callable[[pl.DataFrame, Mapping[str, Any]], pl.DataFrame]
"""Makes the measures of a family from observations and options."""


def recompute_measures(
    measure: MeasureFunction,
    observations: pl.DataFrame,
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell, and again without each of its clusters.

    Args:
        measure: the family's own.
        observations: with `template`; without it nothing is known but the values.
        measure_options: those of the measures.
        settings: clusters and units.

    Yields:
        Measures that other templates might have given another value, with what they are without
        each cluster, and all others.
    """
    measured = with_key_columns(measure(observations, measure_options))
    if "template" not in observations.columns:
        yield measured
        return
    is_clustered = has_clusters(measured, settings)
    whole = measured.filter(is_clustered)
    yield measured.filter(~is_clustered)
    if whole.is_empty():
        return
    template = observations["template"].to_numpy().astype(np.int64)
    cluster_of = cluster_positions(template, settings.clusters)
    # Named as in other cells, which may have others of the dataset's clusters.
    _, firsts = np.unique(cluster_of, return_index=True)
    names = [cluster_name(int(template[first]), settings.clusters) for first in firsts]
    columns = np.zeros((len(whole), max(len(names), 1), 2))
    # Of a single cluster nothing is left.
    if len(names) > 1:
        for cluster in range(len(names)):
            others = observations.filter(pl.Series(cluster_of != cluster))
            part = align_rows(whole, with_key_columns(measure(others, measure_options)))
            columns[:, cluster, 0] = column_numbers(part, "value")
            # What a cluster has nothing of is the same without it.
            has_cluster = column_numbers(part, "n") < column_numbers(whole, "n")
            columns[:, cluster, 1] = has_cluster
    columns[columns[..., 1] == 0] = 0
    repetitions = 1
    if "repetition" in observations.columns:
        repetitions = observations["repetition"].n_unique()
    keys = whole.with_columns(cases=pl.col("n") / repetitions)
    yield Sums(keys, {"clusters": Along(names or ["none"], columns)}, finish=RECOMPUTED)


def with_key_columns(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns measures with all keys, as text, and the counts that they may lack."""
    no_values = {key: pl.lit(None, pl.String) for key in ROW}
    no_values |= {name: pl.lit(0, pl.Int64) for name in ("n", "left_out")}
    missing = {name: value for name, value in no_values.items() if name not in measures.columns}
    keys = [pl.col(key.name).cast(key.dtype) for key in KEYS]
    measure = pl.col("measure").cast(pl.String)
    options = pl.col("options").fill_null("").cast(pl.String)
    return measures.with_columns(**missing).with_columns(measure, options, *keys)


def has_clusters(measures: pl.DataFrame, settings: StatisticsSettings) -> pl.Expr:
    """Says which measures other templates might have given another value: no distances, none of a
    single template.
    """
    names = [name for name, unit in settings.units.items() if unit not in (None, "distance")]
    return pl.col("measure").is_in(names) & is_pooled_over("how")


def align_rows(whole: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """Returns value and n of a part in the rows of the whole, n 0 where it has no such row."""
    joined = whole.select(ROW).join(
        part, on=list(ROW), how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.select("value", pl.col("n").fill_null(0))


def column_numbers(table: pl.DataFrame, name: str) -> FloatArray:
    """Returns a column as numbers, NaN where it is null."""
    values: FloatArray = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values
