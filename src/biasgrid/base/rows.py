"""Reads rows with named columns from users' files: JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.text import explain_unreadable

OBJECT = "one JSON object per line"


class FileRow(NamedTuple):
    """A row of a file.

    Attributes:
        where: its place, for messages.
        values: the values of the requested columns, None for columns beyond the end of a line.
    """

    where: str
    values: Mapping[str, Any]


def read_file_rows(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str] = (),
    either: Sequence[str] = (),
) -> Iterator[FileRow]:
    """Yields some columns of the rows of a file, by its ending.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.
        columns: their names; `prompt.text` is the key `text` of the object in `prompt`.
        expected: a description of the right file, for messages.
        optional: names of columns that may be missing; their values are then None.
        either: names of columns of which at least one is needed; the values of others are None.

    Raises:
        InputError: it cannot be read, is none of these, or lacks a column.
    """
    if path.suffix not in READERS:
        problem = f"the file extension {path.suffix!r}"
        raise InputError([Fault(str(path), "", problem, f"{expected}: .jsonl, .csv or .parquet")])
    yield from READERS[path.suffix](path, columns, expected, optional, either)


def json_lines(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str],
    either: Sequence[str],
) -> Iterator[FileRow]:
    """Yields rows of a file with a JSON object in each line; blank lines do not count."""
    for where, content in json_objects(path, expected):
        values = nested_values(content)
        check_file_columns(path, where, columns, list(values), either)
        yield FileRow(where, {name: values.get(name) for name in (*columns, *optional, *either)})


def json_objects(path: Path, expected: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields places and objects of a file with a JSON object in each line, but for blank lines.

    Raises:
        InputError: it cannot be read, or a line is no object. If it is the last line, which may be
            half written, the message says so.
    """
    with open_text(path, expected) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                content = json.loads(line)
            except (ValueError, RecursionError) as error:
                expected = OBJECT
                if not any(later_line.strip() for later_line in file):
                    expected = (
                        f"{OBJECT}; this is the last line, and the file may have been cut off"
                    )
                problem = f"not JSON ({error})"
                raise InputError([Fault(str(path), where, problem, expected)]) from None
            if not isinstance(content, dict):
                raise InputError([Fault(str(path), where, value_text(content), OBJECT)])
            yield where, content


def csv_rows(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str],
    either: Sequence[str],
) -> Iterator[FileRow]:
    """Yields rows of a file whose first line names its columns."""
    with open_text(path, expected) as file:
        reader = csv.DictReader(file, strict=True)
        with explain_csv(path, reader, expected):
            if reader.fieldnames is not None:
                check_file_columns(path, "line 1", columns, list(reader.fieldnames), either)
            for row in reader:
                values = {name: row.get(name) for name in (*columns, *optional, *either)}
                yield FileRow(f"line {reader.line_num}", values)


@contextmanager
def explain_csv(path: Path, reader: csv.DictReader[str], expected: str) -> Iterator[None]:
    """Turns an error of CSV, such as an unclosed quotation mark, into InputError with its line."""
    try:
        yield
    except csv.Error as error:
        where, problem = f"line {reader.line_num}", f"not CSV ({error})"
        raise InputError([Fault(str(path), where, problem, expected)]) from None


def parquet_rows(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str],
    either: Sequence[str],
) -> Iterator[FileRow]:
    """Yields rows of a table in a Parquet file."""
    import polars as pl  # slow to load, and needed for such files alone

    with explain_unreadable(path, expected):
        try:
            schema = pl.read_parquet_schema(path)
            nested = [name for name in columns if is_nested(name, schema)]
            check_file_columns(path, "", columns, [*schema, *nested], either)
            names = [*columns, *(name for name in (*optional, *either) if name in schema)]
            # Only whole columns can be read, so a nested name stands for its column.
            whole = [name if name in schema else name.split(".")[0] for name in names]
            table = pl.read_parquet(path, columns=list(dict.fromkeys(whole)), glob=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError([Fault(str(path), "", f"not Parquet ({reason})", expected)]) from None
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        row_values = nested_values(row)
        values = {name: row_values.get(name) for name in (*columns, *optional, *either)}
        yield FileRow(f"row {number}", values)


def is_nested(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a name is the name of a part of a table's column, such as `prompt.text`."""
    column, *parts = name.split(".")
    kind = schema.get(column)
    for part in parts:
        fields = {field.name: field.dtype for field in getattr(kind, "fields", ())}
        kind = fields.get(part)
    return kind is not None


@contextmanager
def open_text(path: Path, expected: str) -> Iterator[TextIO]:
    """Opens a file of text in UTF-8 to read it line by line, as it may be large.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    with explain_unreadable(path, expected), path.open(encoding="utf-8-sig", newline="") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8 ({error.reason})"
            raise InputError([Fault(str(path), "", problem, "UTF-8 text")]) from None


def nested_values(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values by key, and values of objects in it by names such as `prompt.text`."""
    values = dict(content)
    for name, value in content.items():
        if isinstance(value, dict):
            for part, inner_value in nested_values(value).items():
                values[f"{name}.{part}"] = inner_value
    return values


READERS: Mapping[
    str, Callable[[Path, Sequence[str], str, Sequence[str], Sequence[str]], Iterator[FileRow]]
] = {
    ".jsonl": json_lines,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""Readers of rows by the endings of files."""


def check_file_columns(
    path: Path, where: str, columns: Sequence[str], names: Sequence[str], either: Sequence[str] = ()
) -> None:
    """Refuses a file without some columns.

    Args:
        path: the file.
        where: the place of the names, for messages.
        columns: the names of columns that are needed.
        names: the names of the file's columns.
        either: names of columns of which one is needed, if there are any.

    Raises:
        InputError: with all columns that are missing.
    """
    missing = [name for name in columns if name not in names]
    if missing:
        faults = []
        for name in missing:
            problem = f"no column {name!r}{nearest_name(name, names)}"
            faults.append(Fault(str(path), where, problem, one_of(names)))
        raise InputError(faults)
    if either and set(either).isdisjoint(names):
        hints = [nearest_name(name, either) for name in names if name not in columns]
        hint = next(filter(None, hints), "")
        problem = f"no column with an answer{hint}"
        raise InputError([Fault(str(path), where, problem, one_of(either))])
