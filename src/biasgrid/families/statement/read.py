"""Reads a pack of statements: a file of templates, and the domains of their parameters.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.names import SPACING, similar_names, spacing_problem
from biasgrid.base.records import Record, choose_delimiter, list_lines
from biasgrid.base.text import explain_unreadable, read_text
from biasgrid.families.family import Mode
from biasgrid.families.prompts import NumberedLines, Prompt, prompt_of_lines, read_prompts
from biasgrid.families.statement.constraints import (
    Constraint,
    ConstraintError,
    DomainValue,
    Reference,
    attributes_of_values,
    parse_constraint,
)
from biasgrid.families.statement.pack import (
    STATEMENT,
    STATEMENT_LABELS,
    UNUSED,
    StatementFiles,
    StatementPack,
    StatementTemplate,
)

if TYPE_CHECKING:
    import polars as pl

DOMAIN_LINE = "a value and its class, with a comma between them"
DOMAIN_FILE = f"a domain: {DOMAIN_LINE}"
DOMAIN_FOLDER = "a folder of domains: files with a value and its class in each line"
TEMPLATE_FILE = (
    "templates: a CSV file with the columns template_id, template_text, param_1, ..., constraints "
    "and label"
)
NEEDED_COLUMNS = ("template_id", "template_text", "constraints", "label")
FURTHER_COLUMNS = ("negation_of", "reason")
"""Columns that APES does not know: the template that one negates, and why its label is right."""
PARAMETER = re.compile(r"param_(\d+)")
PARAMETER_SLOT = re.compile(r"#(\d+)")
MOST_STATEMENTS = 2**32 - 1
Domains = Mapping[str, tuple[DomainValue, ...]]


def read(files: StatementFiles) -> tuple[StatementPack, list[Fault]]:
    """Reads the files of a dataset and returns them with every fault that is in them.

    Files that are read as another project reads them have only the faults at which it fails
    itself, and those of packs that are empty or cannot be numbered.
    """
    mode, faults = StatementMode.of(files.mode), list[Fault]()
    domains = read_domains(files.domains, mode, faults)
    table = read_template_table(files.templates, mode, faults)
    templates = [make_template(row, table.parameters, domains, mode) for row in table.rows]
    negations = mode.negations(files.templates, templates, faults)
    prompts = read_prompts(files.prompts, make_prompt, faults)
    if not prompts:
        prompts = (Prompt(files.prompt, files.system),)
    pack = StatementPack(table.parameters, domains, tuple(templates), negations, files, prompts)
    domain_names = {domain for template in templates for domain in template.domains}
    # Combinations of unknown domains cannot be counted.
    if domain_names <= domains.keys():
        if mode.checks:
            faults += template_faults(pack)
        faults += too_many_statements(pack)
    if not templates and not faults:
        faults.append(fault_of_file(pack, "contains no templates", "a template in each row"))
    if not faults and mode.checks:
        faults += nothing_left(pack)
    return pack, list(dict.fromkeys(faults))


def make_prompt(path: Path, lines: NumberedLines, faults: list[Fault]) -> Prompt | None:
    """Makes a prompt of a file's lines, None if they are none; see `prompts.prompt_of_lines`."""
    return prompt_of_lines(path, lines, (STATEMENT,), faults)


# Domains


def read_domains(folder: Path, mode: StatementMode, faults: list[Fault]) -> Domains:
    """Reads the domains of a folder, by the names of their files without the last ending.

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
        domains[domain] = mode.domain(file, faults)
    return domains


def line_without_class(file: Path, number: int, line: str) -> Fault:
    """Returns the fault of a line of a domain that has no class."""
    problem = f"{line!r} has no class" if line.strip() else "is blank"
    parts = [part.strip() for part in re.split(r"[;:\t]", line) if part.strip()]
    example = f", as in `{', '.join(parts)}`" if len(parts) == 2 else ""
    return Fault(str(file), f"line {number}", problem, f"{DOMAIN_LINE}{example}")


def value_faults(
    file: Path, number: int, fields: Sequence[str], earlier: Iterable[str]
) -> Iterator[Fault]:
    """Yields the faults of a line of a domain.

    Args:
        file: the domain's file.
        number: the number of the line, from 1.
        fields: its fields, at least two.
        earlier: the values of the lines before it.
    """
    where = f"line {number}"
    if len(fields) > 2:
        yield Fault(str(file), where, f"{len(fields)} fields", DOMAIN_LINE)
        return
    for field in fields:
        problem = spacing_problem(field)
        if problem:
            yield Fault(str(file), where, f"{field!r} {problem}", SPACING)
    value = fields[0]
    if value in earlier:
        yield Fault(str(file), where, f"{value!r} appears twice", "each value once")
    if "#" in value:
        problem = f"{value!r} contains #, which marks parameters"
        yield Fault(str(file), where, problem, "a value without it")


def spelling_faults(file: Path, values: Sequence[DomainValue]) -> Iterator[Fault]:
    """Yields values and classes that differ from another one only in case or normal form."""
    spellings = {
        "value": [value.name for value in values],
        "class": [value.group for value in values],
    }
    for noun, names in spellings.items():
        for name, other in similar_names(names):
            problem = f"the {noun} {name!r} differs from {other!r} only in case or normal form"
            yield Fault(str(file), "", problem, f"each {noun} with one spelling")


# Templates


class TemplateTable(NamedTuple):
    """A file of templates.

    Attributes:
        parameters: the numbers of its parameters.
        rows: its rows, whose fields are empty texts where there is nothing.
    """

    parameters: tuple[str, ...]
    rows: Sequence[Record]


NO_TABLE = TemplateTable((), [])


def read_template_table(path: Path, mode: StatementMode, faults: list[Fault]) -> TemplateTable:
    """Reads a file of templates; one that cannot be read is a fault and has no rows."""
    try:
        text = read_text(path, TEMPLATE_FILE)
    except InputError as error:
        faults += error.faults
        return NO_TABLE
    return mode.parse_table(path, text, faults)


def parameter_numbers(header: Iterable[str]) -> tuple[str, ...]:
    """Returns the numbers of the parameters among columns."""
    matches = (PARAMETER.fullmatch(name) for name in header)
    return tuple(match[1] for match in matches if match)


def absent_columns(file: Path, header: Sequence[str]) -> list[Fault]:
    """Returns a fault for each column that is missing; a single one if all are, with the line."""
    missing = [name for name in NEEDED_COLUMNS if name not in header]
    problems = [f"there is no column {name}" for name in missing]
    if len(missing) == len(NEEDED_COLUMNS):
        first_line = value_text(",".join(header))
        problems = [f"the names of the columns are not there, but {first_line}"]
    return [Fault(str(file), "line 1", problem, TEMPLATE_FILE) for problem in problems]


def header_faults(file: Path, header: Sequence[str]) -> list[Fault]:
    """Returns faults of columns that are missing, appear twice or are not known."""
    columns = (*NEEDED_COLUMNS, *FURTHER_COLUMNS)
    faults = absent_columns(file, header)
    if not {*NEEDED_COLUMNS} & {*header}:
        return faults
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            problem = f"the column {name!r} appears twice"
            faults.append(Fault(str(file), "line 1", problem, "each column once"))
        if name not in columns and not PARAMETER.fullmatch(name):
            problem = f"unknown column {name!r}{nearest_name(name, columns)}"
            faults.append(Fault(str(file), "line 1", problem, one_of([*columns, "param_1"])))
    return faults


def make_template(
    row: Record, parameters: Sequence[str], domains: Domains, mode: StatementMode
) -> StatementTemplate:
    """Makes a template of a row.

    Unknown domains, and constraints that cannot be read, are added to the faults of the row, which
    are those of the file.

    A constraint that cannot be read becomes an empty one.
    """
    domain_names = tuple(row.values[f"param_{number}"] for number in parameters)
    for number, domain in zip(parameters, domain_names, strict=True):
        if domain not in domains:
            problem = f"param_{number} is {domain!r}{nearest_name(domain, domains)}"
            row.add_fault("", problem, f"a domain: {one_of(filter(None, domains))}")
    constraint: Constraint = ()
    try:
        constraint = mode.constraint(row.values["constraints"], parameters, domain_names, domains)
    except ConstraintError as error:
        row.add_fault("", error.problem, error.expected)
    return StatementTemplate(
        row.values["template_id"],
        row.values["template_text"],
        domain_names,
        constraint,
        row.values["label"],
        negation_of=row.values.get("negation_of", ""),
        where=row.where,
    )


# Checks of what was read


def fault_of_file(pack: StatementPack, problem: str, expected: str) -> Fault:
    """Returns a fault of the file of templates as a whole."""
    return Fault(str(pack.files.templates), "", problem, expected)


def fault_of_template(
    pack: StatementPack, template: StatementTemplate, problem: str, expected: str
) -> Fault:
    """Returns a fault of a template, with the line in which it ends."""
    return Fault(str(pack.files.templates), template.where, problem, expected)


def too_many_statements(pack: StatementPack) -> Iterator[Fault]:
    """Yields a fault if a pack may have more instances than there are numbers.

    Counted are all combinations, before constraints and samples, in all repetitions and formats.
    """
    statements = pack.repetitions * sum(map(pack.count, pack.templates))
    if statements > MOST_STATEMENTS:
        problem = f"more than {MOST_STATEMENTS:,} statements"
        yield fault_of_file(pack, problem, "fewer parameters or values")


def nothing_left(pack: StatementPack) -> Iterator[Fault]:
    """Yields templates whose constraint no values satisfy; called if there is no other fault."""
    for template in pack.templates:
        if not len(pack.allowed(template)):
            problem = "its constraint leaves no values"
            expected = "values that satisfy the constraint"
            yield fault_of_template(pack, template, problem, expected)


def template_faults(pack: StatementPack) -> Iterator[Fault]:
    """Yields faults of templates, one by one and with their negations."""
    first: dict[str, str] = {}
    for template in pack.templates:
        for problem, expected in problems_of_template(pack, template, first):
            yield fault_of_template(pack, template, problem, expected)
        first.setdefault(template.identifier, template.where)
    for place, other in pack.negations.items():
        for problem, expected in pair_problems(pack, place, other):
            yield fault_of_template(pack, pack.templates[other], problem, expected)


def problems_of_template(
    pack: StatementPack, template: StatementTemplate, first_places: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields the problems of a template, each with what was expected.

    Args:
        pack: the pack.
        template: the template.
        first_places: the places of the first templates with the ids of earlier ones.
    """
    name = template.identifier
    if not name.strip():
        yield "template_id is blank", "a different name for every template"
    elif name in first_places:
        problem = f"template_id {name!r} is in {first_places[name]} already"
        yield problem, "a different name for every template"
    yield from text_problems(pack, template)
    yield from constraint_problems(pack, template)
    if template.label not in STATEMENT_LABELS:
        yield f"label is {template.label!r}", " or ".join(STATEMENT_LABELS)
    for domain in dict.fromkeys(template.domains):
        if not pack.values[domain]:
            yield f"the domain {domain!r} is empty", "values in its file"


def text_problems(pack: StatementPack, template: StatementTemplate) -> Iterator[tuple[str, str]]:
    """Yields wrong spaces in a template's text, and parameters in only its text or its columns."""
    spacing = spacing_problem(template.text)
    if spacing:
        yield f"template_text {spacing}", SPACING
    slots = set(PARAMETER_SLOT.findall(template.text))
    domains = zip(pack.parameters, template.domains, strict=True)
    used = {number for number, domain in domains if domain}
    for number in sorted(slots - used):
        yield f"template_text has #{number}", f"a domain in param_{number}"
    for number in sorted(used - slots):
        yield f"param_{number} is not in template_text", f"#{number} there, or an empty cell"


def constraint_problems(
    pack: StatementPack, template: StatementTemplate
) -> Iterator[tuple[str, str]]:
    """Yields tests with words of no value, and comparisons of parameters that are never equal."""
    values = pack.values_of(template)
    tests = [test for alternatives in template.constraint for test in alternatives]
    for test in tests:
        number = pack.parameters[test.left.place]
        left = attributes_of_values(values, test.left)
        if isinstance(test.right, Reference):
            right = attributes_of_values(values, test.right)
            # An empty domain is a fault of its own.
            if left and right and set(left).isdisjoint(right):
                both = f"{number} and {pack.parameters[test.right.place]}"
                problem = f"a constraint compares the parameters {both}, which are never equal"
                yield problem, "different parameters, or no constraint"
            continue
        for word in test.right:
            if word not in left:
                nearest = nearest_name(word, left)
                problem = (
                    f"{word!r} in a constraint{nearest}, which no value of parameter {number} is"
                )
                yield problem, one_of(dict.fromkeys(left))


def pair_problems(pack: StatementPack, place: int, other: int) -> Iterator[tuple[str, str]]:
    """Yields the problems of the template at `other` as the negation of the one at `place`."""
    stated, negation = pack.templates[place], pack.templates[other]
    name = repr(stated.identifier)
    if other in pack.negations:
        problem = f"negates {name} but has a negation itself"
        yield problem, "pairs of a template and its negation"
    if stated.label == negation.label:
        problem = f"has the label {negation.label!r}, like {name}, which it negates"
        yield problem, "labels that differ"
    if stated.domains != negation.domains or stated.constraint != negation.constraint:
        yield f"has other parameters or constraints than {name}, which it negates", "the same ones"
    if stated.text == negation.text:
        yield f"has the same text as {name}, which it negates", "a different text"


# Modes


class StatementMode(Mode):
    """The way in which files are read, texts filled and numbers made; replications are subclasses.

    Attributes:
        checks: whether files are refused that would measure nothing, and statements left out that
            have the text of an earlier one.
    """

    replications: ClassVar[Mapping[str, str]] = {
        "apes": "biasgrid.families.statement.apes:ApesMode"
    }
    checks: ClassVar[bool] = True

    def domain(self, file: Path, faults: list[Fault]) -> tuple[DomainValue, ...]:
        """Reads a domain, a text list with a value and its class in each line.

        Refused are lines without a class or with further fields, values that appear twice, and
        names with wrong spaces or several spellings. Lines without a class are left out.
        """
        values: list[DomainValue] = []
        for number, line in list_lines(file, DOMAIN_FILE, faults):
            fields = [field.strip() for field in line.split(",")]
            if len(fields) < 2:
                faults.append(line_without_class(file, number, line))
                continue
            earlier = [value.name for value in values]
            faults += value_faults(file, number, fields, earlier)
            values.append(DomainValue(fields[0], fields[1]))
        faults += spelling_faults(file, values)
        return tuple(values)

    def parse_table(self, file: Path, text: str, faults: list[Fault]) -> TemplateTable:
        """Reads the text of a file of templates, and adds faults of its form.

        A table with a fault in its header, or one that is no CSV, has no rows; rows that are blank
        or have another number of fields are refused and left out. Semicolons or tabs may separate
        fields in place of commas; that is noted.
        """
        delimiter = choose_delimiter(file, text.partition("\n")[0])
        reader = csv.reader(StringIO(text, newline=""), strict=True, delimiter=delimiter)
        try:
            lines = [(reader.line_num, cells) for cells in reader]
        except csv.Error as error:
            where, problem = f"line {reader.line_num}", f"not CSV ({error})"
            faults.append(Fault(str(file), where, problem, "fields separated by commas"))
            return NO_TABLE
        header = lines[0][1] if lines else []
        wrong = header_faults(file, header)
        faults += wrong
        rows = []
        for line, cells in [] if wrong else lines[1:]:
            # Not strict: a row may have more or fewer fields than columns.
            row = Record(file, f"line {line}", dict(zip(header, cells, strict=False)), faults)
            if not any(cell.strip() for cell in cells):
                row.add_fault("", "is blank", "a template")
            elif len(cells) != len(header):
                row.add_fault("", f"{len(cells)} fields", f"{len(header)}, as in the first line")
            else:
                rows.append(row)
        return TemplateTable(parameter_numbers(header), rows)

    def constraint(
        self, text: str, parameters: Sequence[str], domain_names: Sequence[str], domains: Domains
    ) -> Constraint:
        """Reads the constraint of a template.

        Args:
            text: the constraint.
            parameters: the numbers of all parameters of the file.
            domain_names: the domain of each, `UNUSED` for those that the template leaves out.
            domains: all domains.

        Raises:
            ConstraintError: it cannot be read.
        """
        pairs = zip(parameters, domain_names, strict=True)
        return parse_constraint(text, [number if domain else "" for number, domain in pairs])

    def negations(
        self, file: Path, templates: Sequence[StatementTemplate], faults: list[Fault]
    ) -> Mapping[int, int]:
        """Returns the place of each template's negation, by the place of the template.

        Refused are negations of no other template, and second ones of a template.
        """
        places = {template.identifier: place for place, template in enumerate(templates)}
        negations: dict[int, int] = {}
        for place, template in enumerate(templates):
            name, where = template.negation_of, template.where
            if not name:
                continue
            others = [other for other in places if other != template.identifier]
            if name not in others:
                problem = f"negation_of is {name!r}{nearest_name(name, others)}"
                expected = f"a different template: {one_of(others)}"
                faults.append(Fault(str(file), where, problem, expected))
            elif places[name] in negations:
                problem, expected = (
                    f"is a second negation of {name!r}",
                    "only one negation per template",
                )
                faults.append(Fault(str(file), where, problem, expected))
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
        self, text: str, parameters: Sequence[str], value_columns: Sequence[pl.Series]
    ) -> pl.Series:
        """Fills the text of a template.

        Args:
            text: the template's text, with `#1` for the value of parameter 1.
            parameters: the numbers of the parameters.
            value_columns: the value of each parameter, each of shape (statements,).

        Returns:
            The texts, shape (statements,).
        """
        import polars as pl  # plans do without

        # The empty text makes a text without any part one, too.
        parts = [pl.lit("")]
        # A split by a pattern with one group alternates between texts and numbers.
        for place, part in enumerate(PARAMETER_SLOT.split(text)):
            is_number = place % 2 == 1
            parts.append(pl.col(part) if is_number else pl.lit(part))
        values = pl.DataFrame(dict(zip(parameters, value_columns, strict=True)))
        return values.with_columns(text=pl.concat_str(parts))["text"]

    def published(self, observations: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Returns the measures that another project publishes."""
        return ()
