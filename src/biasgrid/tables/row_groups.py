"""Reads some rows of a table, and of its file no more than the row groups that have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.files import (
    REMEDY,
    ROWS_A_GROUP,
    empty_table,
    read_facts,
    unreadable_table,
    validate_table,
)


def read_rows(path: str | Path, schema: pa.DataFrameSchema, rows: IntArray) -> pl.DataFrame:
    """Reads some rows of a table, wherever it lies, and validates them.

    Args:
        path: the file.
        schema: its schema.
        rows: which rows, counted from 0, rising; shape (rows,).

    Raises:
        TableError: the file is not readable as Parquet, was not made by biasgrid, has no such rows or does not fit its
            schema.
    """
    groups = np.unique(rows // ROWS_A_GROUP)
    read = read_row_groups(path, schema, groups)
    # All row groups are full but the last one of the file.
    places = np.searchsorted(groups, rows // ROWS_A_GROUP) * ROWS_A_GROUP + rows % ROWS_A_GROUP
    if places.max(initial=-1) >= len(read):
        raise unreadable_table(path, schema.name, IndexError(f"no row {rows[-1]}"))
    return read if len(places) == len(read) else read[places]


def read_row_groups(path: str | Path, schema: pa.DataFrameSchema, groups: IntArray) -> pl.DataFrame:
    """Reads some row groups of a table, one below the other, and validates them; see `read_rows`."""
    read_facts(path, schema.name, anywhere=True)
    runs = [run for run in np.split(groups, np.flatnonzero(np.diff(groups) > 1) + 1) if len(run)]
    table = pl.scan_parquet(path, glob=False)
    try:
        read = pl.collect_all([table.slice(run[0] * ROWS_A_GROUP, len(run) * ROWS_A_GROUP) for run in runs])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, schema.name, error) from None
    rows = pl.concat(read) if read else empty_table(schema)
    validate_table(rows, schema, path, remedy=f"; {REMEDY}")
    return rows
