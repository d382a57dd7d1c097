"""Reads a file of templates as a table: a CSV file with a template in each row."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import NamedTuple

from biasgrid.base.faults import Fault, nearest, one_of

PARAMETER = re.compile(r"param_(\d+)")
NEEDED = ("template_id", "template_text", "constraints", "label")
MORE = ("negation_of", "reason")
"""Columns that APES does not know: the template that one negates, and why its label is right."""
FILE = "templates: a CSV file with the columns template_id, template_text, param_1, ..., constraints and label"


class Row(NamedTuple):
    """A row of a file of templates.

    Attributes:
        line: the line in which it ends.
        cells: its cells by column; empty where there is nothing.
    """

    line: int
    cells: Mapping[str, str]


class Table(NamedTuple):
    """A file of templates.

    Attributes:
        file: its path.
        parameters: the numbers of its parameters.
        rows: its rows.
    """

    file: str
    parameters: tuple[str, ...]
    rows: list[Row]


def table_of(file: str, text: str, faults: list[Fault]) -> Table:
    """Reads the text of a file of templates, and reports what is wrong with its form."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        faults.append(Fault(file, f"line {reader.line_num}", f"no CSV ({error})", "fields separated by commas"))
        return Table(file, (), [])
    header = lines[0][1] if lines else []
    wrong = header_faults(file, header)
    faults += wrong
    rows = [] if wrong else rows_of(file, header, lines[1:], faults)
    return Table(file, parameters_of(header), rows)


def parameters_of(header: Sequence[str]) -> tuple[str, ...]:
    """Returns the numbers of the parameters among columns."""
    return tuple(found[1] for name in header if (found := PARAMETER.fullmatch(name)))


def missing_columns(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns the columns that are not there."""
    return [Fault(file, "line 1", f"there is no column {name}", FILE) for name in NEEDED if name not in header]


def header_faults(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns columns that are missing, stand twice or are not known."""
    wrong, known = missing_columns(file, header), (*NEEDED, *MORE)
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            wrong.append(Fault(file, "line 1", f"the column {name!r} appears twice", "every column once"))
        if name not in known and not PARAMETER.fullmatch(name):
            expected = one_of([*known, "param_1"])
            wrong.append(Fault(file, "line 1", f"unknown column {name!r}{nearest(name, known)}", expected))
    return wrong


def rows_of(file: str, header: Sequence[str], lines: Sequence[tuple[int, list[str]]], faults: list[Fault]) -> list[Row]:
    """Returns the rows below the header, and reports those that are none."""
    rows = []
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            faults.append(Fault(file, f"line {line}", "is blank", "a template"))
        elif len(cells) != len(header):
            faults.append(Fault(file, f"line {line}", f"{len(cells)} fields", f"{len(header)}, as in the first line"))
        else:
            rows.append(Row(line, dict(zip(header, cells, strict=True))))
    return rows
