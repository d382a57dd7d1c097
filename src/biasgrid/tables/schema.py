"""Schemas of tables and of answer kinds: each column with its meaning, and checks of columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pandera.polars as pa
import polars as pl

LEAST, LARGEST = -1e-6, 1 + 1e-5
"""What rounding makes of probabilities of 0 and 1."""
Probability = pa.Check.in_range(LEAST, LARGEST)


def _within_bounds(data: pa.PolarsData) -> pl.LazyFrame:
    # All lists at once, which is faster; only where a number is wrong, list by list, to name it.
    numbers = pl.col(data.key)
    is_within = pl.all_horizontal(
        numbers.min().fill_null(0) >= LEAST,
        numbers.max().fill_null(0) <= LARGEST,
        numbers.sum().is_not_nan(),
    )
    checked: pl.LazyFrame = data.lazyframe.select(numbers.explode()).select(is_within)
    return checked if checked.collect().item() else _each_within_bounds(data)


def _each_within_bounds(data: pa.PolarsData) -> pl.LazyFrame:
    lists = pl.col(data.key).list
    # Of empty lists, and such of nulls alone, there is no least and no largest; a NaN shows in the
    # sum alone.
    is_within = pl.all_horizontal(
        lists.min().fill_null(0) >= LEAST,
        lists.max().fill_null(0) <= LARGEST,
        lists.sum().is_not_nan(),
    )
    checked: pl.LazyFrame = data.lazyframe.select(is_within)
    return checked


def _never_nan(data: pa.PolarsData) -> pl.LazyFrame:
    checked: pl.LazyFrame = data.lazyframe.select(~pl.col(data.key).is_nan())
    return checked


NeverNaN = pa.Check(_never_nan, error="no NaN: null where there is no value")
Probabilities = pa.Check(_within_bounds, error="each in 0..1")


def _all_differ(data: pa.PolarsData) -> pl.LazyFrame:
    ordered = pl.col(data.key).sort()
    checked: pl.LazyFrame = data.lazyframe.select((ordered != ordered.shift()).all())
    return checked


Unique = pa.Check(_all_differ, error="no value twice")
"""Of numbers; takes a tenth of the time of pandera's own check."""


def column(dtype: Any, *, description: str, **options: Any) -> pa.Column:
    """Returns a column with what it means; `options` are those of `pandera.Column`."""
    return pa.Column(dtype, description=description, **options)


def table(
    name: str, columns: dict[str, pa.Column], unique: list[str] | None = None
) -> pa.DataFrameSchema:
    """Returns the schema of a table that has just these columns, in this order.

    Args:
        name: for messages.
        columns: the columns by name.
        unique: the columns that tell rows apart.
    """
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=unique, name=name)


UNKNOWN_COLUMN = column(
    pl.Boolean,
    description=(
        "whether the tokenizer put its unknown token into the text or, for models that do not "
        "write, splits most of it into pieces of one or two letters; null if not checked"
    ),
    nullable=True,
)
"""The column `unknown` of kinds whose models read texts with a tokenizer."""


TRUNCATED_COLUMN = column(
    pl.Boolean, description="whether the text was too long, so that its end was not read"
)
"""The column `truncated` of kinds whose models read as much of a text as they take."""


def schema_with_keys(schema: pa.DataFrameSchema) -> pa.DataFrameSchema:
    """Returns the schema of answers that stand with the keys of their instances, as while they are
    asked.
    """
    instance, *others = schema.columns.items()
    keys = {"key": column(pl.UInt64, description="key of the instance")}
    return table(str(schema.name), dict([instance]) | keys | dict(others))


def answer_schema(kind: str) -> pa.DataFrameSchema:
    """Returns the schema of an answer kind, such as `choice`; found by its name, so that kinds know
    nothing of others.

    Raises:
        ModuleNotFoundError: there is no such kind.
    """
    schema: pa.DataFrameSchema = import_module(f"biasgrid.tables.answers.{kind}").SCHEMA
    return schema
