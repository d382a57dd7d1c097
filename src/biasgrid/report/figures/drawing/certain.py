"""How figures show how sure numbers are: intervals, and in words what these are over."""

from __future__ import annotations

import polars as pl
from plotnine import aes, geom_segment
from plotnine.geoms.geom import geom

THIN = 0.5
"""Width of the line of an interval."""


def over_frames(rows: pl.DataFrame, level: float) -> str:
    """Words what the intervals of a figure are over, such as `95 % over 7 frames`.

    Args:
        rows: with `low` and `frames`; those without an interval do not count.
        level: the coverage of intervals.
    """
    known = rows.drop_nulls(["low", "frames"])
    return f"{100 * level:g} % over {frames_of(known)}" if len(known) else "no intervals: there are too few frames"


def frames_of(rows: pl.DataFrame) -> str:
    """Words how many frames numbers are made of, such as `2 to 7 frames`.

    Args:
        rows: with `frames`, at least one.
    """
    counts = rows["frames"].cast(pl.Int64).to_list()
    fewest, most = min(counts), max(counts)
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{number} frame{'' if most == 1 else 's'}"


def interval_lines(rows: pl.DataFrame, y: str, low: str = "low", high: str = "high", **look: object) -> list[geom]:
    """Returns the layer of horizontal intervals; no layer where there are none.

    Args:
        rows: what is drawn.
        y: the column that says in which row of the figure a number stands.
        low: the column of lower ends.
        high: the column of upper ends.
        look: further aesthetics of the lines, such as `color`.
    """
    known = rows.drop_nulls([low, high])
    return [] if known.is_empty() else [geom_segment(aes(low, y, xend=high, yend=y), known, **({"size": THIN} | look))]
