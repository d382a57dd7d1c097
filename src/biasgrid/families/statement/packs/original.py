"""What APES itself reads out of its files, and what it ignores or fails at.

Constraints know `neq` alone; what else stands there is ignored. `#1_class` is a class, any other `#1...` a name.
Negations are known by their places: the second half of the templates negates the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from biasgrid.base.faults import Fault
from biasgrid.families.statement.packs.constraints import Constraint, ConstraintError, Reference, Test
from biasgrid.families.statement.packs.pack import Template
from biasgrid.families.statement.packs.table import FILE, Row, Table, missing_columns, parameters_of

ARGUMENTS = "two arguments such as #1 or #1_class"


def table_as_original(file: str, text: str, faults: list[Fault]) -> Table:
    """Reads the text of a file of templates by pandas, as APES does, and reports what APES fails at.

    So blank lines are skipped, numbers come out as pandas writes them, and `NA` or `None` in a cell is nothing.
    """
    import pandas as pd  # slow to load, and needed in this mode alone

    try:
        frame = pd.read_csv(StringIO(text))
    except (ValueError, pd.errors.ParserError) as error:
        faults.append(Fault(file, "", f"cannot be read by pandas ({error})", FILE))
        return Table(file, (), [])
    header = [str(name) for name in frame.columns]
    if wrong := missing_columns(file, header):
        faults += wrong
        return Table(file, (), [])
    # Cells that pandas takes for numbers are not text to APES: as parameters and constraints they are ignored.
    optional = {name for name in header if name.startswith("param_")} | {"constraints"}
    rows = []
    for place, cells in enumerate(frame.itertuples(index=False, name=None)):
        named = dict(zip(header, cells, strict=True))
        if not isinstance(named["template_text"], str):
            problem = f"template_text of row {place + 1} is not text"
            faults.append(Fault(file, "", problem, "text in every template"))
        told = {name: cell if isinstance(cell, str) else "" for name, cell in named.items() if name in optional}
        others = {name: "" if pd.isna(cell) else str(cell) for name, cell in named.items() if name not in optional}
        rows.append(Row(place + 2, told | others))
    return Table(file, parameters_of(header), rows)


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
            found = [reference(argument.strip(), parameters) for argument in rest[:-1].split(",")]
            if len(found) != 2:
                raise ConstraintError(f"{part.strip()!r} has {len(found)} arguments", ARGUMENTS)
            tests.append((Test(found[0], found[1], equal=False),))
    return tuple(tests)


def reference(argument: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument of a constraint."""
    identifier = argument.split("_")[0][1:]
    if identifier not in parameters:
        raise ConstraintError(f"{argument!r} names no parameter of the file", ARGUMENTS)
    return Reference(parameters.index(identifier), "group" if argument.endswith("_class") else "name")


def negations_by_place(templates: Sequence[Template]) -> Mapping[int, int]:
    """Returns which template is the negation of which: those of the second half, where they ask of the same values."""
    half = len(templates) // 2
    if len(templates) % 2:
        return {}
    pairs = {place: place + half for place in range(half)}
    return {one: other for one, other in pairs.items() if asks_alike(templates[one], templates[other])}


def asks_alike(one: Template, other: Template) -> bool:
    """Says whether two templates have the same parameters and constraint."""
    return one.domains == other.domains and one.constraint == other.constraint
