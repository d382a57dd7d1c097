"""The keys of a finished shard's answers, in a file beside the table of answers.

The keys are sorted, each with the row of its answer. A look-up reads only the row groups that may
contain a key, and then only the row groups of the answers that it found. In a table of instances no
two rows have the same key, so that for shards of the same table rows are compared and no key is
read.
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
"""The fact in the provenance of kept keys that has the first key of each row group."""
ASKED_ROWS = "asked_rows"
"""The fact in the provenance of kept keys, and of answers with keys, that has their `RowRange`."""
ROW_GROUPS_AT_ONCE = 16
"""How many row groups of keys are in memory together."""
NO_ROW_GROUP = -1
"""Where a key is smaller than all keys of a file."""


class RowRange(NamedTuple):
    """A range of rows of a table of instances.

    Attributes:
        table: the SHA-256 of the table's file.
        start: the first row, counted from 0.
        end: the row after the last one.
    """

    table: str
    start: int
    end: int

    def excludes(self, other: RowRange) -> bool:
        """Whether another range is of the same table and shares no row with this one."""
        is_apart = other.end <= self.start or self.end <= other.start
        return self.table == other.table and is_apart


def row_range(path: Path, facts: Mapping[str, Any]) -> RowRange:
    """Returns the rows of instances that a file answers.

    Args:
        path: a file of kept keys, or of answers with keys; for the message.
        facts: its provenance.

    Raises:
        TableError: the provenance has no range.
    """
    if ASKED_ROWS not in facts:
        raise TableError(f"{path}: does not say which rows it answers")
    return RowRange(*facts[ASKED_ROWS])


def keys_path(answers: Path) -> Path:
    """Returns the file for the keys of a table of answers, beside the table."""
    return answers.with_suffix(".keys")


def write_keys(keys: pl.Series, path: Path, rows: RowRange) -> None:
    """Writes the keys of a table of answers.

    Args:
        keys: the keys, in the order of the table's rows.
        path: the file.
        rows: the rows of instances that the table answers.
    """
    order = keys.arg_sort().cast(pl.UInt32)
    sorted_keys = pl.DataFrame({"key": keys.gather(order), "row": order})
    facts = {FIRST_KEYS: row_group_starts(sorted_keys), ASKED_ROWS: rows}
    write_table(sorted_keys, path, KEPT_KEYS, facts)


def row_group_starts(keys: pl.DataFrame) -> list[int]:
    """Returns the first key of each row group; the first row must begin a row group."""
    return keys["key"].gather_every(ROWS_A_GROUP).to_list()


def join_keys(paths: Sequence[Path], path: Path) -> None:
    """Writes the keys of the concatenation of several tables of answers.

    The keys are sorted range by range, with as many ranges as tables, so that about one table's
    keys are in memory.

    Args:
        paths: the keys of the tables, whose row ranges must follow one another without a gap.
        path: the file to write.
    """
    ranges = [row_range(file, read_provenance(file, anywhere=True)) for file in paths]
    rows = RowRange(ranges[0].table, ranges[0].start, ranges[-1].end)
    bounds = [position * 2**64 // len(paths) for position in range(len(paths) + 1)]
    # `write_table_in_parts` writes facts after all rows, when the first keys are complete.
    facts: dict[str, Any] = {FIRST_KEYS: [], ASKED_ROWS: rows}

    def keys_in_order() -> Iterator[pl.DataFrame]:
        for low, end in pairwise(bounds):
            keys = []
            for file, file_rows in zip(paths, ranges, strict=True):
                shift = file_rows.start - rows.start
                keys.append(keys_between(file, low, end - 1).with_columns(pl.col("row") + shift))
            yield pl.concat(keys).sort("key")

    def parts() -> Iterator[pl.DataFrame]:
        for part in begin_on_row_groups(keys_in_order()):
            facts[FIRST_KEYS] += row_group_starts(part)
            yield part

    write_table_in_parts(parts(), path, KEPT_KEYS, facts)


def begin_on_row_groups(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Cuts rows anew, so that each part begins on a row group of the file, as `row_group_starts`
    needs. The last part may be short or empty.
    """
    rest: list[pl.DataFrame] = []
    for part in parts:
        rows = pl.concat([*rest, part])
        whole = len(rows) // ROWS_A_GROUP * ROWS_A_GROUP
        if whole:
            yield rows.head(whole)
        rest = [rows.slice(whole)]
    yield from rest


def keys_between(path: Path, least: int, largest: int) -> pl.DataFrame:
    """Returns the kept keys of a file between two numbers, both included, in rising order."""
    bounds = np.array([least, largest], np.uint64)
    groups = possible_row_groups(bounds, path, read_provenance(path, anywhere=True))
    start, last = np.maximum(groups, 0)
    keys = read_row_groups(path, KEPT_KEYS, np.arange(start, last + 1))
    return keys.filter(pl.col("key").is_between(*bounds))


def possible_row_groups(
    keys: npt.NDArray[np.uint64], path: Path, facts: Mapping[str, Any]
) -> IntArray:
    """Returns for each key the only row group of a file that may contain it, or `NO_ROW_GROUP`.

    Raises:
        TableError: the provenance has no first keys.
    """
    if FIRST_KEYS not in facts:
        raise TableError(f"{path}: does not say where its row groups begin")
    starts = np.array(facts[FIRST_KEYS], np.uint64)
    return np.searchsorted(starts, keys, side="right") - 1


def find_keys(path: Path, instances: pl.DataFrame, rows: RowRange) -> pl.DataFrame:
    """Finds the answers to instances in a table of answers.

    Args:
        path: the file of the table's keys.
        instances: `key` and `instance_row`, the row in the table of instances, of each instance
            without an answer; and any other columns.
        rows: the rows of instances that the shard asks.

    Returns:
        The rows of `instances` that have an answer, with its `row` in the table of answers, in
        the order of these rows.

    Raises:
        TableError: the file is missing or damaged.
    """
    facts = read_provenance(path, anywhere=True)
    file_rows = row_range(path, facts)
    if file_rows.table == rows.table:
        in_file = pl.col("instance_row").is_between(file_rows.start, file_rows.end, closed="left")
        row = pl.col("instance_row") - file_rows.start
        return instances.filter(in_file).with_columns(row=row).sort("row")
    groups = possible_row_groups(instances["key"].to_numpy(), path, facts)
    needed_groups = np.unique(groups[groups != NO_ROW_GROUP])
    matches = [instances.clear().with_columns(row=pl.lit(None, pl.UInt32))]
    for start in range(0, len(needed_groups), ROW_GROUPS_AT_ONCE):
        batch = needed_groups[start : start + ROW_GROUPS_AT_ONCE]
        keys = read_row_groups(path, KEPT_KEYS, batch)
        in_batch = (groups >= batch[0]) & (groups <= batch[-1])
        matches.append(instances.filter(in_batch).join(keys, on="key"))
    return pl.concat(matches).sort("row")
