"""Reads prompts: lines of text, or a column of JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.characters import EXPECTED, hidden
from biasgrid.faults import Fault, InputError, nearest, one_of, shown
from biasgrid.reading import read_text, readable

EXPECTED_FILE = "prompts: .txt with one a line, .jsonl, .csv or .parquet"


class Value(NamedTuple):
    """What stands at a place of a file.

    Attributes:
        where: the place, for messages.
        value: what stands there.
    """

    where: str
    value: Any


def read_prompts(path: Path, column: str) -> tuple[list[str], list[Fault]]:
    """Reads prompts.

    Args:
        path: the file.
        column: where they stand in a file that has columns.

    Returns:
        The prompts that differ, in the file's order, and what is wrong with it.
    """
    prompts: dict[str, None] = {}
    faults: list[Fault] = []
    try:
        for where, value in values_of(path, column):
            if not isinstance(value, str) or not value.strip():
                faults.append(Fault(str(path), where, shown(value), "a prompt"))
            elif name := hidden(value):
                faults.append(Fault(str(path), where, f"holds {name}", EXPECTED))
            else:
                prompts[value] = None
    except InputError as error:
        return [], error.faults
    if not prompts and not faults:
        faults.append(Fault(str(path), "", "holds no prompts", EXPECTED_FILE))
    return list(prompts), faults


def values_of(path: Path, column: str) -> Iterator[Value]:
    """Yields what stands in the column of a file.

    Raises:
        InputError: the file cannot be read, is of another format, or lacks the column.
    """
    readers = {".txt": lines_of, ".jsonl": json_lines, ".csv": csv_rows, ".parquet": parquet_rows}
    if path.suffix not in readers:
        problem = f"the ending {path.suffix!r}"
        raise InputError([Fault(str(path), "", problem, EXPECTED_FILE)])
    yield from readers[path.suffix](path, column)


def lines_of(path: Path, column: str) -> Iterator[Value]:
    """Yields the lines of a text that are not blank."""
    for number, line in enumerate(read_text(path, EXPECTED_FILE).split("\n"), start=1):
        if line.strip():
            yield Value(f"line {number}", line)


def json_lines(path: Path, column: str) -> Iterator[Value]:
    """Yields a key of the objects in the lines of a file."""
    for where, line in lines_of(path, column):
        try:
            content = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError([Fault(str(path), where, f"not JSON ({error})", "a JSON object a line")]) from None
        if not isinstance(content, dict):
            raise InputError([Fault(str(path), where, shown(content), "a JSON object a line")])
        if column not in content:
            raise InputError([lacking(path, where, column, list(content))])
        yield Value(where, content[column])


def csv_rows(path: Path, column: str) -> Iterator[Value]:
    """Yields a column of a file whose first line names its columns."""
    reader = csv.DictReader(StringIO(read_text(path, EXPECTED_FILE)), strict=True)
    try:
        names = list(reader.fieldnames or ())
        if column not in names:
            raise InputError([lacking(path, "line 1", column, names)])
        for row in reader:
            yield Value(f"line {reader.line_num}", row[column])
    except csv.Error as error:
        raise InputError([Fault(str(path), f"line {reader.line_num}", f"not CSV ({error})", EXPECTED_FILE)]) from None


def parquet_rows(path: Path, column: str) -> Iterator[Value]:
    """Yields a column of a table."""
    import polars as pl  # slow to load, and needed for such files alone

    with readable(path, EXPECTED_FILE):
        try:
            names = list(pl.read_parquet_schema(path))
            if column not in names:
                raise InputError([lacking(path, "", column, names)])
            values = pl.read_parquet(path, columns=[column])[column].to_list()
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError([Fault(str(path), "", f"not Parquet ({reason})", EXPECTED_FILE)]) from None
    yield from (Value(f"row {number}", value) for number, value in enumerate(values, start=1))


def lacking(path: Path, where: str, column: str, names: list[str]) -> Fault:
    """Returns the fault of a file without a column."""
    return Fault(str(path), where, f"no column {column!r}{nearest(column, names)}", one_of(names))
