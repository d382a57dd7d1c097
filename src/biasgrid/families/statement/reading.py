"""Reads a pack of statements: templates and the domains of their parameters, here as they should be or as APES does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.names import SPACING, similar_names, spacing_problem
from biasgrid.base.text import explain_unreadable, read_text
from biasgrid.families.statement.pack import (
    UNUSED,
    Constraint,
    ConstraintError,
    DomainValue,
    Reference,
    StatementFiles,
    StatementPack,
    StatementTemplate,
    Test,
    parse_constraint,
)
from biasgrid.families.statement.template_table import (
    TEMPLATE_FILE,
    TemplateRow,
    TemplateTable,
    missing_columns,
    nothing_left,
    parameter_numbers,
    parse_template_table,
    template_faults,
)

DOMAIN_FORM = "a value and its class, with a comma between them"
DOMAIN_FOLDER = "a folder of domains, files with a value and its class in each line"
TWO_ARGUMENTS = "two arguments such as #1 or #1_class"
MOST_STATEMENTS = 2**32 - 1
Domains = Mapping[str, tuple[DomainValue, ...]]


def read_domains(folder: Path, as_original: bool, faults: list[Fault]) -> Domains:
    """Reads the domains of a folder, by the names of their files without the last ending.

    Args:
        folder: the folder.
        as_original: whether lines are read as APES reads them: fields behind the class are ignored, and values that
            stand twice are kept twice.
        faults: takes what is wrong.

    Returns:
        The domains, and that of parameters that a template leaves out.
    """
    domains: dict[str, tuple[DomainValue, ...]] = {UNUSED: (DomainValue("", ""),)}
    try:
        with explain_unreadable(folder, DOMAIN_FOLDER):
            files = sorted(path for path in folder.iterdir() if not (path.name.startswith(".") or path.is_dir()))
    except InputError as error:
        faults += error.faults
        return domains
    for file in files:
        domain = file.stem
        if domain in domains:
            faults.append(Fault(str(file), "", f"is a second file of the domain {domain!r}", "one file a domain"))
        domains[domain] = read_domain(file, as_original, faults)
    return domains


def read_domain(file: Path, as_original: bool, faults: list[Fault]) -> tuple[DomainValue, ...]:
    """Reads a domain and reports what is wrong with its lines."""
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
        value = DomainValue(fields[0], fields[1])
        if not as_original:
            faults += value_faults(str(file), number, fields, [each.name for each in values])
        values.append(value)
    if not as_original:
        for what, names in {"value": [each.name for each in values], "class": [each.group for each in values]}.items():
            for name, other in similar_names(names):
                problem = f"the {what} {name!r} is {other!r} but for case or normal form"
                faults.append(Fault(str(file), "", problem, f"every {what} spelled alike"))
    return tuple(values)


def value_faults(file: str, number: int, fields: list[str], earlier: list[str]) -> list[Fault]:
    """Returns what is wrong with a line of a domain that APES would take."""
    where = f"line {number}"
    if len(fields) > 2:
        return [Fault(file, where, f"{len(fields)} fields", DOMAIN_FORM)]
    wrong = [(text, spacing_problem(text)) for text in fields]
    found = [Fault(file, where, f"{text!r} {problem}", SPACING) for text, problem in wrong if problem]
    if fields[0] in earlier:
        found.append(Fault(file, where, f"{fields[0]!r} appears twice", "every value once"))
    if "#" in fields[0]:
        found.append(Fault(file, where, f"{fields[0]!r} holds #, which marks parameters", "a value without it"))
    return found


def table_as_original(file: str, text: str, faults: list[Fault]) -> TemplateTable:
    """Reads the text of a file of templates by pandas, as APES does, and reports what APES fails at.

    So blank lines are skipped, numbers come out as pandas writes them, and `NA` or `None` in a cell is nothing.
    """
    import pandas as pd  # slow to load, and needed in this mode alone

    try:
        frame = pd.read_csv(StringIO(text))
    except (ValueError, pd.errors.ParserError) as error:
        faults.append(Fault(file, "", f"cannot be read by pandas ({error})", TEMPLATE_FILE))
        return TemplateTable(file, (), [])
    header = [str(name) for name in frame.columns]
    if wrong := missing_columns(file, header):
        faults += wrong
        return TemplateTable(file, (), [])
    # Cells that pandas takes for numbers are not text to APES: as parameters and constraints they are ignored.
    optional = {name for name in header if name.startswith("param_")} | {"constraints"}
    rows = []
    for place, cells in enumerate(frame.itertuples(index=False, name=None)):
        named = dict(zip(header, cells, strict=True))
        if not isinstance(named["template_text"], str):
            problem = f"template_text of row {place + 1} is not text"
            faults.append(Fault(file, "", problem, "text in every template"))
        texts = {name: cell if isinstance(cell, str) else "" for name, cell in named.items() if name in optional}
        others = {name: "" if pd.isna(cell) else str(cell) for name, cell in named.items() if name not in optional}
        rows.append(TemplateRow(place + 2, texts | others))
    return TemplateTable(file, parameter_numbers(header), rows)


def parse_as_original(text: str, parameters: Sequence[str]) -> Constraint:
    """Reads a constraint as APES does.

    Args:
        text: the constraint, empty where there is none.
        parameters: the numbers of all parameters of the file.

    Raises:
        ConstraintError: APES fails at it.
    """
    tests = []
    for part in text.split("|"):
        function, _, rest = part.strip().partition("(")
        if function == "neq":
            # The last character should be the parenthesis; it is left out whatever it is.
            found = [original_reference(argument.strip(), parameters) for argument in rest[:-1].split(",")]
            if len(found) != 2:
                raise ConstraintError(f"{part.strip()!r} has {len(found)} arguments", TWO_ARGUMENTS)
            tests.append((Test(found[0], found[1], equal=False),))
    return tuple(tests)


def original_reference(argument: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument of a constraint."""
    identifier = argument.split("_")[0][1:]
    if identifier not in parameters:
        raise ConstraintError(f"{argument!r} names no parameter of the file", TWO_ARGUMENTS)
    return Reference(parameters.index(identifier), "group" if argument.endswith("_class") else "name")


def negations_by_place(templates: Sequence[StatementTemplate]) -> Mapping[int, int]:
    """Returns which template is the negation of which: those of the second half, where they ask of the same values."""
    half = len(templates) // 2
    if len(templates) % 2:
        return {}
    pairs = zip(templates[:half], templates[half:], strict=True)
    same = [one.domains == other.domains and one.constraint == other.constraint for one, other in pairs]
    return {place: place + half for place in range(half) if same[place]}


def read_template_table(path: Path, as_original: bool, faults: list[Fault]) -> TemplateTable:
    """Reads a file of templates.

    Args:
        path: the file.
        as_original: whether it is read as APES reads it.
        faults: takes what is wrong.
    """
    try:
        text = read_text(path, TEMPLATE_FILE)
    except InputError as error:
        faults += error.faults
        return TemplateTable(str(path), (), [])
    return (table_as_original if as_original else parse_template_table)(str(path), text, faults)


def template_of(
    table: TemplateTable, row: TemplateRow, domains: Domains, as_original: bool, faults: list[Fault]
) -> StatementTemplate:
    """Makes a template of a row, and reports what is wrong with its domains and its constraint."""
    where, cells = f"line {row.line}", row.cells
    named = tuple(cells[f"param_{number}"] for number in table.parameters)
    for number, domain in zip(table.parameters, named, strict=True):
        if domain not in domains:
            problem = f"param_{number} is {domain!r}{nearest_name(domain, domains)}"
            faults.append(Fault(table.file, where, problem, f"a domain: {one_of(filter(None, domains))}"))
    used = [number if domain else "" for number, domain in zip(table.parameters, named, strict=True)]
    # APES looks at constraints only while it makes statements.
    is_read = not as_original or all(domains.get(domain) for domain in named)
    try:
        text = cells["constraints"] if is_read else ""
        constraint = parse_as_original(text, table.parameters) if as_original else parse_constraint(text, used)
    except ConstraintError as error:
        faults.append(Fault(table.file, where, error.problem, error.expected))
        constraint = ()
    return StatementTemplate(cells["template_id"], cells["template_text"], named, constraint, cells["label"])


def negations_of(
    table: TemplateTable, templates: Sequence[StatementTemplate], as_original: bool, faults: list[Fault]
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
            problem = f"negation_of is {name!r}{nearest_name(name, others)}"
            faults.append(Fault(table.file, f"line {row.line}", problem, f"another template: {one_of(others)}"))
        elif places[name] in negations:
            problem = f"is a second negation of {name!r}"
            faults.append(Fault(table.file, f"line {row.line}", problem, "one negation of a template"))
        else:
            negations[places[name]] = place
    return negations


def read(files: StatementFiles) -> tuple[StatementPack, list[Fault]]:
    """Reads the files of a dataset and returns them with every fault that is in them.

    Files that are read as APES reads them have no fault but those at which it fails itself.
    """
    faults: list[Fault] = []
    domains = read_domains(files.domains, files.as_original, faults)
    table = read_template_table(files.templates, files.as_original, faults)
    templates = [template_of(table, row, domains, files.as_original, faults) for row in table.rows]
    negations = negations_of(table, templates, files.as_original, faults)
    known = all(domain in domains for template in templates for domain in template.domains)
    pack = StatementPack(table.parameters, domains, tuple(templates), negations, files)
    if known and not files.as_original:
        faults += template_faults(table, pack)
    if known and files.repetitions * sum(map(pack.combinations, templates)) > MOST_STATEMENTS:
        faults.append(Fault(table.file, "", f"more than {MOST_STATEMENTS:,} statements", "fewer parameters or values"))
    if not table.rows and not faults:
        faults.append(Fault(table.file, "", "holds no templates", "a template in each row"))
    if not faults and not files.as_original:
        faults += nothing_left(table, pack)
    return pack, list(dict.fromkeys(faults))
