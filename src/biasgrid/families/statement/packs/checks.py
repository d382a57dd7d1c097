"""What makes templates unfit to measure anything, though APES would take them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biasgrid.base.faults import Fault, nearest, one_of
from biasgrid.families.statement.packs.combinations import allowed, attributes
from biasgrid.families.statement.packs.constraints import Reference
from biasgrid.families.statement.packs.pack import Pack, Template
from biasgrid.families.statement.packs.table import Row, Table
from biasgrid.families.texts import SPACING, spacing_problem

SLOT = re.compile(r"#(\d+)")
LABELS = ("Yes", "No")


def template_faults(table: Table, pack: Pack) -> Iterator[Fault]:
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
        if template.label not in LABELS:
            yield Fault(table.file, where, f"label is {template.label!r}", " or ".join(LABELS))
        for domain in dict.fromkeys(template.domains):
            if not pack.values[domain]:
                yield Fault(table.file, where, f"the domain {domain!r} is empty", "values in its file")
    for place, other in pack.negations.items():
        yield from pair_faults(table, pack, place, other)


def text_faults(table: Table, row: Row, template: Template) -> Iterator[Fault]:
    """Yields what is wrong with the text of a template: its white space, and parameters that it lacks or has not."""
    where = f"line {row.line}"
    if problem := spacing_problem(template.text):
        yield Fault(table.file, where, f"template_text {problem}", SPACING)
    slots = set(SLOT.findall(template.text))
    used = {number for number, domain in zip(table.parameters, template.domains, strict=True) if domain}
    for number in sorted(slots - used):
        yield Fault(table.file, where, f"template_text has #{number}", f"a domain in param_{number}")
    for number in sorted(used - slots):
        yield Fault(table.file, where, f"param_{number} is not in template_text", f"#{number} there, or an empty cell")


def constraint_faults(table: Table, row: Row, pack: Pack, template: Template) -> Iterator[Fault]:
    """Yields tests that are always or never passed."""
    where = f"line {row.line}"
    for test in (test for tests in template.constraint for test in tests):
        left, number = attributes(pack, template, test.left), table.parameters[test.left.place]
        if not isinstance(test.right, Reference):
            for word in (word for word in test.right if word not in left):
                problem = f"{word!r} in a constraint{nearest(word, left)}, which no value of parameter {number} is"
                yield Fault(table.file, where, problem, one_of(dict.fromkeys(left)))
        elif left and set(left).isdisjoint(right := attributes(pack, template, test.right)) and right:
            both = f"{number} and {table.parameters[test.right.place]}"
            problem = f"a constraint compares parameters {both}, which are never the same"
            yield Fault(table.file, where, problem, "others, or none")


def nothing_left(table: Table, pack: Pack) -> Iterator[Fault]:
    """Yields templates of which no values go together; asked where nothing else is wrong."""
    for row, template in zip(table.rows, pack.templates, strict=True):
        if not len(allowed(pack, template)):
            yield Fault(table.file, f"line {row.line}", "its constraint leaves no values", "values that go together")


def pair_faults(table: Table, pack: Pack, place: int, other: int) -> Iterator[Fault]:
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
