"""What figures share that is no drawing: picking rows of the measures table, ordering, shortening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS

MOST_ROWS = 80
"""More rows than this cannot be read in one figure; what stands at both ends of an order is shown then."""

Item = TypeVar("Item")


def select_rows(measures: pl.DataFrame, dataset: str, measure: str, keys: Sequence[str]) -> pl.DataFrame:
    """Picks the rows of one dataset and measure that are about exactly these keys.

    Args:
        measures: schema `MEASURES`.
        dataset: the dataset's name.
        measure: the measure's name.
        keys: which of the key columns (`MEASURE_KEYS`) tell the rows apart; the others are null there.

    Returns:
        The columns `model`, the keys, `value` and `n`; no rows where the dataset has no such measure.

    Raises:
        ValueError: the measures have no such dataset.
    """
    if dataset not in measures["dataset"]:
        known = ", ".join(measures["dataset"].unique().sort())
        raise ValueError(f"the measures have no dataset {dataset!r}, only {known}")
    presence = [pl.col(key).is_not_null() if key in keys else pl.col(key).is_null() for key in MEASURE_KEYS]
    wanted = [pl.col("dataset") == dataset, pl.col("measure") == measure, *presence]
    return measures.filter(*wanted).select("model", *keys, "value", "n")


def model_facts(summary: pl.DataFrame) -> pl.DataFrame:
    """Returns `model`, `kind` and `label` of every model, in order of first appearance in the summary."""
    return summary.select("model", "kind", "label").unique(maintain_order=True)


def in_order(frame: pl.DataFrame, column: str) -> list[str]:
    """Returns the distinct values of a column in order of first appearance."""
    return frame[column].unique(maintain_order=True).to_list()


def ordered(frame: pl.DataFrame, **orders: Sequence[str]) -> pl.DataFrame:
    """Gives columns the order in which plots show their values: first value first."""
    return frame.with_columns(pl.col(column).cast(pl.Enum(list(order))) for column, order in orders.items())


def both_ends(order: Sequence[Item], most: int = MOST_ROWS) -> list[Item]:
    """Returns the items at both ends of an order, at most `most`; all where there are no more."""
    if len(order) <= most:
        return list(order)
    return [*order[: most - most // 2], *order[-(most // 2) :]]


def left_out(order: Sequence[str], shown: Sequence[str], what: str) -> str:
    """Says how many items `both_ends` has left out, as an addition to a subtitle; empty where it has none."""
    return f"; {len(order) - len(shown)} {what} in the middle are left out" if len(shown) < len(order) else ""


def shorten(text: str, length: int) -> str:
    """Cuts a text to at most `length` characters, the last of which is an ellipsis if something is cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def shorten_all(texts: Sequence[str], length: int) -> dict[str, str]:
    """Shortens distinct texts; those that would look the same then are numbered.

    Returns:
        The short form of each text; the short forms are distinct.
    """
    short: dict[str, str] = {}
    for text in texts:
        candidate, number = shorten(text, length), 2
        while candidate in short.values():
            candidate, number = f"{shorten(text, length - 4)} ({number})", number + 1
        short[text] = candidate
    return short
