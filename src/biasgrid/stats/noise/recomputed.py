"""The jackknife of measures that are not made of sums: they are computed again without each cluster
of templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.clusters import clusters_of_templates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import RECOMPUTED, Along, Sums, cluster_name
from biasgrid.tables.measures import ROW

MeasureOf = Callable[[pl.DataFrame, Mapping[str, Any]], pl.DataFrame]
"""Makes the measures of a family from observations and options."""


def recompute_measures(
    measure: MeasureOf,
    observations: pl.DataFrame,
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell, and again without each of its clusters.

    Args:
        measure: the family's own.
        observations: with `template`; without it nothing is known but the values.
        options: those of the measures.
        settings: clusters and units.

    Yields:
        Measures that other templates might have given another value, with what they are without
        each cluster, and all others.
    """
    measured = with_keys(measure(observations, options))
    chosen = (
        has_clusters(measured, settings)
        if "template" in observations.columns
        else pl.lit(value=False)
    )
    whole = measured.filter(chosen)
    yield measured.filter(~chosen)
    if whole.is_empty():
        return
    template = observations["template"].to_numpy().astype(np.int64)
    cluster = clusters_of_templates(template, settings.clusters)
    # Named as in other cells, which may have others of the dataset's clusters.
    _, firsts = np.unique(cluster, return_index=True)
    names, count = (
        [cluster_name(int(template[first]), settings.clusters) for first in firsts] or ["none"],
        len(firsts),
    )
    # Of a single cluster nothing is left.
    kept = (
        [observations.filter(pl.Series(cluster != each)) for each in range(count)]
        if count > 1
        else []
    )
    parts = [align_rows(whole, with_keys(measure(part, options))) for part in kept]
    columns = np.zeros((len(whole), len(names), 2))
    for place, part in enumerate(parts):
        columns[:, place, 0] = column_numbers(part, "value")
        # What a cluster has nothing of is the same without it.
        columns[:, place, 1] = column_numbers(part, "n") < column_numbers(whole, "n")
    columns[columns[..., 1] == 0] = 0
    repetitions = (
        observations["repetition"].n_unique() if "repetition" in observations.columns else 1
    )
    keys = whole.with_columns(cases=pl.col("n") / repetitions)
    yield Sums(keys, {"clusters": Along(names, columns)}, RECOMPUTED)


def with_keys(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns measures with all keys, as text, and the counts that they may lack."""
    missing = [pl.lit(None, pl.String).alias(key) for key in ROW if key not in measures.columns]
    texts = [pl.col(key).cast(pl.String) for key in ROW if key not in ("template", "options")]
    options = pl.col("options").fill_null("").cast(pl.String)
    counts = [
        pl.lit(0, pl.Int64).alias(name)
        for name in ("n", "left_out")
        if name not in measures.columns
    ]
    return measures.with_columns(*missing, *counts).with_columns(
        *texts, options, pl.col("template").cast(pl.UInt16)
    )


def has_clusters(measures: pl.DataFrame, settings: StatisticsSettings) -> pl.Expr:
    """Says which measures other templates might have given another value: no distances, none of a
    single template.
    """
    names = [name for name, unit in settings.units.items() if unit not in (None, "distance")]
    return pl.col("measure").is_in(names) & pl.col("template").is_null()


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
