"""Tables of a cell's numbers for its page: what a family with no drawing of its own tells of the parts of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from biasgrid.families.shown import scaled

Kind = Literal["name", "text", "number", "interval", "count", "template"]
"""What stands in a column: a name, a text that may be hidden, a number, the ends of its interval, a count, or the
number of a template, beside which the page tells its text."""
Columns = Mapping[str, tuple[Kind, str]]
"""By their titles, what stands in columns, and the column of the rows; of intervals its name without `low`."""
MOST_ROWS = 1000


def tabled(
    title: str, about: str, rows: pl.DataFrame, columns: Columns, curve: tuple[str, str, str] | None = None
) -> list[dict[str, Any]]:
    """Makes a table that the page draws as it is.

    Args:
        title: its heading.
        about: what it shows, in a sentence.
        rows: what it shows, of which `MOST_ROWS` are carried.
        columns: its columns; those that hold nothing are left out.
        curve: the titles of what is drawn above it as a curve: that of a name, each of which has a curve, and those of
            the numbers along the curve and up; a column `Interval` is drawn around it.

    Returns:
        The table: `title`, `about`, `of` (how many rows there are), `columns` (title and kind), `rows` and `curve`;
        none where there are no rows.
    """
    if rows.is_empty():
        return []
    drawn = laid_out(rows.head(MOST_ROWS), columns)
    return [{"title": title, "about": about, "of": len(rows), **drawn, "curve": curve}]


def laid_out(rows: pl.DataFrame, columns: Columns) -> dict[str, Any]:
    """Returns rows as the page draws them: `columns` (title and kind) and `rows`; see `tabled`."""
    values = {heading: filled(rows, kind, name) for heading, (kind, name) in columns.items()}
    kept = [heading for heading, column in values.items() if any(value is not None for value in column)]
    return {
        "columns": [[heading, columns[heading][0]] for heading in kept],
        "rows": [list(row) for row in zip(*(values[heading] for heading in kept), strict=True)],
    }


def filled(rows: pl.DataFrame, kind: Kind, name: str) -> Sequence[Any]:
    """Returns what stands in a column."""
    if kind == "interval":
        ends = zip(scaled(rows[f"{name}low"]), scaled(rows[f"{name}high"]), strict=True)
        return [None if None in pair else list(pair) for pair in ends]
    values: list[Any] = scaled(rows[name]) if kind == "number" else rows[name].to_list()
    return values


def side_by_side(rows: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """Puts measures side by side: a row for what each is about.

    Args:
        rows: of `ShownCell.measures`, those of some keys.
        keys: what they are about.
        measures: the measures.

    Returns:
        The keys, and of each measure its value by its name, `NAME low`, `NAME high` and `NAME n`.
    """
    chosen = rows.filter(pl.col("measure").is_in([*measures]))
    columns: dict[str, pl.Expr] = {}
    for measure in measures:
        is_it = pl.col("measure") == measure
        named = {measure: "value", **{f"{measure} {each}": each for each in ("low", "high", "n")}}
        columns |= {title: pl.col(column).filter(is_it).first() for title, column in named.items()}
    return chosen.group_by(keys, maintain_order=True).agg(**columns)


def of_keys(measures: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Returns the rows that are about just these of the keys by which parts of cells are distinguishable."""
    every = ("subject", "group", "other", "template")
    return measures.filter(pl.col(key).is_not_null() if key in keys else pl.col(key).is_null() for key in every)
