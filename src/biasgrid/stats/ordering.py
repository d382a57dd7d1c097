"""Which rows of measures a figure or text shows, and an order of rows and columns that puts similar
ones together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.tables.key_columns import is_about

UNCERTAINTY_COLUMNS = (
    "low",
    "high",
    "selected_low",
    "selected_high",
    "p",
    "q",
    "null_mean",
    "clusters",
)
"""The uncertainty of a measure, of measures."""


def seriate(values: FloatArray) -> tuple[list[int], list[int]]:
    """Sorts rows and columns by the leading singular vectors, signed so that rows with large values
    come first.

    The obvious order, by means, is none for attributes: gamma sums to zero over the subjects of
    each.

    Args:
        values: a matrix [rows, columns], 0 where nothing is known.

    Returns:
        The numbers of rows and of columns, in order.
    """
    left, _, right = np.linalg.svd(values, full_matrices=False)
    # The sign of singular vectors is arbitrary. Rounding keeps equal rows in their order on every
    # machine.
    sign = -1.0 if left[:, 0] @ values.mean(axis=1) < 0 else 1.0
    by_row = np.argsort(-np.round(sign * left[:, 0], 9), kind="stable")
    by_column = np.argsort(-np.round(sign * right[0], 9), kind="stable")
    return by_row.tolist(), by_column.tolist()


def select_rows(
    measures: pl.DataFrame,
    measure: str,
    keys: Sequence[str] = (),
    measure_options: str = "",
    *,
    intervals: bool = False,
) -> pl.DataFrame:
    """Picks the rows of a measure that are about exactly these keys.

    Args:
        measures: schema `MEASURES`.
        measure: the measure's name.
        keys: which of the key columns tell the rows apart; the others are null
            there.
        measure_options: the options of the measure; see `biasgrid.tables.metric.options_text`.
        intervals: whether to return what is known of the numbers beside their values.

    Returns:
        The columns `dataset`, `model`, the keys, `value` and `n`, and with `intervals`
        `UNCERTAINTY_COLUMNS`, null where nothing is known; no rows where there is no such measure.
    """
    is_measure = (pl.col("measure") == measure) & (pl.col("options") == measure_options)
    rows = measures.filter(is_measure, is_about(keys))
    columns = ["dataset", "model", *keys, "value", "n"]
    if not intervals:
        return rows.select(columns)
    missing = [name for name in UNCERTAINTY_COLUMNS if name not in measures.columns]
    nulls = {name: pl.lit(None, pl.Float64) for name in missing}
    return rows.with_columns(**nulls).select(*columns, *UNCERTAINTY_COLUMNS)


def values_in_order(frame: pl.DataFrame, column: str) -> list[str]:
    """Returns the distinct values of a column in order of first appearance."""
    return frame[column].unique(maintain_order=True).to_list()
