"""Means over a cell and its parts, in one pass for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, ratio

TYPES = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64}


@dataclass(frozen=True)
class Parts:
    """The parts of a table.

    Attributes:
        keys: what each part is about, in the order in which they are met.
        number: shape (rows,), the part of each row of the table.
    """

    keys: pl.DataFrame
    number: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, names: Sequence[str]) -> Parts:
        """Divides a table by some of its columns; without any it is one part."""
        if not names:
            return cls(pl.DataFrame(height=1), np.zeros(len(table), dtype=np.int64))
        keys = table.select(names).unique(maintain_order=True)
        numbered = table.select(names).join(keys.with_row_index("number"), on=names, maintain_order="left")
        return cls(keys, numbered["number"].to_numpy().astype(np.int64))

    def means(self, values: FloatArray, concerned: BoolArray | None = None) -> tuple[FloatArray, IntArray, IntArray]:
        """Returns mean, count and how many have no value, of each part.

        Args:
            values: shape (rows,), NaN where there is none.
            concerned: shape (rows,), which rows are looked at; None for all.
        """
        looked_at = np.ones(len(values), dtype=np.bool_) if concerned is None else concerned
        known = looked_at & ~np.isnan(values)
        count = len(self.keys)
        sums = np.bincount(self.number[known], values[known], minlength=count)
        counts = np.bincount(self.number[known], minlength=count)
        missing = np.bincount(self.number[looked_at & ~known], minlength=count)
        return ratio(sums, counts), counts, missing

    def rows(self, measure: str, values: FloatArray, counts: IntArray, missing: IntArray) -> pl.DataFrame:
        """Returns rows of a measure; parts that it is not about have none."""
        columns = {"measure": [measure] * len(values), "value": values, "n": counts, "left_out": missing}
        table = pl.DataFrame(columns, schema=TYPES).with_columns(pl.col("value").fill_nan(None))
        whole = table if not self.keys.width else self.keys.hstack(table)
        return whole if not self.keys.width else whole.filter(pl.col("n") + pl.col("left_out") > 0)
