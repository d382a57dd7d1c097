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
        values: what stands in the columns that were asked for; None where a line is too short.
    """

    where: str
    values: Mapping[str, Any]


def read_rows(
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
        expected: what the file should be, for messages.
        optional: names of columns that may be missing, whose values are None then.
        either: names of columns of which at least one must be there; the values of the others are
            None.

    Raises:
        InputError: it cannot be read, is none of these, or lacks a column.
    """
    if path.suffix not in READERS:
        raise InputError(
            [
                Fault(
                    str(path),
                    "",
                    f"the file extension {path.suffix!r}",
                    f"{expected}: .jsonl, .csv or .parquet",
                )
            ]
        )
    yield from READERS[path.suffix](path, columns, expected, optional, either)


def json_lines(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str],
    either: Sequence[str],
) -> Iterator[FileRow]:
    """Yields rows of a file that has an object in each line; blank lines do not count."""
    for where, content in json_objects(path, expected):
        values = nested_values(content)
        check_file_columns(path, where, columns, list(values), either)
        yield FileRow(where, {name: values.get(name) for name in (*columns, *optional, *either)})


def json_objects(path: Path, expected: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects of a file that has one in each line, and their places; blank lines do not
    count.

    Raises:
        InputError: it cannot be read, or a line is no object; the last one may be half written.
    """
    with open_text(path, expected) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                content = json.loads(line)
            except (ValueError, RecursionError) as error:
                is_last = not any(rest.strip() for rest in file)
                cut = (
                    "; this is the last line, and the file may have been cut off" if is_last else ""
                )
                raise InputError(
                    [Fault(str(path), where, f"not JSON ({error})", f"{OBJECT}{cut}")]
                ) from None
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
                yield FileRow(
                    f"line {reader.line_num}",
                    {name: row.get(name) for name in (*columns, *optional, *either)},
                )


@contextmanager
def explain_csv(path: Path, reader: csv.DictReader[str], expected: str) -> Iterator[None]:
    """Puts into words what is wrong with a file that is read as CSV, such as a quotation mark that
    nothing closes.

    Raises:
        InputError: with the line.
    """
    try:
        yield
    except csv.Error as error:
        raise InputError(
            [Fault(str(path), f"line {reader.line_num}", f"not CSV ({error})", expected)]
        ) from None


def parquet_rows(
    path: Path,
    columns: Sequence[str],
    expected: str,
    optional: Sequence[str],
    either: Sequence[str],
) -> Iterator[FileRow]:
    """Yields rows of a table."""
    import polars as pl  # slow to load, and needed for such files alone

    with explain_unreadable(path, expected):
        try:
            schema = pl.read_parquet_schema(path)
            names = [*schema, *(name for name in columns if is_nested(name, schema))]
            check_file_columns(path, "", columns, names, either)
            known = [*columns, *(name for name in (*optional, *either) if name in schema)]
            chosen = dict.fromkeys(name if name in schema else name.split(".")[0] for name in known)
            table = pl.read_parquet(path, columns=list(chosen), glob=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError([Fault(str(path), "", f"not Parquet ({reason})", expected)]) from None
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        values = nested_values(row)
        yield FileRow(
            f"row {number}", {name: values.get(name) for name in (*columns, *optional, *either)}
        )


def is_nested(name: str, schema: Mapping[str, Any]) -> bool:
    """Says whether a name is that of a part of a table's column, such as `prompt.text`."""
    column, *parts = name.split(".")
    kind = schema.get(column)
    for part in parts:
        fields = {field.name: field.dtype for field in getattr(kind, "fields", ())}
        kind = fields.get(part)
    return kind is not None


@contextmanager
def open_text(path: Path, expected: str) -> Iterator[TextIO]:
    """Opens a text in UTF-8, whatever characters it holds: of large files no more than a line is in
    memory.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    with explain_unreadable(path, expected), path.open(encoding="utf-8-sig", newline="") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise InputError(
                [Fault(str(path), "", f"is not UTF-8 ({error.reason})", "UTF-8 text")]
            ) from None


def nested_values(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values by key, and those of objects in it by names such as `prompt.text`."""
    values = dict(content)
    for name, value in content.items():
        if isinstance(value, dict):
            values |= {f"{name}.{part}": one for part, one in nested_values(value).items()}
    return values


READERS: Mapping[
    str, Callable[[Path, Sequence[str], str, Sequence[str], Sequence[str]], Iterator[FileRow]]
] = {
    ".jsonl": json_lines,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""By the endings of files."""


def check_file_columns(
    path: Path, where: str, columns: Sequence[str], names: Sequence[str], either: Sequence[str] = ()
) -> None:
    """Refuses a file without some columns.

    Args:
        path: the file.
        where: the place of the names, for messages.
        columns: what must be there.
        names: what is there.
        either: of which one must be there, if it is not empty.

    Raises:
        InputError: with all of them.
    """
    missing = [name for name in columns if name not in names]
    if not missing and either and not {*either} & {*names}:
        others = (nearest_name(name, either) for name in names if name not in columns)
        near = next(filter(None, others), "")
        raise InputError(
            [Fault(str(path), where, f"no column with an answer{near}", one_of(either))]
        )
    if missing:
        raise InputError(
            Fault(str(path), where, f"no column {name!r}{nearest_name(name, names)}", one_of(names))
            for name in missing
        )
