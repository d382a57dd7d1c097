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


class Columns(NamedTuple):
    """The columns that are read from a file; no name is in two of the fields.

    The name `prompt.text` is the key `text` of the object in the column `prompt`. In Parquet only
    mandatory columns can have such names.

    Attributes:
        mandatory: columns that the file must have; in JSON lines, each line.
        optional: columns that may be missing.
        any_of: columns of which at least one must be there, unless there are none in this field.
    """

    mandatory: Sequence[str]
    optional: Sequence[str] = ()
    any_of: Sequence[str] = ()

    @property
    def all_names(self) -> list[str]:
        """All columns."""
        return [*self.mandatory, *self.optional, *self.any_of]


class FileRow(NamedTuple):
    """A row of a file.

    Attributes:
        where: its place, for messages.
        values: the value of each of `Columns.all_names`. A null, and a column that the row does not
            have, is None; an empty cell of CSV is "". Values of CSV are text, others have the types
            of the file.
    """

    where: str
    values: Mapping[str, Any]


def read_file_rows(path: Path, columns: Columns, expected: str) -> Iterator[FileRow]:
    """Yields the rows of a file in order, in a format that its ending names.

    Surplus values of a line of CSV are ignored.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.
        columns: the columns to read; others are skipped.
        expected: a description of the right file, for messages.

    Raises:
        InputError: the file cannot be read, has another ending, or lacks a column. It is raised
            when the faulty row is requested, and never before the first.
    """
    if path.suffix not in READERS:
        problem = f"the file extension {path.suffix!r}"
        raise InputError([Fault(str(path), "", problem, f"{expected}: .jsonl, .csv or .parquet")])
    yield from READERS[path.suffix](path, columns, expected)


def json_lines(path: Path, columns: Columns, expected: str) -> Iterator[FileRow]:
    """Yields the rows of a file with a JSON object in each line; see `read_file_rows`.

    Blank lines are skipped. Each line must have the mandatory columns.
    """
    for where, content in json_objects(path, expected):
        values = nested_values(content)
        check_file_columns(path, where, columns, list(values))
        yield FileRow(where, {name: values.get(name) for name in columns.all_names})


def json_objects(path: Path, expected: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each line's place, such as `line 3`, and its JSON object; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line is not an object. If that is the last line,
            the message says that the file may have been cut off.
    """
    with open_text(path, expected) as file:
        for line_number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"line {line_number}"
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


def csv_rows(path: Path, columns: Columns, expected: str) -> Iterator[FileRow]:
    """Yields the rows of a CSV file whose first line names its columns; see `read_file_rows`."""
    with open_text(path, expected) as file:
        reader = csv.DictReader(file, strict=True)
        with explain_csv(path, reader, expected):
            if reader.fieldnames is not None:
                check_file_columns(path, "line 1", columns, list(reader.fieldnames))
            for row in reader:
                values = {name: row.get(name) for name in columns.all_names}
                yield FileRow(f"line {reader.line_num}", values)


@contextmanager
def explain_csv(path: Path, reader: csv.DictReader[str], expected: str) -> Iterator[None]:
    """Turns an error of CSV, such as an unclosed quotation mark, into InputError with its line."""
    try:
        yield
    except csv.Error as error:
        where, problem = f"line {reader.line_num}", f"not CSV ({error})"
        raise InputError([Fault(str(path), where, problem, expected)]) from None


def parquet_rows(path: Path, columns: Columns, expected: str) -> Iterator[FileRow]:
    """Yields the rows of a Parquet file; see `read_file_rows`."""
    import polars as pl  # slow to load, and only such files need it

    with explain_unreadable(path, expected):
        try:
            schema = pl.read_parquet_schema(path)
            nested_names = [name for name in columns.mandatory if is_nested(name, schema)]
            check_file_columns(path, "", columns, [*schema, *nested_names])
            # Polars reads only whole columns: for `prompt.text` it must read `prompt`.
            whole_columns = [name.split(".")[0] for name in nested_names if name not in schema]
            whole_columns += [name for name in columns.all_names if name in schema]
            unique_columns = list(dict.fromkeys(whole_columns))
            table = pl.read_parquet(path, columns=unique_columns, glob=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError([Fault(str(path), "", f"not Parquet ({reason})", expected)]) from None
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        row_values = nested_values(row)
        yield FileRow(f"row {number}", {name: row_values.get(name) for name in columns.all_names})


def is_nested(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a name such as `prompt.text` is the path of a field in a column of structures.

    Args:
        name: the name.
        schema: polars' type of each column.
    """
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


def nested_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to a row the values of objects in it, at any depth, under names such as `prompt.text`.

    The objects themselves stay. Items of lists are not added.
    """
    values = dict(row)
    for name, value in row.items():
        if isinstance(value, dict):
            for part, inner_value in nested_values(value).items():
                values[f"{name}.{part}"] = inner_value
    return values


READERS: Mapping[str, Callable[[Path, Columns, str], Iterator[FileRow]]] = {
    ".jsonl": json_lines,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""The function that reads each format, by the ending of the file."""


def check_file_columns(
    path: Path, where: str, columns: Columns, column_names: Sequence[str]
) -> None:
    """Refuses a file that lacks columns.

    Args:
        path: the file.
        where: the place of the file's columns in it, for messages.
        columns: the columns that are read.
        column_names: the columns of the file.

    Raises:
        InputError: with all mandatory columns that are missing, or else that all of
            `columns.any_of` are.
    """
    missing = [name for name in columns.mandatory if name not in column_names]
    if missing:
        faults = []
        for name in missing:
            problem = f"no column {name!r}{nearest_name(name, column_names)}"
            faults.append(Fault(str(path), where, problem, one_of(column_names)))
        raise InputError(faults)
    if columns.any_of and set(columns.any_of).isdisjoint(column_names):
        other_names = [name for name in column_names if name not in columns.mandatory]
        hints = [nearest_name(name, columns.any_of) for name in other_names]
        hint = next(filter(None, hints), "")
        problem = f"no column with an answer{hint}"
        raise InputError([Fault(str(path), where, problem, one_of(columns.any_of))])
