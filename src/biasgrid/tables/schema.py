"""Schemas of tables and of answer kinds: each column with its meaning, and checks of columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pandera.polars as pa
import polars as pl
from polars.expr.list import ExprListNameSpace

LEAST, LARGEST = -1e-6, 1 + 1e-5
"""The range of probabilities after rounding."""
Probability = pa.Check.in_range(LEAST, LARGEST)


def _are_probabilities(numbers: pl.Expr | ExprListNameSpace) -> pl.Expr:
    """Whether all numbers are probabilities: of a column, or of each list of a column (`.list`)."""
    # Empty lists and lists of nulls have no minimum and maximum. Both ignore NaN, the sum does not.
    return pl.all_horizontal(
        numbers.min().fill_null(0) >= LEAST,
        numbers.max().fill_null(0) <= LARGEST,
        numbers.sum().is_not_nan(),
    )


def _within_bounds(data: pa.PolarsData) -> pl.LazyFrame:
    numbers = pl.col(data.key)
    all_numbers = data.lazyframe.select(numbers.explode())
    # All lists at once is faster. List by list tells pandera the row with a wrong number.
    result: pl.LazyFrame = all_numbers.select(_are_probabilities(numbers))
    if not result.collect().item():
        result = data.lazyframe.select(_are_probabilities(numbers.list))
    return result


def _never_nan(data: pa.PolarsData) -> pl.LazyFrame:
    result: pl.LazyFrame = data.lazyframe.select(~pl.col(data.key).is_nan())
    return result


NeverNaN = pa.Check(_never_nan, error="no NaN: null where there is no value")
Probabilities = pa.Check(_within_bounds, error="each in 0..1")


def _all_differ(data: pa.PolarsData) -> pl.LazyFrame:
    values = pl.col(data.key).sort()
    result: pl.LazyFrame = data.lazyframe.select((values != values.shift()).all())
    return result


Unique = pa.Check(_all_differ, error="no value twice")
"""For columns of numbers. It takes a tenth of the time of pandera's own check."""


def column(dtype: Any, *, description: str, **options: Any) -> pa.Column:
    """Returns a column with its meaning.

    Args:
        dtype: the polars type.
        description: the meaning, for documents.
        options: other arguments of `pandera.Column`, such as `nullable` and `checks`.
    """
    return pa.Column(dtype, description=description, **options)


def table(
    name: str, columns: dict[str, pa.Column], unique: list[str] | None = None
) -> pa.DataFrameSchema:
    """Returns the schema of a table that has just these columns, in this order.

    Args:
        name: for messages.
        columns: the columns by name.
        unique: columns in which no two rows are equal; None for no such check.
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
    """Returns a schema of answers with the column `key` after the first one, which is `instance`.

    Answers have their keys while they are collected and stored.
    """
    instance, *rest = schema.columns.items()
    keys = {"key": column(pl.UInt64, description="key of the instance")}
    return table(str(schema.name), dict([instance]) | keys | dict(rest))


def answer_schema(kind: str) -> pa.DataFrameSchema:
    """Returns the schema of an answer kind, such as `choice`: `SCHEMA` of a module in
    `tables.answers`.

    Raises:
        ModuleNotFoundError: there is no such kind.
    """
    schema: pa.DataFrameSchema = import_module(f"biasgrid.tables.answers.{kind}").SCHEMA
    return schema
