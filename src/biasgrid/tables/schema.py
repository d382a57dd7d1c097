"""How schemas of tables are told: each column with what it means."""

from __future__ import annotations

from typing import Any

import pandera.polars as pa
import polars as pl

Probability = pa.Check.in_range(-1e-6, 1 + 1e-5)


def _sums_to_one(data: pa.PolarsData) -> pl.LazyFrame:
    each = pl.col(data.key).list
    checked: pl.LazyFrame = data.lazyframe.select((each.min() >= -1e-6) & ((each.sum() - 1).abs() < 1e-3))
    return checked


Distribution = pa.Check(_sums_to_one, error="sums to 1, none below 0")


def column(dtype: Any, *, description: str, **options: Any) -> pa.Column:
    """Returns a column with what it means; `options` are those of `pandera.Column`."""
    return pa.Column(dtype, description=description, **options)


def table(name: str, columns: dict[str, pa.Column], unique: list[str] | None = None) -> pa.DataFrameSchema:
    """Returns the schema of a table that has just these columns, in this order.

    Args:
        name: for messages.
        columns: the columns by name.
        unique: the columns that tell rows apart.
    """
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=unique, name=name)
