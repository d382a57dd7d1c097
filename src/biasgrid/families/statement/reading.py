"""Reads a pack of statements: a file of templates and the domains of their parameters.

Some templates are unfit to measure anything. `StatementMode` says how files are read and texts
filled.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.names import SPACING, similar_names, spacing_problem
from biasgrid.base.text import explain_unreadable, read_text
from biasgrid.families.family import Mode
from biasgrid.families.prompts import Prompt, prompt_of_lines, read_prompts
from biasgrid.families.statement.pack import (
    STATEMENT,
    UNUSED,
    Constraint,
    ConstraintError,
    DomainValue,
    Reference,
    StatementFiles,
    StatementPack,
    StatementTemplate,
    allowed_combinations,
    attributes_of_values,
    parse_constraint,
)

if TYPE_CHECKING:
    import polars as pl

DOMAIN_FORM = "a value and its class, with a comma between them"
DOMAIN_FOLDER = "a folder of domains: files with a value and its class in each line"
MOST_STATEMENTS = 2**32 - 1
Domains = Mapping[str, tuple[DomainValue, ...]]
PARAMETER = re.compile(r"param_(\d+)")
NEEDED_COLUMNS = ("template_id", "template_text", "constraints", "label")
FURTHER_COLUMNS = ("negation_of", "reason")
"""Columns that APES does not know: the template that one negates, and why its label is right."""
PARAMETER_SLOT = re.compile(r"#(\d+)")
STATEMENT_LABELS = ("Yes", "No")
TEMPLATE_FILE = (
    "templates: a CSV file with the columns template_id, template_text, param_1, ..., constraints "
    "and label"
)


def read_domains(folder: Path, checks: bool, faults: list[Fault]) -> Domains:
    """Reads the domains of a folder, by the names of their files without the last ending.

    Args:
        folder: the folder.
        checks: whether fields behind the class and values that appear twice are refused, which else
            are ignored and kept twice.
        faults: list to which faults are added.

    Returns:
        The domains, and the domain `UNUSED` of parameters that a template leaves out.
    """
    domains: dict[str, tuple[DomainValue, ...]] = {UNUSED: (DomainValue("", ""),)}
    try:
        with explain_unreadable(folder, DOMAIN_FOLDER):
            paths = sorted(folder.iterdir())
            files = [path for path in paths if not (path.name.startswith(".") or path.is_dir())]
    except InputError as error:
        faults += error.faults
        return domains
    for file in files:
        domain = file.stem
        if domain in domains:
            problem = f"is a second file for the domain {domain!r}"
            faults.append(Fault(str(file), "", problem, "one file per domain"))
        domains[domain] = read_domain(file, checks, faults)
    return domains


def read_domain(file: Path, checks: bool, faults: list[Fault]) -> tuple[DomainValue, ...]:
    """Reads a domain, and adds the faults of its lines; see `read_domains`.

    Lines without a class are left out.
    """
    try:
        lines = read_text(file, "a domain: " + DOMAIN_FORM).split("\n")
    except InputError as error:
        faults += error.faults
        return ()
    if not lines[-1]:
        del lines[-1]
    values: list[DomainValue] = []
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < 2:
            problem = f"{line!r} has no class" if line.strip() else "is blank"
            faults.append(Fault(str(file), f"line {number}", problem, DOMAIN_FORM))
            continue
        if checks:
            earlier = [value.name for value in values]
            faults += value_faults(str(file), number, fields, earlier)
        values.append(DomainValue(fields[0], fields[1]))
    if checks:
        faults += spelling_faults(str(file), "value", [value.name for value in values])
        faults += spelling_faults(str(file), "class", [value.group for value in values])
    return tuple(values)


def spelling_faults(file: str, kind: str, names: list[str]) -> Iterator[Fault]:
    """Yields values or classes that differ from another one only in case or normal form."""
    for name, other in similar_names(names):
        problem = f"the {kind} {name!r} differs from {other!r} only in case or normal form"
        yield Fault(file, "", problem, f"each {kind} with one spelling")


def value_faults(file: str, number: int, fields: list[str], earlier: list[str]) -> Iterator[Fault]:
    """Yields the faults of a line of a domain.

    Args:
        file: the domain's file.
        number: the number of the line, from 1.
        fields: its fields, at least two.
        earlier: the values of the lines before it.
    """
    where = f"line {number}"
    if len(fields) > 2:
        yield Fault(file, where, f"{len(fields)} fields", DOMAIN_FORM)
        return
    for field in fields:
        problem = spacing_problem(field)
        if problem:
            yield Fault(file, where, f"{field!r} {problem}", SPACING)
    value = fields[0]
    if value in earlier:
        yield Fault(file, where, f"{value!r} appears twice", "each value once")
    if "#" in value:
        problem = f"{value!r} contains #, which marks parameters"
        yield Fault(file, where, problem, "a value without it")


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


def parameter_numbers(header: Sequence[str]) -> tuple[str, ...]:
    """Returns the numbers of the parameters among columns."""
    matches = (PARAMETER.fullmatch(name) for name in header)
    return tuple(match[1] for match in matches if match)


def missing_columns(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns a fault for each column that is missing."""
    faults = []
    for name in NEEDED_COLUMNS:
        if name not in header:
            faults.append(Fault(file, "line 1", f"there is no column {name}", TEMPLATE_FILE))
    return faults


def header_faults(file: str, header: Sequence[str]) -> list[Fault]:
    """Returns faults of columns that are missing, appear twice or are not known."""
    known = (*NEEDED_COLUMNS, *FURTHER_COLUMNS)
    faults = missing_columns(file, header)
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            problem = f"the column {name!r} appears twice"
            faults.append(Fault(file, "line 1", problem, "each column once"))
        if name not in known and not PARAMETER.fullmatch(name):
            problem = f"unknown column {name!r}{nearest_name(name, known)}"
            faults.append(Fault(file, "line 1", problem, one_of([*known, "param_1"])))
    return faults


def template_rows(
    file: str, header: Sequence[str], lines: Sequence[tuple[int, list[str]]], faults: list[Fault]
) -> list[TemplateRow]:
    """Returns the rows below the header; blank ones and those of other lengths become faults.

    Args:
        file: the file of templates.
        header: its columns.
        lines: the number of the line in which each row ends, and the row's cells.
        faults: list to which faults are added.
    """
    rows = []
    for line, cells in lines:
        where = f"line {line}"
        if not any(cell.strip() for cell in cells):
            faults.append(Fault(file, where, "is blank", "a template"))
        elif len(cells) != len(header):
            expected = f"{len(header)}, as in the first line"
            faults.append(Fault(file, where, f"{len(cells)} fields", expected))
        else:
            rows.append(TemplateRow(line, dict(zip(header, cells, strict=True))))
    return rows


class StatementMode(Mode):
    """The way in which files are read, texts filled and numbers made; replications are subclasses.

    Attributes:
        checks: whether files are refused that would measure nothing, and statements left out that
            have the text of an earlier one.
    """

    replications: ClassVar[Mapping[str, str]] = {"apes": "biasgrid.formats.apes.mode:ApesMode"}
    checks: ClassVar[bool] = True

    def parse_table(self, file: str, text: str, faults: list[Fault]) -> TemplateTable:
        """Reads the text of a file of templates, and adds faults of its form.

        A table with a fault in its header, or one that is no CSV, has no rows.
        """
        reader = csv.reader(StringIO(text, newline=""), strict=True)
        try:
            lines = [(reader.line_num, cells) for cells in reader]
        except csv.Error as error:
            where = f"line {reader.line_num}"
            problem = f"not CSV ({error})"
            faults.append(Fault(file, where, problem, "fields separated by commas"))
            return TemplateTable(file, (), [])
        header = lines[0][1] if lines else []
        wrong = header_faults(file, header)
        faults += wrong
        rows = [] if wrong else template_rows(file, header, lines[1:], faults)
        return TemplateTable(file, parameter_numbers(header), rows)

    def constraint(
        self, text: str, parameters: Sequence[str], named: Sequence[str], domains: Domains
    ) -> Constraint:
        """Reads the constraint of a template.

        Args:
            text: the constraint.
            parameters: the numbers of all parameters of the file.
            named: the domain of each, `UNUSED` for those that the template leaves out.
            domains: all domains.

        Raises:
            ConstraintError: it cannot be read.
        """
        pairs = zip(parameters, named, strict=True)
        return parse_constraint(text, [number if domain else "" for number, domain in pairs])

    def negations(
        self, table: TemplateTable, templates: Sequence[StatementTemplate], faults: list[Fault]
    ) -> Mapping[int, int]:
        """Returns the place of each template's negation, by the place of the template.

        Args:
            table: the rows of the templates, whose column `negation_of` names another one.
            templates: the templates, in the same order.
            faults: list to which names of no template, and second negations, are added.
        """
        places = {template.identifier: place for place, template in enumerate(templates)}
        negations: dict[int, int] = {}
        for place, row in enumerate(table.rows):
            name = row.cells.get("negation_of", "")
            if not name:
                continue
            where = f"line {row.line}"
            own = templates[place].identifier
            others = [identifier for identifier in places if identifier != own]
            if name not in others:
                problem = f"negation_of is {name!r}{nearest_name(name, others)}"
                expected = f"a different template: {one_of(others)}"
                faults.append(Fault(table.file, where, problem, expected))
            elif places[name] in negations:
                problem = f"is a second negation of {name!r}"
                faults.append(Fault(table.file, where, problem, "only one negation per template"))
            else:
                negations[places[name]] = place
        return negations

    def is_negation(self, pack: StatementPack, place: int) -> bool:
        """Whether a template negates another one."""
        return place in pack.negations.values()

    def blocks(self, pack: StatementPack) -> Iterable[tuple[int, tuple[int, ...]]]:
        """Returns the blocks to expand: a place in `pack.statements`, and the templates there."""
        return enumerate(pack.statements)

    def fill_text(
        self, text: str, parameters: Sequence[str], names: Sequence[pl.Series]
    ) -> pl.Series:
        """Fills the text of a template.

        Args:
            text: the template's text, with `#1` for the value of parameter 1.
            parameters: the numbers of the parameters.
            names: the values of each parameter, row by row.

        Returns:
            The texts, row by row.
        """
        parts: list[TextPart] = []
        # A split by a pattern with one group alternates between texts and numbers.
        for place, part in enumerate(PARAMETER_SLOT.split(text)):
            is_number = place % 2 == 1
            parts.append(parameters.index(part) if is_number else part)
        return join_parts(parts, names)

    def published(self, observations: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Returns the measures that another project publishes."""
        return ()


TextPart = str | int
"""A part of a text: as it stands, or the place of the parameter whose value stands there."""


def join_parts(parts: Iterable[TextPart], names: Sequence[pl.Series]) -> pl.Series:
    """Joins the parts of a text with the values of parameters, row by row."""
    import polars as pl  # plans do without

    table = pl.DataFrame({str(place): name for place, name in enumerate(names)})
    # The empty text makes a text without any part one, too.
    columns = [pl.lit("")]
    for part in parts:
        columns.append(pl.lit(part) if isinstance(part, str) else pl.col(str(part)))
    return table.with_columns(text=pl.concat_str(columns))["text"]


def read_template_table(path: Path, mode: StatementMode, faults: list[Fault]) -> TemplateTable:
    """Reads a file of templates."""
    try:
        text = read_text(path, TEMPLATE_FILE)
    except InputError as error:
        faults += error.faults
        return TemplateTable(str(path), (), [])
    return mode.parse_table(str(path), text, faults)


def template_of(
    table: TemplateTable,
    row: TemplateRow,
    domains: Domains,
    mode: StatementMode,
    faults: list[Fault],
) -> StatementTemplate:
    """Makes a template of a row, and adds faults of its domains and its constraint.

    A constraint that cannot be read becomes an empty one.
    """
    where, cells = f"line {row.line}", row.cells
    named = tuple(cells[f"param_{number}"] for number in table.parameters)
    for number, domain in zip(table.parameters, named, strict=True):
        if domain not in domains:
            problem = f"param_{number} is {domain!r}{nearest_name(domain, domains)}"
            expected = f"a domain: {one_of(filter(None, domains))}"
            faults.append(Fault(table.file, where, problem, expected))
    try:
        constraint = mode.constraint(cells["constraints"], table.parameters, named, domains)
    except ConstraintError as error:
        faults.append(Fault(table.file, where, error.problem, error.expected))
        constraint = ()
    return StatementTemplate(
        cells["template_id"], cells["template_text"], named, constraint, cells["label"]
    )


def prompt_of_statement(
    path: Path, lines: Sequence[tuple[int, str]], faults: list[Fault]
) -> Prompt | None:
    """Makes a prompt of a file's lines, None where they are none; see `prompts.prompt_of_lines`."""
    return prompt_of_lines(path, lines, (STATEMENT,), faults)


def read(files: StatementFiles) -> tuple[StatementPack, list[Fault]]:
    """Reads the files of a dataset and returns them with every fault that is in them.

    Files that are read as another project reads them have no fault but those at which it fails
    itself.
    """
    mode, faults = StatementMode.of(files.mode), list[Fault]()
    domains = read_domains(files.domains, mode.checks, faults)
    table = read_template_table(files.templates, mode, faults)
    templates = [template_of(table, row, domains, mode, faults) for row in table.rows]
    negations = mode.negations(table, templates, faults)
    prompts = read_prompts(files.prompts, prompt_of_statement, faults)
    if not prompts:
        prompts = (Prompt(files.prompt, files.system),)
    pack = StatementPack(table.parameters, domains, tuple(templates), negations, files, prompts)
    named = {domain for template in templates for domain in template.domains}
    # Combinations of unknown domains cannot be counted.
    if named <= domains.keys():
        if mode.checks:
            faults += template_faults(table, pack)
        faults += too_many_statements(table, pack)
    if not table.rows and not faults:
        faults.append(Fault(table.file, "", "contains no templates", "a template in each row"))
    if not faults and mode.checks:
        faults += nothing_left(table, pack)
    return pack, list(dict.fromkeys(faults))


def too_many_statements(table: TemplateTable, pack: StatementPack) -> Iterator[Fault]:
    """Yields a pack with more statements than numbers of instances."""
    statements = pack.repetitions * sum(map(pack.combinations, pack.templates))
    if statements > MOST_STATEMENTS:
        problem = f"more than {MOST_STATEMENTS:,} statements"
        yield Fault(table.file, "", problem, "fewer parameters or values")


def template_faults(table: TemplateTable, pack: StatementPack) -> Iterator[Fault]:
    """Yields faults of templates, one by one and with their negations."""
    first: dict[str, int] = {}
    for row, template in zip(table.rows, pack.templates, strict=True):
        where = f"line {row.line}"
        name = template.identifier
        if not name.strip():
            expected = "a different name for every template"
            yield Fault(table.file, where, "template_id is blank", expected)
        elif name in first:
            problem = f"template_id {name!r} is in line {first[name]} already"
            yield Fault(table.file, where, problem, "a different name for every template")
        first.setdefault(name, row.line)
        yield from text_faults(table, row, template)
        yield from constraint_faults(table, row, pack, template)
        if template.label not in STATEMENT_LABELS:
            problem = f"label is {template.label!r}"
            yield Fault(table.file, where, problem, " or ".join(STATEMENT_LABELS))
        for domain in dict.fromkeys(template.domains):
            if not pack.values[domain]:
                problem = f"the domain {domain!r} is empty"
                yield Fault(table.file, where, problem, "values in its file")
    for place, other in pack.negations.items():
        yield from pair_faults(table, pack, place, other)


def text_faults(
    table: TemplateTable, row: TemplateRow, template: StatementTemplate
) -> Iterator[Fault]:
    """Yields wrong spaces in a template's text, and parameters in only its text or its columns."""
    where = f"line {row.line}"
    spacing = spacing_problem(template.text)
    if spacing:
        yield Fault(table.file, where, f"template_text {spacing}", SPACING)
    slots = set(PARAMETER_SLOT.findall(template.text))
    domains = zip(table.parameters, template.domains, strict=True)
    used = {number for number, domain in domains if domain}
    for number in sorted(slots - used):
        problem = f"template_text has #{number}"
        yield Fault(table.file, where, problem, f"a domain in param_{number}")
    for number in sorted(used - slots):
        problem = f"param_{number} is not in template_text"
        yield Fault(table.file, where, problem, f"#{number} there, or an empty cell")


def constraint_faults(
    table: TemplateTable, row: TemplateRow, pack: StatementPack, template: StatementTemplate
) -> Iterator[Fault]:
    """Yields tests with words of no value, and comparisons of parameters that are never equal."""
    where = f"line {row.line}"
    tests = [test for alternatives in template.constraint for test in alternatives]
    for test in tests:
        number = table.parameters[test.left.place]
        left = attributes_of_values(pack, template, test.left)
        if not isinstance(test.right, Reference):
            for word in test.right:
                if word not in left:
                    problem = (
                        f"{word!r} in a constraint{nearest_name(word, left)}, which no value of "
                        f"parameter {number} is"
                    )
                    yield Fault(table.file, where, problem, one_of(dict.fromkeys(left)))
            continue
        right = attributes_of_values(pack, template, test.right)
        # An empty domain is a fault of its own.
        if left and right and set(left).isdisjoint(right):
            both = f"{number} and {table.parameters[test.right.place]}"
            problem = f"a constraint compares the parameters {both}, which are never equal"
            yield Fault(table.file, where, problem, "different parameters, or no constraint")


def nothing_left(table: TemplateTable, pack: StatementPack) -> Iterator[Fault]:
    """Yields templates whose constraint no values satisfy; called if there is no other fault."""
    for row, template in zip(table.rows, pack.templates, strict=True):
        if not len(allowed_combinations(pack, template)):
            problem = "its constraint leaves no values"
            expected = "values that satisfy the constraint"
            yield Fault(table.file, f"line {row.line}", problem, expected)


def pair_faults(
    table: TemplateTable, pack: StatementPack, place: int, other: int
) -> Iterator[Fault]:
    """Yields the faults of a template, at place `other`, as the negation of the one at `place`."""
    stated, negation = pack.templates[place], pack.templates[other]
    where = f"line {table.rows[other].line}"
    name = repr(stated.identifier)
    if other in pack.negations:
        problem = f"negates {name} but has a negation itself"
        yield Fault(table.file, where, problem, "pairs of a template and its negation")
    if stated.label == negation.label:
        problem = f"has the label {negation.label!r}, like {name}, which it negates"
        yield Fault(table.file, where, problem, "labels that differ")
    if stated.domains != negation.domains or stated.constraint != negation.constraint:
        problem = f"has other parameters or constraints than {name}, which it negates"
        yield Fault(table.file, where, problem, "the same ones")
    if stated.text == negation.text:
        problem = f"has the same text as {name}, which it negates"
        yield Fault(table.file, where, problem, "a different text")
