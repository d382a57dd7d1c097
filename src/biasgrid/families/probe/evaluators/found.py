"""The tables that evaluators return."""

from __future__ import annotations

import polars as pl

ANSWER = "answer"
"""What labels of whole answers are called in the column `score`."""
SCHEMA = pl.Schema({"row": pl.UInt32, "score": pl.String, "label": pl.String, "value": pl.Float64})


def rows_of(found: pl.DataFrame) -> pl.DataFrame:
    """Returns what was found with the types of `SCHEMA`."""
    return found.select(SCHEMA.names()).cast(SCHEMA)


def labelled(answers: pl.DataFrame, label: pl.Expr) -> pl.DataFrame:
    """Returns the labels of answers that have one; each counts once."""
    rows = answers.select("row", label=label.cast(pl.String)).drop_nulls("label")
    return rows_of(rows.with_columns(score=pl.lit(ANSWER), value=pl.lit(1.0)))


def the_one(found: dict[str, pl.Expr]) -> pl.Expr:
    """Returns the label that is found, null where none is, or several are.

    Args:
        found: whether each label is found.
    """
    label = pl.coalesce(pl.when(is_found).then(pl.lit(name)) for name, is_found in found.items())
    return pl.when(pl.sum_horizontal(found.values()) == 1).then(label)
