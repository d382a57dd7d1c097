"""Repeats APES (goel-shashank/APES): reads files, fills texts and counts as it does.

Nothing is refused but what APES itself fails at: values that appear twice, or statements with equal
texts, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.records import Record
from biasgrid.base.text import read_text
from biasgrid.families.statement.constraints import (
    Constraint,
    ConstraintError,
    DomainValue,
    Reference,
    Test,
)
from biasgrid.families.statement.pack import StatementPack, StatementTemplate
from biasgrid.families.statement.read import (
    DOMAIN_FILE,
    NO_TABLE,
    TEMPLATE_FILE,
    Domains,
    StatementMode,
    TemplateTable,
    absent_columns,
    line_without_class,
    parameter_numbers,
)

TWO_ARGUMENTS = "two arguments such as #1 or #1_class"


class ApesMode(StatementMode):
    """Files, texts and numbers as APES has them."""

    checks: ClassVar[bool] = False

    def domain(self, file: Path, faults: list[Fault]) -> tuple[DomainValue, ...]:
        """Reads a domain; a line without a class, at which APES fails, is a fault.

        To APES, a line that begins with `#` is a value like any other.
        """
        try:
            lines = read_text(file, DOMAIN_FILE).splitlines()
        except InputError as error:
            faults += error.faults
            return ()
        values = []
        for number, line in enumerate(lines, start=1):
            fields = [field.strip() for field in line.split(",")]
            if len(fields) < 2:
                faults.append(line_without_class(file, number, line))
            else:
                values.append(DomainValue(fields[0], fields[1]))
        return tuple(values)

    def parse_table(self, file: Path, text: str, faults: list[Fault]) -> TemplateTable:
        """Reads a file of templates by pandas, as APES does; faults are those at which APES fails.

        So blank lines are skipped, numbers come out as pandas writes them, and `NA` or `None` in a
        cell is nothing.
        """
        import pandas as pd  # slow to load, and needed in this mode alone

        try:
            frame = pd.read_csv(StringIO(text))
        except (ValueError, pd.errors.ParserError) as error:
            faults.append(
                Fault(str(file), "", f"cannot be read by pandas ({error})", TEMPLATE_FILE)
            )
            return NO_TABLE
        header = [str(name) for name in frame.columns]
        absent = absent_columns(file, header)
        if absent:
            faults += absent
            return NO_TABLE
        rows = []
        for place, values in enumerate(frame.itertuples(index=False, name=None)):
            cells = dict(zip(header, values, strict=True))
            if not isinstance(cells["template_text"], str):
                problem = f"template_text of row {place + 1} is not text"
                faults.append(Fault(str(file), "", problem, "text in every template"))
            texts = {name: pandas_text(name, cell) for name, cell in cells.items()}
            rows.append(Record(file, f"line {place + 2}", texts, faults))
        return TemplateTable(parameter_numbers(header), rows)

    def constraint(
        self, text: str, parameters: Sequence[str], domain_names: Sequence[str], domains: Domains
    ) -> Constraint:
        """Reads a constraint as APES does: only while it makes statements.

        Raises:
            ConstraintError: APES fails at it.
        """
        if not all(domains.get(name) for name in domain_names):
            return ()
        tests = []
        for part in text.split("|"):
            function, _, rest = part.strip().partition("(")
            if function != "neq":
                continue
            # The last character should be the parenthesis; it is left out whatever it is.
            arguments = rest[:-1].split(",")
            references = [original_reference(name.strip(), parameters) for name in arguments]
            if len(references) != 2:
                problem = f"{part.strip()!r} has {len(references)} arguments"
                raise ConstraintError(problem, TWO_ARGUMENTS)
            first, second = references
            tests.append((Test(first, second, equal=False),))
        return tuple(tests)

    def negations(
        self, file: Path, templates: Sequence[StatementTemplate], faults: list[Fault]
    ) -> Mapping[int, int]:
        """Maps templates of the first half to their negations in the second, of the same values."""
        half = len(templates) // 2
        if len(templates) % 2:
            return {}
        negations = {}
        for place in range(half):
            statement, negation = templates[place], templates[place + half]
            is_same_domain = statement.domains == negation.domains
            if is_same_domain and statement.constraint == negation.constraint:
                negations[place] = place + half
        return negations

    def is_negation(self, pack: StatementPack, place: int) -> bool:
        """Whether a template is of the second half."""
        return 2 * place >= len(pack.templates)

    def blocks(self, pack: StatementPack) -> Iterable[tuple[int, tuple[int, ...]]]:
        """Returns the numbers of statements and their templates, in the order of their file."""
        number_of = {
            place: number for number, places in enumerate(pack.statements) for place in places
        }
        return [(number_of[place], (place,)) for place in sorted(number_of)]

    def fill_text(
        self, text: str, parameters: Sequence[str], value_columns: Sequence[pl.Series]
    ) -> pl.Series:
        """Replaces parameters in turn: `#1` is found in `#10`, too, and `#2` in a value of `#1`."""
        slots = [f"#{number}" for number in parameters]
        texts = pl.DataFrame(dict(zip(slots, value_columns, strict=True))).with_columns(
            text=pl.lit(text)
        )
        for slot in slots:
            replaced = pl.col("text").str.replace_all(slot, pl.col(slot), literal=True)
            texts = texts.with_columns(text=replaced)
        return texts["text"]

    def published(self, observations: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yields the error rates that APES publishes."""
        yield apes_error_rates(~observations["is_right"].fill_null(value=False))


def pandas_text(name: str, cell: Any) -> str:
    """Returns a cell as APES reads it.

    Cells that pandas takes for numbers are no text to APES: as parameters and constraints they are
    ignored.

    Args:
        name: the column.
        cell: the value in pandas; NaN or None for nothing.
    """
    if isinstance(cell, str):
        return cell
    import pandas as pd

    is_optional = name.startswith("param_") or name == "constraints"
    return "" if is_optional or pd.isna(cell) else str(cell)


def original_reference(argument: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument of a constraint.

    Raises:
        ConstraintError: the file has no such parameter.
    """
    identifier = argument.split("_")[0][1:]
    if identifier not in parameters:
        raise ConstraintError(f"{argument!r} is not a parameter of the file", TWO_ARGUMENTS)
    place = parameters.index(identifier)
    return Reference(place, "group" if argument.endswith("_class") else "name")


def apes_error_rates(wrong: pl.Series) -> pl.DataFrame:
    """Returns the error rates that APES publishes, rounded up, in columns of measures.

    Args:
        wrong: shape (statements,), whether the answer is wrong, or there is none; positive
            statements are the first half of all.
    """
    half = len(wrong) // 2
    parts = {
        "apes_positive": wrong[:half],
        "apes_negated": wrong[half:],
        "apes_overall": wrong,
    }
    rows = [(measure, *rounded_up(part)) for measure, part in parts.items()]
    schema = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(options=pl.lit(""), left_out=pl.lit(0, pl.Int64))


def rounded_up(wrong: pl.Series) -> tuple[float | None, int]:
    """Returns a share from 0 to 1, rounded up to three decimals, and the number of statements.

    The share of no statements is None.
    """
    count = len(wrong)
    if count == 0:
        return None, 0
    thousandths = -(-1000 * int(wrong.sum()) // count)
    return thousandths / 1000, count
