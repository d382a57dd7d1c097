"""Means over prompts, and what they are without each of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, ratio
from biasgrid.families.rewriting.formulas.null import PAIR
from biasgrid.tables.metric import options_text

NAMED = ["measure", "options", *PAIR]
"""What tells numbers apart that are jackknifed."""


class Parts(NamedTuple):
    """Means of values by keys, and by prompts.

    Attributes:
        keys: a row for each mean.
        sums: shape (means, prompts), the sums of values.
        counts: how many there are.
    """

    keys: pl.DataFrame
    sums: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: pl.DataFrame, keys: list[str], prompts: int) -> Parts:
        """Sums values up.

        Args:
            rows: `value`, `place` of the prompt, and keys.
            keys: which tell means apart.
            prompts: how many prompts there are.
        """
        known = rows.drop_nulls("value")
        names = known.select(keys).unique(maintain_order=True).with_row_index("row")
        placed = known.join(names, on=keys, nulls_equal=True, maintain_order="left")
        cell = placed["row"].to_numpy().astype(np.int64) * prompts + placed["place"].to_numpy().astype(np.int64)
        shape = len(names), prompts
        sums = np.bincount(cell, placed["value"].to_numpy(), shape[0] * prompts).reshape(shape).astype(np.float64)
        counts = np.bincount(cell, minlength=shape[0] * prompts).reshape(shape).astype(np.float64)
        return cls(names.drop("row"), sums, counts)

    @property
    def without(self) -> FloatArray:
        """The means without each prompt, shape (means, prompts)."""
        sums, counts = (each.sum(axis=1, keepdims=True) - each for each in (self.sums, self.counts))
        return ratio(sums, counts)


class Jackknifed(NamedTuple):
    """Numbers without each prompt.

    Attributes:
        rows: `measure`, `options`, `group` and `other` of each.
        without: shape (numbers, prompts).
        has: which prompts a number is made of.
    """

    rows: pl.DataFrame
    without: FloatArray
    has: BoolArray


def written(measure: str, **options: object) -> dict[str, pl.Expr]:
    """Returns the columns that name a measure of the scores in `score`."""

    def told(score: str) -> str:
        return options_text(score=score, **options)

    return {"measure": pl.lit(measure), "options": pl.col("score").map_elements(told, return_dtype=pl.String)}


def padded(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows with all columns that tell numbers apart."""
    missing = [pl.lit(None, pl.String).alias(name) for name in PAIR if name not in rows.columns]
    return rows.with_columns(missing).select(NAMED)
