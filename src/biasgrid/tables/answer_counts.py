"""How generative models answered: how options were scored, and how responses ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl


def how_answered(predictions: Sequence[Path]) -> dict[str, Any] | None:
    """Counts the answers of a cell by what they say of themselves.

    Args:
        predictions: its predictions tables.

    Returns:
        `answers`, their number; `scored_by` and `status`, by their values how many have each; and `mass`, the mean of
        what was found of 1, None where that is not known. None where nothing is said, as by other models.
    """
    table = pl.scan_parquet(list(predictions), glob=False)
    there = table.collect_schema().names()
    counts = {name: counts_of(table, name) if name in there else {} for name in ("scored_by", "status")}
    if not any(counts.values()):
        return None
    mass = table.select(pl.col("mass").mean()).collect().item() if "mass" in there else None
    return {"answers": table.select(pl.len()).collect().item(), **counts, "mass": mass}


def counts_of(table: pl.LazyFrame, name: str) -> dict[str, int]:
    """Returns how many rows have each value of a column, by value; nulls are not counted."""
    counted = table.select(pl.col(name).cast(pl.String)).drop_nulls().group_by(name).len().sort(name)
    return dict(counted.collect().rows())
