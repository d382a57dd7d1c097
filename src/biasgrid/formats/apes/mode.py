"""The replication of APES's numbers: reads files, fills texts and counts as it does, with all that
it ignores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import pairwise
from typing import ClassVar

import polars as pl

from biasgrid.base.faults import Fault
from biasgrid.families.statement.pack import (
    Constraint,
    ConstraintError,
    Reference,
    StatementPack,
    StatementTemplate,
    Test,
)
from biasgrid.families.statement.reading import (
    TEMPLATE_FILE,
    Domains,
    StatementMode,
    TemplateRow,
    TemplateTable,
    TextPart,
    join_parts,
    missing_columns,
    parameter_numbers,
)

TWO_ARGUMENTS = "two arguments such as #1 or #1_class"
HALF_SLOT = re.compile(r"#\d*$")


class ApesMode(StatementMode):
    """Files, texts and numbers as APES has them."""

    checks: ClassVar[bool] = False

    def parse_table(self, file: str, text: str, faults: list[Fault]) -> TemplateTable:
        """Reads the text of a file of templates by pandas, as APES does, and reports what APES
        fails at.

        So blank lines are skipped, numbers come out as pandas writes them, and `NA` or `None` in a
        cell is nothing.
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
        # Cells that pandas takes for numbers are not text to APES: as parameters and constraints
        # they are ignored.
        optional = {name for name in header if name.startswith("param_")} | {"constraints"}
        rows = []
        for place, cells in enumerate(frame.itertuples(index=False, name=None)):
            named = dict(zip(header, cells, strict=True))
            if not isinstance(named["template_text"], str):
                problem = f"template_text of row {place + 1} is not text"
                faults.append(Fault(file, "", problem, "text in every template"))
            texts = {
                name: cell if isinstance(cell, str) else ""
                for name, cell in named.items()
                if name in optional
            }
            others = {
                name: "" if pd.isna(cell) else str(cell)
                for name, cell in named.items()
                if name not in optional
            }
            rows.append(TemplateRow(place + 2, texts | others))
        return TemplateTable(file, parameter_numbers(header), rows)

    def constraint(
        self, text: str, parameters: Sequence[str], named: Sequence[str], domains: Domains
    ) -> Constraint:
        """Reads a constraint as APES does: only while it makes statements.

        Raises:
            ConstraintError: APES fails at it.
        """
        if not all(domains.get(name) for name in named):
            return ()
        tests = []
        for part in text.split("|"):
            function, _, rest = part.strip().partition("(")
            if function == "neq":
                # The last character should be the parenthesis; it is left out whatever it is.
                found = [
                    original_reference(argument.strip(), parameters)
                    for argument in rest[:-1].split(",")
                ]
                if len(found) != 2:
                    raise ConstraintError(
                        f"{part.strip()!r} has {len(found)} arguments", TWO_ARGUMENTS
                    )
                tests.append((Test(found[0], found[1], equal=False),))
        return tuple(tests)

    def negations(
        self, table: TemplateTable, templates: Sequence[StatementTemplate], faults: list[Fault]
    ) -> Mapping[int, int]:
        """Returns the templates of the second half that ask of the same values as their partners in
        the first.
        """
        half = len(templates) // 2
        if len(templates) % 2:
            return {}
        pairs = zip(templates[:half], templates[half:], strict=True)
        same = [
            one.domains == other.domains and one.constraint == other.constraint
            for one, other in pairs
        ]
        return {place: place + half for place in range(half) if same[place]}

    def is_negation(self, pack: StatementPack, place: int) -> bool:
        """Says whether a template is of the second half."""
        return 2 * place >= len(pack.templates)

    def blocks(self, pack: StatementPack) -> Iterable[tuple[int, tuple[int, ...]]]:
        """Returns the templates in the order of their file."""
        alone = (
            (number, (place,)) for number, places in enumerate(pack.statements) for place in places
        )
        return sorted(alone, key=lambda one: one[1])

    def fill_text(
        self, text: str, parameters: Sequence[str], names: Sequence[pl.Series]
    ) -> pl.Series:
        """Replaces one parameter after another: `#1` is found in `#10`, and `#2` in the value of
        parameter 1.
        """
        parts: list[TextPart] = [text]
        for place, number in enumerate(parameters):
            parts = [each for part in parts for each in split_part(part, f"#{number}", place)]
        if makes_no_slot(parts, names):
            return join_parts(parts, names)
        texts = pl.DataFrame({str(place): name for place, name in enumerate(names)}).with_columns(
            text=pl.lit(text)
        )
        for place, number in enumerate(parameters):
            texts = texts.with_columns(
                pl.col("text").str.replace_all(f"#{number}", pl.col(str(place)), literal=True)
            )
        return texts["text"]

    def published(self, observations: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yields what APES publishes."""
        yield apes_error_rates(~observations["is_right"].fill_null(value=False))


def original_reference(argument: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument of a constraint."""
    identifier = argument.split("_")[0][1:]
    if identifier not in parameters:
        raise ConstraintError(f"{argument!r} is not a parameter of the file", TWO_ARGUMENTS)
    return Reference(
        parameters.index(identifier), "group" if argument.endswith("_class") else "name"
    )


def split_part(part: TextPart, slot: str, place: int) -> list[TextPart]:
    """Splits a part of a text at a parameter."""
    if isinstance(part, int):
        return [part]
    literals: list[TextPart] = list(part.split(slot))
    return [each for literal in literals for each in (place, literal)][1:]


def makes_no_slot(parts: Sequence[TextPart], names: Sequence[pl.Series]) -> bool:
    """Says whether no value can make a parameter, alone or with what stands before it."""
    before = [
        one for one, other in pairwise(parts) if isinstance(one, str) and isinstance(other, int)
    ]
    with_mark = any(name.unique().str.contains("#", literal=True).any() for name in names)
    return not with_mark and not any(HALF_SLOT.search(literal) for literal in before)


def apes_error_rates(wrong: pl.Series) -> pl.DataFrame:
    """Returns what APES publishes.

    Args:
        wrong: shape (statements,), whether the answer is wrong, or there is none; positive
            statements are the first half of all.
    """
    measures = (apes_positive, apes_negated, apes_overall)
    rows = [(each.__name__, *each(wrong)) for each in measures]
    schema = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        options=pl.lit(""), left_out=pl.lit(0, pl.Int64)
    )


def apes_positive(wrong: pl.Series) -> tuple[float | None, int]:
    """Share of the first half of the statements, the positive ones, whose answer is not the label
    (APES).
    """
    return rounded_up(wrong[: len(wrong) // 2])


def apes_negated(wrong: pl.Series) -> tuple[float | None, int]:
    """Share of the second half of the statements, the negations, whose answer is not the label
    (APES).
    """
    return rounded_up(wrong[len(wrong) // 2 :])


def apes_overall(wrong: pl.Series) -> tuple[float | None, int]:
    """Share of all statements whose answer is not the label (APES)."""
    return rounded_up(wrong)


def rounded_up(wrong: pl.Series) -> tuple[float | None, int]:
    """Returns a share in whole thousandths, the last of them rounded up, None of nothing; and of
    how many it is.
    """
    return -(-1000 * int(wrong.sum()) // len(wrong)) / 1000 if len(wrong) else None, len(wrong)
