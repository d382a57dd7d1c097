"""Reads rows with named columns that users wrote: JSON lines, CSV or Parquet, whatever is handed on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.faults import Fault, InputError, nearest, one_of, shown
from biasgrid.reading import read_text, readable

OBJECT = "a JSON object a line"


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        where: its place, for messages.
        values: what stands in the columns that were asked for; None where a line is too short.
    """

    where: str
    values: Mapping[str, Any]


def read_rows(path: Path, columns: Sequence[str], expected: str) -> Iterator[Row]:
    """Yields some columns of the rows of a file, whose ending tells what it is.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.
        columns: their names.
        expected: what the file should be, for messages.

    Raises:
        InputError: it cannot be read, is none of these, or lacks a column.
    """
    if path.suffix not in READERS:
        raise InputError([Fault(str(path), "", f"the ending {path.suffix!r}", f"{expected}: .jsonl, .csv or .parquet")])
    yield from READERS[path.suffix](path, columns, expected)


def json_lines(path: Path, columns: Sequence[str], expected: str) -> Iterator[Row]:
    """Yields rows of a file that has an object in each line; blank lines do not count."""
    for number, line in enumerate(read_text(path, expected).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError([Fault(str(path), where, f"not JSON ({error})", OBJECT)]) from None
        if not isinstance(content, dict):
            raise InputError([Fault(str(path), where, shown(content), OBJECT)])
        check_columns(path, where, columns, list(content))
        yield Row(where, {name: content[name] for name in columns})


def csv_rows(path: Path, columns: Sequence[str], expected: str) -> Iterator[Row]:
    """Yields rows of a file whose first line names its columns."""
    reader = csv.DictReader(StringIO(read_text(path, expected), newline=""), strict=True)
    try:
        if reader.fieldnames is not None:
            check_columns(path, "line 1", columns, list(reader.fieldnames))
        for row in reader:
            yield Row(f"line {reader.line_num}", {name: row[name] for name in columns})
    except csv.Error as error:
        raise InputError([Fault(str(path), f"line {reader.line_num}", f"not CSV ({error})", expected)]) from None


def parquet_rows(path: Path, columns: Sequence[str], expected: str) -> Iterator[Row]:
    """Yields rows of a table."""
    import polars as pl  # slow to load, and needed for such files alone

    with readable(path, expected):
        try:
            check_columns(path, "", columns, list(pl.read_parquet_schema(path)))
            table = pl.read_parquet(path, columns=list(columns), glob=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError([Fault(str(path), "", f"not Parquet ({reason})", expected)]) from None
    yield from (Row(f"row {number}", values) for number, values in enumerate(table.iter_rows(named=True), start=1))


READERS: Mapping[str, Callable[[Path, Sequence[str], str], Iterator[Row]]] = {
    ".jsonl": json_lines,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""By the endings of files."""


def check_columns(path: Path, where: str, columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuses a file without some columns.

    Raises:
        InputError: with all of them.
    """
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError(
            Fault(str(path), where, f"no column {name!r}{nearest(name, names)}", one_of(names)) for name in missing
        )
