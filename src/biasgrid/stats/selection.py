"""Picking rows of the measures table: those of one measure that are about certain keys."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS

CERTAINTY = ("low", "high", "selected_low", "selected_high", "p", "q", "null_mean", "clusters")
"""What is known of how sure a measure is, in measures from `tables.certainty.with_certainty`."""


def select_rows(
    measures: pl.DataFrame, measure: str, keys: Sequence[str] = (), options: str = "", *, certain: bool = False
) -> pl.DataFrame:
    """Picks the rows of a measure that are about exactly these keys.

    Args:
        measures: schema `MEASURES`, or from `with_certainty`.
        measure: the measure's name.
        keys: which of the key columns (`MEASURE_KEYS`) tell the rows apart; the others are null there.
        options: what the measure was computed with; see `biasgrid.tables.metric.written_options`.
        certain: whether how sure it is is wanted as well.

    Returns:
        The columns `dataset`, `model`, the keys, `value` and `n`, and those of `CERTAINTY` where they are wanted, null
        where nothing is known; no rows where there is no such measure.
    """
    presence = [pl.col(key).is_not_null() if key in keys else pl.col(key).is_null() for key in MEASURE_KEYS]
    wanted = [pl.col("measure") == measure, pl.col("options") == options, *presence]
    missing = [pl.lit(None, pl.Float64).alias(name) for name in CERTAINTY if name not in measures.columns]
    rows = measures.filter(*wanted).with_columns(missing)
    return rows.select("dataset", "model", *keys, "value", "n", *(CERTAINTY if certain else ()))


def in_order(frame: pl.DataFrame, column: str) -> list[str]:
    """Returns the distinct values of a column in order of first appearance."""
    return frame[column].unique(maintain_order=True).to_list()
