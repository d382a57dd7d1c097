"""Rows, objects and lines of users' files, whose fields are checked as they are read.

All readers of families' files go through here, so that encodings, line ends, comments and names
that are nearly right are treated alike. Faults are collected and not raised: a user who mends a
file wants to see all of them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.rows import nested_values
from biasgrid.base.text import note_cure, read_text

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}
"""The signs that may separate the columns of a table. Spreadsheets of many countries write
semicolons.
"""
COMMENT_MARK = "#"
"""Lines of text lists that begin with it are comments."""
JSON_LINE = "one JSON object per line"


class Record:
    """A row of a table or an object of a JSON file.

    Attributes:
        file: path of the file.
        where: place in the file, such as `line 3` or `data.intrasentence[0]`.
        values: the fields by name; fields of nested objects have names like `answer_info.ans0`.
        faults: list to which faults are added; all records of a file share it.
        parent: the record that contains this one, None for a row or a top object.
        is_valid: whether no fault was found so far, in the fields that were read or in children.
    """

    def __init__(
        self,
        file: Path,
        where: str,
        values: Mapping[str, Any],
        faults: list[Fault],
        parent: Record | None = None,
    ) -> None:
        self.file = file
        self.where = where
        self.values = values
        self.faults = faults
        self.parent = parent
        self.is_valid = True

    def add_fault(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault at a field, which makes this record and those that contain it invalid.

        An empty field is the record as a whole.
        """
        self.faults.append(Fault(str(self.file), self.place(field), problem, expected))
        record: Record | None = self
        while record is not None:
            record.is_valid = False
            record = record.parent

    def place(self, field: str) -> str:
        """Returns the place of a field, for messages; of an empty one, that of the record."""
        return f"{self.where}, {field}" if field else self.where

    def describe(self, field: str) -> str:
        """Describes the value of a field, for messages: `missing`, `empty`, or as in a config."""
        if field not in self.values:
            return "missing"
        value = self.values[field]
        if isinstance(value, str) and not value.strip():
            return "empty"
        return value_text(value)

    def text(self, field: str) -> str:
        """Returns a text unchanged.

        A missing or blank text, another type, or invisible characters are a fault. The result is
        then empty, or has these characters.
        """
        value = self.values.get(field)
        if not isinstance(value, str) or not value.strip():
            self.add_fault(field, self.describe(field), "text")
            return ""
        self.note_hidden_characters(field, value)
        return value

    def label(self, field: str) -> str:
        """Returns a text without surrounding spaces; a whole number counts as text. See `text`."""
        value = self.values.get(field)
        # Not isinstance: True is an int, too.
        return str(value) if type(value) is int else self.text(field).strip()

    def optional(self, field: str) -> str | None:
        """Returns a text without surrounding spaces, None if it is missing or blank."""
        return (self.values.get(field) or "").strip() or None

    def choice(self, field: str, allowed: Iterable[str]) -> str:
        """Returns a text that must be one of several; otherwise a fault, and the text."""
        value = self.label(field)
        if value and value not in allowed:
            self.add_fault(field, repr(value), one_of(allowed))
        return value

    def texts(self, field: str) -> list[str]:
        """Returns a list of texts; without one, a fault and an empty list."""
        value = self.values.get(field)
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            self.note_hidden_characters(field, "".join(value))
            return value
        self.add_fault(field, self.describe(field), "a list of texts")
        return []

    def note_hidden_characters(self, field: str, text: str) -> None:
        r"""Adds a fault if a text has an invisible character.

        JSON may have one as `\u200b`, unseen by `read_text`.
        """
        hidden = hidden_character(text)
        if hidden:
            self.add_fault(field, f"contains {hidden}", VISIBLE_CHARACTERS)


class JsonRecord(Record):
    """An object of a JSON file, whose places are paths such as `data.intrasentence[0].id`."""

    def place(self, field: str) -> str:
        """Returns the path of a field, or of the record itself if the field is empty."""
        # The place of the object that is the whole file is empty.
        return ".".join(filter(None, (self.where, field)))

    def child(self, field: str, values: Mapping[str, Any]) -> JsonRecord:
        """Returns an object within this one; its faults make this record invalid, too."""
        return JsonRecord(self.file, self.place(field), values, self.faults, parent=self)


class ListLine(NamedTuple):
    """A line of a text list.

    Attributes:
        number: its number in the file, from 1.
        text: its text without surrounding spaces, never empty.
    """

    number: int
    text: str


def list_lines(
    path: Path, expected: str, faults: list[Fault], *, is_needed: bool = False
) -> list[ListLine]:
    """Returns the lines of a text list that are neither blank nor comments.

    Args:
        path: the file.
        expected: a description of the file, for messages.
        faults: list to which a fault is added if the file cannot be read; there are then no lines.
        is_needed: whether a list without any line is a fault, too.
    """
    try:
        text = read_text(path, expected)
    except InputError as error:
        faults += error.faults
        return []
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.strip()
        if content and not content.startswith(COMMENT_MARK):
            lines.append(ListLine(number, content))
    if is_needed and not lines:
        problem = "only comments" if text.strip() else "the file is empty"
        faults.append(Fault(str(path), "", problem, "one item per line"))
    return lines


def list_words(path: Path, expected: str, faults: list[Fault]) -> list[str]:
    """Returns the distinct words of a text list with a word or phrase in each line, in lower case.

    Args:
        path: the file.
        expected: a description of the file, for messages.
        faults: list to which a fault is added if the file cannot be read or has no words, of which
            there are then none; and for each comment in the line of a word.
    """
    faults_before = len(faults)
    words: dict[str, None] = {}
    for line in list_lines(path, expected, faults):
        if f" {COMMENT_MARK}" in line.text:
            problem = f"{line.text!r} has a {COMMENT_MARK} behind a word"
            place = f"line {line.number}"
            faults.append(Fault(str(path), place, problem, "comments in lines of their own"))
        words[line.text.lower()] = None
    if not words and len(faults) == faults_before:
        faults.append(Fault(str(path), "", "contains no words", expected))
    return list(words)


def json_line_records(path: Path, expected: str, faults: list[Fault]) -> Iterator[Record]:
    """Yields the objects of a file that has one in each line; blank lines do not count.

    Args:
        path: the file.
        expected: a description of the file, for messages.
        faults: list to which faults are added: a file that cannot be read, lines that are no
            objects.
    """
    try:
        text = read_text(path, expected)
    except InputError as error:
        faults += error.faults
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(str(path), where, f"not JSON ({error})", JSON_LINE))
            continue
        if isinstance(content, dict):
            yield Record(path, where, nested_values(content), faults)
        else:
            faults.append(Fault(str(path), where, value_text(content), JSON_LINE))


def table_records(
    path: Path,
    columns: Sequence[str],
    expected: str,
    faults: list[Fault],
    delimiters: Iterable[str] = DELIMITERS,
) -> Iterator[Record]:
    """Yields the rows of a table with a header.

    Nothing is raised: a file that cannot be read, or lacks a column, is one fault or a few and no
    rows. Faults are complete once all rows were taken.

    Args:
        path: the file.
        columns: columns that must be there; others may be. Spaces around names are ignored.
        expected: a description of the file, for messages.
        faults: list to which faults are added. Rows with the wrong number of values are skipped.
        delimiters: the signs that may separate columns; the one that the header has most of does.
    """
    try:
        # `splitlines` also splits at U+2028 and the like, which `read_text` refuses.
        lines = read_text(path, expected).splitlines(keepends=True)
    except InputError as error:
        faults += error.faults
        return
    delimiter = choose_delimiter(path, lines[0] if lines else "", delimiters)
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        missing = list(missing_columns(path, names, columns, expected))
        if missing:
            faults += missing
            return
        reader.fieldnames = names
        for row in reader:
            record = Record(path, f"line {reader.line_num}", row, faults)
            # The csv module puts surplus values under the key None, and None for missing values.
            if None in row or None in row.values():
                problem = f"not the same number of values as the {len(names)} columns of line 1"
                record.add_fault("columns", problem, "a value for each column")
            else:
                yield record
    except csv.Error as error:
        place = f"line {reader.line_num}"
        faults.append(Fault(str(path), place, f"cannot be read ({error})", expected))


def choose_delimiter(path: Path, header: str, delimiters: Iterable[str] = DELIMITERS) -> str:
    """Returns the sign that separates the columns of a table.

    Args:
        path: the table. If other signs than commas separate the columns of a `.csv`, that is noted.
        header: its first line.
        delimiters: the signs that may separate columns; the one that the header has most of does.
    """
    # `csv.Sniffer` takes a common letter for the delimiter of a table with few rows.
    delimiter = max(delimiters, key=header.count)
    if path.suffix.lower() == ".csv" and delimiter in header and delimiter != ",":
        note_cure(
            path, f"{DELIMITERS[delimiter]} separate its columns; it was read as such a table"
        )
    return delimiter


def missing_columns(
    path: Path, required_columns: Sequence[str], columns: Sequence[str], expected: str
) -> Iterator[Fault]:
    """Yields a fault for each column that is not among the names in the first line of a table."""
    for name in columns:
        if name not in required_columns:
            problem = f"no column {name!r}{nearest_name(name, required_columns)}"
            yield Fault(str(path), "line 1", problem, expected)
