"""The keys of a finished shard's answers, beside its table in the store of answers, which has none.

They are sorted, each with the row of its answer, so that a look-up reads no more of them than the
row groups between whose first keys the wanted ones lie, and of the answers no more than the row
groups that have these rows. In a table of instances no two rows have the same key: of shards of one
table rows are compared, and no key is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.files import (
    ROWS_A_GROUP,
    TableError,
    read_provenance,
    read_row_groups,
    write_table,
    write_table_in_parts,
)
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
ASKED_ROWS = "asked_rows"
"""The fact of kept keys, or of answers that have their keys, that says which rows of which
instances they answer.
"""
GROUPS_AT_ONCE = 16
"""How many row groups of keys are in memory together."""


class AskedRows(NamedTuple):
    """Rows of a table of instances.

    Attributes:
        table: the SHA-256 of its file.
        first: the first row, counted from 0.
        end: the row after the last one.
    """

    table: str
    first: int
    end: int

    def excludes(self, other: AskedRows) -> bool:
        """Whether other rows are of the same table, and none of these."""
        return self.table == other.table and (other.end <= self.first or self.end <= other.first)


def asked_rows_of(path: Path, facts: Mapping[str, Any]) -> AskedRows:
    """Returns the rows that the provenance of kept keys, or of answers with keys, names.

    Raises:
        TableError: it names none.
    """
    if ASKED_ROWS not in facts:
        raise TableError(f"{path}: does not say which rows it answers")
    return AskedRows(*facts[ASKED_ROWS])


def keys_beside(answers: Path) -> Path:
    """Returns where the keys of a table of answers are."""
    return answers.with_suffix(".keys")


def write_keys(keys: pl.Series, path: Path, asked: AskedRows) -> None:
    """Writes the keys of a table of answers.

    Args:
        keys: the keys, in the order of the table's rows.
        path: the file.
        asked: which rows these are.
    """
    rows = keys.arg_sort().cast(pl.UInt32)
    ordered = pl.DataFrame({"key": keys.gather(rows), "row": rows})
    write_table(ordered, path, KEPT_KEYS, {FIRST_KEYS: first_of_groups(ordered), ASKED_ROWS: asked})


def first_of_groups(keys: pl.DataFrame) -> list[int]:
    """Returns the first key of each row group."""
    return keys["key"].gather_every(ROWS_A_GROUP).to_list()


def join_keys(paths: Sequence[Path], path: Path) -> None:
    """Writes the keys of tables of answers as those of one in which they follow one another.

    They are sorted range by range, as many ranges as there are tables, so that no more is in memory
    than of one table.

    Args:
        paths: the files of the keys of these tables, which answer rows that follow one another.
        path: the file.
    """
    answered = [asked_rows_of(each, read_provenance(each, anywhere=True)) for each in paths]
    asked = AskedRows(answered[0].table, answered[0].first, answered[-1].end)
    bounds = [number * 2**64 // len(paths) for number in range(len(paths) + 1)]
    # The first keys are complete when all rows are written, before which no provenance is.
    facts: dict[str, Any] = {FIRST_KEYS: [], ASKED_ROWS: asked}

    def keys_in_order() -> Iterator[pl.DataFrame]:
        for low, end in pairwise(bounds):
            of_tables = zip(paths, answered, strict=True)
            each = [
                keys_between(file, low, end - 1).with_columns(
                    pl.col("row") + (rows.first - asked.first)
                )
                for file, rows in of_tables
            ]
            yield pl.concat(each).sort("key")

    def parts() -> Iterator[pl.DataFrame]:
        for part in in_whole_groups(keys_in_order()):
            facts[FIRST_KEYS] += first_of_groups(part)
            yield part

    write_table_in_parts(parts(), path, KEPT_KEYS, facts)


def in_whole_groups(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Divides rows anew, so that all parts but the last one fill their row groups."""
    left: list[pl.DataFrame] = []
    for part in parts:
        rows = pl.concat([*left, part])
        whole = len(rows) // ROWS_A_GROUP * ROWS_A_GROUP
        if whole:
            yield rows.head(whole)
        left = [rows.slice(whole)]
    yield from left


def keys_between(path: Path, least: int, largest: int) -> pl.DataFrame:
    """Returns those of the kept keys in a file that are between two numbers, both included."""
    bounds = np.array([least, largest], np.uint64)
    first, last = np.maximum(groups_of(bounds, path, read_provenance(path, anywhere=True)), 0)
    keys = read_row_groups(path, KEPT_KEYS, np.arange(first, last + 1))
    return keys.filter(pl.col("key").is_between(*bounds))


def groups_of(keys: npt.NDArray[np.uint64], path: Path, facts: Mapping[str, Any]) -> IntArray:
    """Returns the row groups in which keys are if they are there, -1 where they are not.

    Raises:
        TableError: the file does not say where its row groups begin.
    """
    if FIRST_KEYS not in facts:
        raise TableError(f"{path}: does not say where its row groups begin")
    return np.searchsorted(np.array(facts[FIRST_KEYS], np.uint64), keys, side="right") - 1


def find_keys(path: Path, wanted: pl.DataFrame, asked: AskedRows) -> pl.DataFrame:
    """Finds keys among those of a table of answers.

    Args:
        path: the file of the keys.
        wanted: `key` of what is wanted, `asked_row`, its row in the table of instances, and other
            columns.
        asked: the rows of instances that the shard asks.

    Returns:
        The columns of `wanted` for the keys that are there, and `row`, which rises.

    Raises:
        TableError: the file is missing or damaged.
    """
    facts = read_provenance(path, anywhere=True)
    answered = asked_rows_of(path, facts)
    if answered.table == asked.table:
        there = wanted.filter(
            pl.col("asked_row").is_between(answered.first, answered.end, closed="left")
        )
        return there.with_columns(row=pl.col("asked_row") - answered.first).sort("row")
    groups = groups_of(wanted["key"].to_numpy(), path, facts)
    needed = np.unique(groups[groups >= 0])
    found = [wanted.clear().with_columns(row=pl.lit(None, pl.UInt32))]
    for start in range(0, len(needed), GROUPS_AT_ONCE):
        some = needed[start : start + GROUPS_AT_ONCE]
        keys = read_row_groups(path, KEPT_KEYS, some)
        found.append(wanted.filter((groups >= some[0]) & (groups <= some[-1])).join(keys, on="key"))
    return pl.concat(found).sort("row")
