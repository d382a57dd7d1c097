"""Intervals of figures in words."""

from __future__ import annotations

import polars as pl


def interval_note(rows: pl.DataFrame, level: float) -> str:
    """Returns coverage and clusters of the intervals in a figure, such as `95 % over 7 clusters`.

    Args:
        rows: rows with `low` and `clusters`; rows without an interval do not count.
        level: the coverage of intervals.
    """
    with_interval = rows.drop_nulls(["low", "clusters"])
    if with_interval.is_empty():
        return "no intervals: there are too few clusters"
    return f"{100 * level:g} % over {cluster_count_text(with_interval)}"


def cluster_count_text(rows: pl.DataFrame) -> str:
    """Returns the number of clusters of some numbers, such as `2 to 7 clusters`.

    Args:
        rows: rows with `clusters`, at least one.
    """
    counts = rows["clusters"].cast(pl.Int64).to_list()
    fewest, most = min(counts), max(counts)
    text = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{text} cluster{'' if most == 1 else 's'}"
