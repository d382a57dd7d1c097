"""Measures with what is known of how sure they are: what every number is shown with."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.statistics import DISCOVERED, ROW

CERTAINTY = ("over", "selected_low", "selected_high", "floor", "frames")
"""What measures are shown with beside their interval, p and q."""
CELL_ROW = ("model", "dataset", *ROW)
ASSOCIATIONS = (("subject", "attribute"), ("group", "other"))
"""Keys of what is tested one by one."""


def shown(statistics: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows over what a number is shown over: those of clusters over all, others over templates.

    Names are a sample, so what is said of a cluster of them must hold for other names too.

    Args:
        statistics: schema `STATISTICS`.
    """
    over = pl.when(pl.col("subject_cluster").is_null()).then(pl.lit("templates")).otherwise(pl.lit("all"))
    return statistics.filter(pl.col("over") == over)


def with_certainty(measures: pl.DataFrame, statistics: pl.DataFrame) -> pl.DataFrame:
    """Puts beside each measure its interval and what else is known of it.

    Args:
        measures: schema `MEASURES`.
        statistics: schema `STATISTICS`, of any cells.

    Returns:
        The measures with their own low, high, p and q or, where they have none, those of the statistics, and the
        columns of `CERTAINTY`; below them what the statistics alone know, such as mu without noise.
    """
    columns = ["low", "high", "p", "q"]
    known = shown(statistics).select(*CELL_ROW, "value", "n", *columns, *CERTAINTY)
    beside = measures.join(
        known.drop("value", "n"), on=CELL_ROW, how="left", nulls_equal=True, suffix="_known", maintain_order="left"
    )
    filled = beside.with_columns(pl.coalesce(name, f"{name}_known").alias(name) for name in columns)
    beyond = known.join(measures, on=CELL_ROW, how="anti", nulls_equal=True, maintain_order="left")
    own = beyond.with_columns(left_out=pl.lit(0, pl.Int64))
    return pl.concat([filled.drop(f"{name}_known" for name in columns), own], how="diagonal")


def of_wholes(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of measures or statistics that are about whole cells or bias types."""
    return rows.filter(pl.all_horizontal(pl.col(key).is_null() for key in MEASURE_KEYS if key != "bias_type"))


def discoveries(statistics: pl.DataFrame) -> pl.DataFrame:
    """Counts what is found of what was tested one by one.

    Args:
        statistics: schema `STATISTICS`.

    Returns:
        `model`, `dataset`, `bias_type`, `measure` (`discoveries`), `options`, `over`, `value`, `frames`, `n` (how many
        were tested) and `left_out`; the value is null where nothing was.
    """
    rows = shown(statistics).filter(
        pl.col("template").is_null(),
        pl.any_horizontal(pl.all_horizontal(pl.col(key).is_not_null() for key in keys) for keys in ASSOCIATIONS),
    )
    tests = pl.col("q").count()
    found = rows.group_by("model", "dataset", "bias_type", "over", maintain_order=True).agg(
        value=pl.when(tests > 0).then((pl.col("q") <= DISCOVERED).sum().cast(pl.Float64)),
        frames=pl.col("frames").max(),
        n=tests.cast(pl.Int64),
    )
    return found.with_columns(measure=pl.lit("discoveries"), options=pl.lit(""), left_out=pl.lit(0, pl.Int64))
