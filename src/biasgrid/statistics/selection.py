"""Picking rows of the measures table: those of one measure that are about certain keys."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS


def select_rows(measures: pl.DataFrame, measure: str, keys: Sequence[str] = (), options: str = "") -> pl.DataFrame:
    """Picks the rows of a measure that are about exactly these keys.

    Args:
        measures: schema `MEASURES`.
        measure: the measure's name.
        keys: which of the key columns (`MEASURE_KEYS`) tell the rows apart; the others are null there.
        options: what the measure was computed with; see `biasgrid.tables.measure.written_options`.

    Returns:
        The columns `dataset`, `model`, the keys, `value` and `n`; no rows where there is no such measure.
    """
    presence = [pl.col(key).is_not_null() if key in keys else pl.col(key).is_null() for key in MEASURE_KEYS]
    wanted = [pl.col("measure") == measure, pl.col("options") == options, *presence]
    return measures.filter(*wanted).select("dataset", "model", *keys, "value", "n")


def in_order(frame: pl.DataFrame, column: str) -> list[str]:
    """Returns the distinct values of a column in order of first appearance."""
    return frame[column].unique(maintain_order=True).to_list()
