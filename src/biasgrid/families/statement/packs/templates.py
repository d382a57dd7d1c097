"""Makes templates of the rows of their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasgrid.base.faults import Fault, InputError, nearest, one_of
from biasgrid.base.text import read_text
from biasgrid.families.statement.packs.constraints import ConstraintError, parse
from biasgrid.families.statement.packs.domains import Domains
from biasgrid.families.statement.packs.original import negations_by_place, parse_as_original, table_as_original
from biasgrid.families.statement.packs.pack import Template
from biasgrid.families.statement.packs.table import FILE, Row, Table, table_of


def read_table(path: Path, as_original: bool, faults: list[Fault]) -> Table:
    """Reads a file of templates.

    Args:
        path: the file.
        as_original: whether it is read as APES reads it.
        faults: takes what is wrong.
    """
    try:
        text = read_text(path, FILE)
    except InputError as error:
        faults += error.faults
        return Table(str(path), (), [])
    return (table_as_original if as_original else table_of)(str(path), text, faults)


def templates_of(table: Table, domains: Domains, as_original: bool, faults: list[Fault]) -> list[Template]:
    """Makes templates of rows, and reports what is wrong with their domains and constraints."""
    return [template_of(table, row, domains, as_original, faults) for row in table.rows]


def template_of(table: Table, row: Row, domains: Domains, as_original: bool, faults: list[Fault]) -> Template:
    """Makes a template of a row."""
    where, cells = f"line {row.line}", row.cells
    named = tuple(cells[f"param_{number}"] for number in table.parameters)
    for number, domain in zip(table.parameters, named, strict=True):
        if domain not in domains:
            problem = f"param_{number} is {domain!r}{nearest(domain, domains)}"
            faults.append(Fault(table.file, where, problem, f"a domain: {one_of(filter(None, domains))}"))
    used = [number if domain else "" for number, domain in zip(table.parameters, named, strict=True)]
    # APES looks at constraints only while it makes statements.
    is_read = not as_original or all(domains.get(domain) for domain in named)
    try:
        text = cells["constraints"] if is_read else ""
        constraint = parse_as_original(text, table.parameters) if as_original else parse(text, used)
    except ConstraintError as error:
        faults.append(Fault(table.file, where, error.problem, error.expected))
        constraint = ()
    return Template(cells["template_id"], cells["template_text"], named, constraint, cells["label"])


def negations_of(
    table: Table, templates: Sequence[Template], as_original: bool, faults: list[Fault]
) -> Mapping[int, int]:
    """Returns which template is the negation of which, by place, and reports names of none."""
    if as_original:
        return negations_by_place(templates)
    places = {template.identifier: place for place, template in enumerate(templates)}
    negations: dict[int, int] = {}
    for place, row in enumerate(table.rows):
        name = row.cells.get("negation_of", "")
        if not name:
            continue
        others = [each for each in places if each != templates[place].identifier]
        if name not in others:
            problem = f"negation_of is {name!r}{nearest(name, others)}"
            faults.append(Fault(table.file, f"line {row.line}", problem, f"another template: {one_of(others)}"))
        elif places[name] in negations:
            problem = f"is a second negation of {name!r}"
            faults.append(Fault(table.file, f"line {row.line}", problem, "one negation of a template"))
        else:
            negations[places[name]] = place
    return negations
