"""The keys of a finished shard's answers, beside its table in the store of answers, which has none.

They are sorted, each with the row of its answer, so that a look-up reads no more of them than the row groups between
whose first keys the wanted ones lie, and of the answers no more than the row groups that have these rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from biasgrid.tables.files import ROWS_A_GROUP, TableError, read_provenance, read_row_groups, write_table
from biasgrid.tables.schema import column, table

KEPT_KEYS = table(
    "kept keys",
    {
        "key": column(pl.UInt64, description="key of an answer, in rising order"),
        "row": column(pl.UInt32, description="the row of the answer in its table, counted from 0"),
    },
)
FIRST_KEYS = "first_keys"
"""The fact of their provenance that has the first key of each row group."""


def keys_beside(answers: Path) -> Path:
    """Returns where the keys of a table of answers are."""
    return answers.with_suffix(".keys")


def write_keys(keys: pl.Series, path: Path) -> None:
    """Writes the keys of a table of answers.

    Args:
        keys: the keys, in the order of the table's rows.
        path: the file.
    """
    rows = keys.arg_sort().cast(pl.UInt32)
    ordered = pl.DataFrame({"key": keys.gather(rows), "row": rows})
    write_table(ordered, path, KEPT_KEYS, {FIRST_KEYS: ordered["key"].gather_every(ROWS_A_GROUP).to_list()})


def find_keys(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    """Finds keys among those of a table of answers.

    Args:
        path: the file of the keys.
        wanted: `key` of what is wanted, and other columns.

    Returns:
        The columns of `wanted` for the keys that are there, and `row`, which rises.

    Raises:
        TableError: the file is missing or damaged.
    """
    first_keys = read_provenance(path, anywhere=True).get(FIRST_KEYS)
    if first_keys is None:
        raise TableError(f"{path}: does not say where its row groups begin")
    groups = np.searchsorted(np.array(first_keys, np.uint64), wanted["key"].to_numpy(), side="right") - 1
    there = read_row_groups(path, KEPT_KEYS, np.unique(groups[groups >= 0]))
    return wanted.join(there, on="key").sort("row")
