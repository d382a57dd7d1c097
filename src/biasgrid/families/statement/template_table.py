"""The table of a file of templates (CSV, a template in each row), and what is wrong with the templates in it.

Some templates are unfit to measure anything though APES would take them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import NamedTuple

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import SPACING, spacing_problem
from biasgrid.families.statement.pack import (
    Reference,
    StatementPack,
    StatementTemplate,
    allowed_combinations,
    attributes_of_values,
)

PARAMETER = re.compile(r"param_(\d+)")
NEEDED_COLUMNS = ("template_id", "template_text", "constraints", "label")
FURTHER_COLUMNS = ("negation_of", "reason")
"""Columns that APES does not know: the template that one negates, and why its label is right."""
PARAMETER_SLOT = re.compile(r"#(\d+)")
STATEMENT_LABELS = ("Yes", "No")
TEMPLATE_FILE = "templates: a CSV file with the columns template_id, template_text, param_1, ..., constraints and label"


class TemplateRow(NamedTuple):
    """A row of a file of templates.

    Attributes:
        line: the line in which it ends.
        cells: its cells by column; empty where there is nothing.
    """

    line: int
    cells: Mapping[str, str]


class TemplateTable(NamedTuple):
    """A file of templates.

    Attributes:
        file: its path.
        parameters: the numbers of its parameters.
        rows: its rows.
    """

    file: str
    parameters: tuple[str, ...]
    rows: list[TemplateRow]


def parse_template_table(file: str, text: str, faults: list[Fault]) -> TemplateTable:
    """Reads the text of a file of templates, and reports what is wrong with its form."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        faults.append(Fault(file, f"line {reader.line_num}", f"no CSV ({error})", "fields separated by commas"))
        return TemplateTable(file, (), [])
    header = lines[0][1] if lines else []
    wrong = header_faults(file, header)
    faults += wrong
    rows = [] if wrong else template_rows(file, header, lines[1:], faults)
    return TemplateTable(file, parameter_numbers(header), rows)


def parameter_numbers(header: Sequence[str]) -> tuple[str, ...]:
    """Returns the numbers of the parameters among columns."""
    return tuple(found[1] for name in header if (found := PARAMETER.fullmatch(name)))


def missing_columns(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns the columns that are not there."""
    return [
        Fault(file, "line 1", f"there is no column {name}", TEMPLATE_FILE)
        for name in NEEDED_COLUMNS
        if name not in header
    ]


def header_faults(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns columns that are missing, stand twice or are not known."""
    wrong, known = missing_columns(file, header), (*NEEDED_COLUMNS, *FURTHER_COLUMNS)
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            wrong.append(Fault(file, "line 1", f"the column {name!r} appears twice", "every column once"))
        if name not in known and not PARAMETER.fullmatch(name):
            expected = one_of([*known, "param_1"])
            wrong.append(Fault(file, "line 1", f"unknown column {name!r}{nearest_name(name, known)}", expected))
    return wrong


def template_rows(
    file: str, header: Sequence[str], lines: Sequence[tuple[int, list[str]]], faults: list[Fault]
) -> list[TemplateRow]:
    """Returns the rows below the header, and reports those that are none."""
    rows = []
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            faults.append(Fault(file, f"line {line}", "is blank", "a template"))
        elif len(cells) != len(header):
            faults.append(Fault(file, f"line {line}", f"{len(cells)} fields", f"{len(header)}, as in the first line"))
        else:
            rows.append(TemplateRow(line, dict(zip(header, cells, strict=True))))
    return rows


def template_faults(table: TemplateTable, pack: StatementPack) -> Iterator[Fault]:
    """Yields what is wrong with templates, one by one and with their negations."""
    first: dict[str, int] = {}
    for row, template in zip(table.rows, pack.templates, strict=True):
        where = f"line {row.line}"
        if not template.identifier.strip():
            yield Fault(table.file, where, "template_id is blank", "a different name for every template")
        elif template.identifier in first:
            problem = f"template_id {template.identifier!r} is in line {first[template.identifier]} already"
            yield Fault(table.file, where, problem, "a different name for every template")
        first.setdefault(template.identifier, row.line)
        yield from text_faults(table, row, template)
        yield from constraint_faults(table, row, pack, template)
        if template.label not in STATEMENT_LABELS:
            yield Fault(table.file, where, f"label is {template.label!r}", " or ".join(STATEMENT_LABELS))
        for domain in dict.fromkeys(template.domains):
            if not pack.values[domain]:
                yield Fault(table.file, where, f"the domain {domain!r} is empty", "values in its file")
    for place, other in pack.negations.items():
        yield from pair_faults(table, pack, place, other)


def text_faults(table: TemplateTable, row: TemplateRow, template: StatementTemplate) -> Iterator[Fault]:
    """Yields what is wrong with the text of a template: its white space, and parameters that it lacks or has not."""
    where = f"line {row.line}"
    if problem := spacing_problem(template.text):
        yield Fault(table.file, where, f"template_text {problem}", SPACING)
    slots = set(PARAMETER_SLOT.findall(template.text))
    used = {number for number, domain in zip(table.parameters, template.domains, strict=True) if domain}
    for number in sorted(slots - used):
        yield Fault(table.file, where, f"template_text has #{number}", f"a domain in param_{number}")
    for number in sorted(used - slots):
        yield Fault(table.file, where, f"param_{number} is not in template_text", f"#{number} there, or an empty cell")


def constraint_faults(
    table: TemplateTable, row: TemplateRow, pack: StatementPack, template: StatementTemplate
) -> Iterator[Fault]:
    """Yields tests that are always or never passed."""
    where = f"line {row.line}"
    for test in (test for tests in template.constraint for test in tests):
        left, number = attributes_of_values(pack, template, test.left), table.parameters[test.left.place]
        if not isinstance(test.right, Reference):
            for word in (word for word in test.right if word not in left):
                problem = f"{word!r} in a constraint{nearest_name(word, left)}, which no value of parameter {number} is"
                yield Fault(table.file, where, problem, one_of(dict.fromkeys(left)))
        elif left and set(left).isdisjoint(right := attributes_of_values(pack, template, test.right)) and right:
            both = f"{number} and {table.parameters[test.right.place]}"
            problem = f"a constraint compares parameters {both}, which are never the same"
            yield Fault(table.file, where, problem, "others, or none")


def nothing_left(table: TemplateTable, pack: StatementPack) -> Iterator[Fault]:
    """Yields templates of which no values go together; asked where nothing else is wrong."""
    for row, template in zip(table.rows, pack.templates, strict=True):
        if not len(allowed_combinations(pack, template)):
            yield Fault(table.file, f"line {row.line}", "its constraint leaves no values", "values that go together")


def pair_faults(table: TemplateTable, pack: StatementPack, place: int, other: int) -> Iterator[Fault]:
    """Yields what keeps a template from being the negation of another one."""
    stated, negation, where = pack.templates[place], pack.templates[other], f"line {table.rows[other].line}"
    if other in pack.negations:
        problem = f"negates {stated.identifier!r}, and is negated itself"
        yield Fault(table.file, where, problem, "templates in pairs of one and its negation")
    if stated.label == negation.label:
        problem = f"has the label {negation.label!r}, like {stated.identifier!r}, which it negates"
        yield Fault(table.file, where, problem, "labels that differ")
    if stated.domains != negation.domains or stated.constraint != negation.constraint:
        problem = f"has other parameters or constraints than {stated.identifier!r}, which it negates"
        yield Fault(table.file, where, problem, "the same ones")
    if stated.text == negation.text:
        yield Fault(table.file, where, f"has the text of {stated.identifier!r}, which it negates", "another text")
