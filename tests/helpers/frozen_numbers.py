"""Numbers of the small grids as they were made once, and what a run makes of them now.

`BIASGRID_FREEZE=1 pytest tests/workflow -k frozen` writes them again, after a change that is meant to change numbers.
They are of one kind of processor: on another, models' answers differ in their last digits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from compare_results import Comparison, compare_tables, renamed, renamed_path
from kept_measures import machine

FROZEN = Path(__file__).parents[1] / "workflow" / "frozen"
FOLDERS = ("measures", "intervals", "design", "comparisons")
"""Folders of results that hold every number once."""
TOLERANCE = 1e-12
NOT_FROZEN = ("/tone", "/read")
"""Datasets scored by models whose tokenizer no seed decides."""


def numbers_of(results: Path, names: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Returns all numbers of a folder of results, one table behind the other, with `table`.

    Args:
        results: the folder.
        names: what folders, columns and values of it are called now, where it is of an earlier version.
    """
    names = names or {}
    olds = {new: old for old, new in names.items()}
    parts = []
    for folder in FOLDERS:
        for path in sorted((results / olds.get(folder, folder)).rglob("*.parquet")):
            name = renamed_path(path.relative_to(results), names).removesuffix(".parquet")
            table = renamed(pl.read_parquet(path), names).with_columns(table=pl.lit(name))
            if not any(dataset in name for dataset in NOT_FROZEN):
                parts.append(table.filter(pl.col("value").is_not_null()).drop("flag", strict=False))
    return pl.concat(parts, how="diagonal_relaxed")


def assert_frozen(grid: str, results: Path) -> None:
    """Checks that a small grid has the frozen numbers and no others, or freezes them where the environment says so."""
    path, made = FROZEN / f"{grid}.parquet", numbers_of(results)
    if os.environ.get("BIASGRID_FREEZE") == "1":
        made.write_parquet(path, compression="zstd", compression_level=22, metadata={"machine": machine()})
    if pl.read_parquet_metadata(path)["machine"] != machine():
        pytest.skip("another processor or torch gives other last digits")
    found = Comparison()
    compare_tables(grid, pl.read_parquet(path), made, found)
    assert (found.missing, found.added) == ([], [])
    assert found.largest <= TOLERANCE, found.where
    assert found.numbers > 0
