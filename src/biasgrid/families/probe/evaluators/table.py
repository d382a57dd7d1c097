"""The tables that evaluators return."""

from __future__ import annotations

import polars as pl

ANSWER = "answer"
"""What labels of whole answers are called in the column `score`."""
FOUND_SCHEMA = pl.Schema({"row": pl.UInt32, "score": pl.String, "label": pl.String, "value": pl.Float64})


def typed_rows(found: pl.DataFrame) -> pl.DataFrame:
    """Returns what was found with the types of `SCHEMA`."""
    return found.select(FOUND_SCHEMA.names()).cast(FOUND_SCHEMA)


def label_rows(answers: pl.DataFrame, label: pl.Expr) -> pl.DataFrame:
    """Returns the labels of answers that have one; each counts once."""
    rows = answers.select("row", label=label.cast(pl.String)).drop_nulls("label")
    return typed_rows(rows.with_columns(score=pl.lit(ANSWER), value=pl.lit(1.0)))


def the_one(found: dict[str, pl.Expr]) -> pl.Expr:
    """Returns the label that is found, null where none is, or several are.

    Args:
        found: whether each label is found.
    """
    label = pl.coalesce(pl.when(is_found).then(pl.lit(name)) for name, is_found in found.items())
    return pl.when(pl.sum_horizontal(found.values()) == 1).then(label)
