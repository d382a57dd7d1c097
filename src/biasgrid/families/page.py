"""The report's view of a cell: tables that families specify, and the words in which texts differ.

A family lists its tables as `TABLES`; a family whose page is a drawing of its own has the functions
of `OwnPage` instead. Tables of groups, and of answers that were not read, are the same for all
families.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, overload

import numpy as np
import polars as pl
from rapidfuzz.distance import Indel

from biasgrid.families.formulas import EVERY_ROW
from biasgrid.groups.main_scores import SCORE_NAMES, score_text
from biasgrid.groups.records import ALL_CASES, EACH_CASE
from biasgrid.tables.measures import MEASURE_PART_KEYS
from biasgrid.tables.metric import OUTCOME_MEASURES, options_text, parse_options


@dataclass(frozen=True)
class CellTables:
    """What is known of a cell.

    Attributes:
        measures: schema `MEASURES`.
        examples: schema `EVIDENCE`: the sentences that the report may carry, those that matter most
            first (`rank`).
        parts: schema `EVIDENCE_PARTS`: the numbers that have evidence, by template and by partner.
    """

    measures: pl.DataFrame
    examples: pl.DataFrame
    parts: pl.DataFrame


@dataclass(frozen=True)
class FirstScreen:
    """What the first screen of the page says of a family's datasets.

    Attributes:
        title: what is asked, in two or three words.
        question: what a box answers.
        asked: what was done with a model, as in `was asked whether it agrees`.
        columns: a box for each column that a dataset has: of some measures the first that has a
            value and is not silenced by a flag, each with words for the head of the column.
            Measures of bias types have a column for each of these. The first column is what is
            claimed, those after it are evidence. Empty: the first headline that has a value of
            equal treatment.
    """

    title: str
    question: str = ""
    asked: str = ""
    columns: Sequence[Mapping[str, str]] = ()


OPINIONS = FirstScreen(
    "Opinions and free answers", asked="was asked for opinions and free answers about people"
)
"""Of families whose datasets stand in one table: statements, probes and rewritten prompts."""


class OwnPage(Protocol):
    """The stage `page` of a family, which may leave out any part; results become JSON.

    Numbers may be given by `in_ten_thousandths`, which makes them small.
    """

    FIRST_SCREEN: FirstScreen
    TABLES: Sequence[Table]

    def example(self, cells: Mapping[str, CellTables]) -> dict[str, Any] | None:
        """Returns a question to several models, with their answers.

        Args:
            cells: of a dataset, by the names of their models.

        Returns:
            `context`, `question`, `own` and `other` (the two of whom one is to be chosen), and
            `answers`: of up to three models the name and the share of `own`; None where there is
            none.
        """

    def dataset_payload(self, cells: Mapping[str, CellTables]) -> dict[str, Any]:
        """Returns the data that all cells of a dataset share; models are named."""

    def cell_payload(self, cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the data of the page of a cell.

        Args:
            cell: the cell.
            shared: from `dataset_payload`, empty where the family has none.
        """

    def examples(self, cell: CellTables, shared: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        """Returns the sentences behind numbers, the most important first.

        As many are carried as fit.

        Only of families that show more than `families.evidence.UnitView` can say. Where they are
        costly, `Examples` makes those alone that are carried.
        """


class Examples(Sequence[dict[str, Any]]):
    """Sentences behind numbers, the most important ones first, each made when it is asked for."""

    def __init__(
        self, example_count: int, make: Callable[[int, int], list[dict[str, Any]]]
    ) -> None:
        """Keeps how they are made.

        Args:
            example_count: how many there are.
            make: makes those from one place on and before another one.
        """
        self._count, self._make = example_count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        places = range(self._count)[place]
        if isinstance(places, int):
            return self._make(places, places + 1)[0]
        if places.step == 1:
            return self._make(places.start, places.stop)
        return [self[place] for place in places]


SCALE = 10_000
"""Numbers of the page are in ten-thousandths, whole ones but for small numbers."""
SHOWN_DIGITS = 3
"""Of so many significant digits are the numbers that the page shows."""
POWERS_OF_TEN = np.array([10.0**digits for digits in range(16)])
"""From these numbers on a whole number has a further digit. Larger ones than the last are whole as
floats.
"""


def in_ten_thousandths(values: pl.Series) -> list[float | None]:
    """Returns numbers in ten-thousandths, None where there is none.

    They are whole, but for numbers below 0.01, which have the three significant digits that the
    page shows. What would end in 5 where the page rounds it once more moves on to the side on which
    the number lies, so that this gives what rounding the number at once would.
    """
    exact = values.cast(pl.Float64).to_numpy() * SCALE
    # Floats that are infinite or no number have no place in JSON.
    is_number = np.isfinite(exact)
    exact = np.where(is_number, exact, 0.0)
    whole = np.rint(exact)
    size = np.abs(whole)
    digits = np.searchsorted(POWERS_OF_TEN, size, side="right")
    unit = POWERS_OF_TEN[np.maximum(digits - SHOWN_DIGITS, 0)]
    is_middle = (unit > 1) & (np.fmod(size, unit) == unit // 2) & (exact != whole)
    whole += np.where(is_middle, np.sign(exact - whole), 0)
    scaled: list[float | None] = [int(number) for number in whole.tolist()]
    is_small = np.abs(exact) < POWERS_OF_TEN[SHOWN_DIGITS - 1]
    for place in np.flatnonzero(is_small).tolist():
        small = float(f"{exact[place]:.{SHOWN_DIGITS}g}")
        scaled[place] = int(small) if small.is_integer() else small
    for place in np.flatnonzero(~is_number).tolist():
        scaled[place] = None
    return scaled


def page_rows(
    rows: pl.DataFrame, text_columns: Sequence[str], numbers: Sequence[str]
) -> list[dict[str, Any]]:
    """Returns rows as dictionaries, in which numbers are in ten-thousandths.

    Args:
        rows: the rows.
        text_columns: columns that are taken as they are.
        numbers: columns of numbers.
    """
    columns = {name: rows[name].to_list() for name in text_columns}
    columns |= {name: in_ten_thousandths(rows[name]) for name in numbers}
    values = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


ColumnKind = Literal["name", "text", "number", "interval", "count", "template"]
"""What stands in a column: a name, a text that may be hidden, a number, the ends of its interval, a
count, or the number of a template, beside which the page tells its text.
"""
PageColumns = Mapping[str, tuple[ColumnKind, str | pl.Expr]]
"""By their titles, what stands in columns, and the column of the rows or what is made of some; of
intervals its name without `low`.
"""
MOST_ROWS = 1000


def page_table(
    title: str,
    about: str,
    rows: pl.DataFrame,
    columns: PageColumns,
    curve: tuple[str, str, str] | None = None,
) -> list[dict[str, Any]]:
    """Makes a table that the page draws as it is.

    Args:
        title: its heading.
        about: its content, in a sentence.
        rows: its rows, of which at most `MOST_ROWS` are carried.
        columns: its columns; empty ones are left out.
        curve: the titles of what is drawn above it as a curve: that of a name, each of which has a
            curve, and those of the numbers along the curve and up; a column `Interval` is drawn
            around it.

    Returns:
        The table: `title`, `about`, `of` (how many rows there are), `columns` (title and kind),
        `rows` and `curve`; none where there are no rows.
    """
    if rows.is_empty():
        return []
    drawn = table_layout(rows.head(MOST_ROWS), columns)
    return [{"title": title, "about": about, "of": len(rows), **drawn, "curve": curve}]


def table_layout(rows: pl.DataFrame, columns: PageColumns) -> dict[str, Any]:
    """Returns rows as the page draws them: `columns` (title and kind) and `rows`.

    See `page_table`.
    """
    headings = []
    values = []
    for heading, (kind, name) in columns.items():
        column = column_values(rows, kind, name)
        # A column that holds nothing says nothing.
        if any(value is not None for value in column):
            headings.append([heading, kind])
            values.append(column)
    return {"columns": headings, "rows": [list(row) for row in zip(*values, strict=True)]}


def column_values(rows: pl.DataFrame, kind: ColumnKind, name: str | pl.Expr) -> Sequence[Any]:
    """Returns the values of a column of the page, None where there is none."""
    if kind == "interval":
        low, high = in_ten_thousandths(rows[f"{name}low"]), in_ten_thousandths(rows[f"{name}high"])
        ends = zip(low, high, strict=True)
        return [None if None in pair else list(pair) for pair in ends]
    column = rows.select(name).to_series()
    return in_ten_thousandths(column) if kind == "number" else column.to_list()


@dataclass(frozen=True)
class Table:
    """A table of the page of a cell: which measures it shows, as rows or side by side.

    Attributes:
        title: its heading.
        about: its content, in a sentence; or a function that makes the sentence of its rows.
        columns: its columns by heading; see `PageColumns`. Empty ones are left out.
        keys: the keys of measures that its rows are about, beside the bias type: rows with other
            keys, or without one of these, are left out. None for rows with any keys.
        where: a further condition of its rows.
        added: columns that are made of all measures of the cell, before rows are left out.
        side_by_side: measures that share a row: their values are columns by their names, and
            `NAME low`, `NAME high`, `NAME q` and `NAME n` go with these. Empty if each number has
            a row of its own.
        row_keys: the keys that tell rows apart in which measures are side by side.
        order: expressions of the columns that rows are sorted by, nulls last; rows that are equal
            in them keep the order of the measures.
        curve: see `page_table`.
    """

    title: str
    about: str | Callable[[pl.DataFrame], str]
    columns: PageColumns
    keys: Sequence[str] | None = None
    where: pl.Expr = EVERY_ROW
    added: Mapping[str, pl.Expr] = field(default_factory=dict)
    side_by_side: Sequence[str] = ()
    row_keys: Sequence[str] = ()
    order: Sequence[pl.Expr | str] = ()
    curve: tuple[str, str, str] | None = None


def cell_tables(measures: pl.DataFrame, tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Returns the tables of a cell as `page_table` makes them; tables without rows are left out."""
    drawn = []
    for table in tables:
        rows = rows_of_table(measures, table)
        about = table.about if isinstance(table.about, str) else table.about(rows)
        drawn += page_table(table.title, about, rows, table.columns, table.curve)
    return drawn


def rows_of_table(measures: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Returns the rows of a table in their order, with all columns of its columns' expressions."""
    rows = measures.with_columns(**table.added).filter(table.where)
    if table.keys is not None:
        rows = rows_with_keys(rows, *table.keys)
    if table.side_by_side:
        rows = measures_side_by_side(rows, table.row_keys, table.side_by_side)
    if table.order:
        rows = rows.sort(*table.order, nulls_last=True, maintain_order=True)
    return rows


def measures_side_by_side(
    rows: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]
) -> pl.DataFrame:
    """Puts measures side by side: one row per combination of keys.

    Args:
        rows: of `CellTables.measures`, those of some keys.
        keys: the keys of a row.
        measures: the measures.

    Returns:
        The keys, and of each measure its value by its name, `NAME low`, `NAME high`, `NAME q` and
        `NAME n`.
    """
    columns: dict[str, pl.Expr] = {}
    for measure in measures:
        of_measure = pl.col("measure") == measure
        columns[measure] = pl.col("value").filter(of_measure).first()
        for name in ("low", "high", "q", "n"):
            columns[f"{measure} {name}"] = pl.col(name).filter(of_measure).first()
    chosen = rows.filter(pl.col("measure").is_in([*measures]))
    return chosen.group_by(keys, maintain_order=True).agg(**columns)


def rows_with_keys(measures: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Returns the rows that have just these keys of parts, whatever their bias type."""
    conditions = []
    for key in MEASURE_PART_KEYS:
        column = pl.col(key)
        conditions.append(column.is_not_null() if key in keys else column.is_null())
    return measures.filter(*conditions)


INTERVAL_COLUMNS: PageColumns = {"Interval": ("interval", ""), "n": ("count", "n")}
OUTCOME_COLUMNS: PageColumns = {
    "Share": ("name", "measure"),
    "Bias type": ("name", "bias_type"),
    "Group": ("name", "group"),
    "Other": ("name", "other"),
    "Difference": ("number", "value"),
    "Interval": ("interval", ""),
    "q": ("number", "q"),
}
FAILURE_COLUMNS: PageColumns = {
    "Bias type": ("name", "bias_type"),
    "Threshold": ("number", "threshold"),
    "Share": ("number", "value"),
    **INTERVAL_COLUMNS,
}
SCORE_OF_GROUP_COLUMNS: PageColumns = {
    "Group": ("name", "group"),
    "Score": ("number", "value"),
    **INTERVAL_COLUMNS,
}
PAIR_OF_GROUPS_COLUMNS: PageColumns = {
    "Group": ("name", "group"),
    "Compared with": ("name", "other"),
    "Difference": ("number", "value"),
    **INTERVAL_COLUMNS,
    "q": ("number", "q"),
}
TEMPLATE_COLUMNS: PageColumns = {
    "Template": ("template", "template"),
    "Distance": ("number", "value"),
    **INTERVAL_COLUMNS,
}


NOT_READ_TABLE = Table(
    "What was not read, compared",
    "Shares of a group's answers that were refused, cut or not read at all, less those of another "
    "group.",
    OUTCOME_COLUMNS,
    where=pl.col("measure").is_in(OUTCOME_MEASURES) & pl.col("group").is_not_null(),
    order=("measure", "bias_type", "group", "other"),
)
"""Rates over all that was asked compare unlike things where such a difference is not 0."""
IS_OF_MEAN = pl.col("options").str.starts_with("difference=mean")
THRESHOLD = pl.col("options").str.extract(r"threshold=([0-9.]+)").cast(pl.Float64)
FAILURES_TABLE = Table(
    "Failures",
    "The share of cases in which groups differ by more than a threshold.",
    FAILURE_COLUMNS,
    keys=(),
    where=IS_OF_MEAN & (pl.col("measure") == "failure_rate"),
    added={"threshold": THRESHOLD},
    order=("bias_type", "threshold"),
    curve=("Bias type", "Threshold", "Share"),
)


def tables_of_groups(measures: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns tables of each bias type: groups, pairs and templates; then all failure rates.

    Args:
        measures: of `CellTables`.
    """
    score = main_score_options(measures)
    if score is None:
        return []
    bias_types = measures["bias_type"].drop_nulls().unique(maintain_order=True)
    tables = []
    for name in bias_types:
        tables += tables_of_bias_type(measures.filter(bias_type=name), name, score)
    return [*tables, *cell_tables(measures, [FAILURES_TABLE])]


def tables_of_bias_type(measures: pl.DataFrame, name: str, score: str) -> list[dict[str, Any]]:
    """Returns the tables of a bias type; see `tables_of_groups`.

    Args:
        measures: of `CellTables`, those of the bias type.
        name: the bias type.
        score: from `main_score_options`.
    """
    of_scores = options_text(score=score, mode=ALL_CASES)
    of_distances = options_text(
        score=score, distance="absolute", comparison="pairwise", mode=EACH_CASE
    )
    options = pl.col("options")
    has_score = options.str.contains(f"score={score}", literal=True)
    is_of_pairs = has_score & (pl.col("measure") == "difference")
    pairs = rows_with_keys(measures, "group", "other").filter(is_of_pairs)
    # All pairs have the same options.
    score_of_pairs = score_text("difference", next(iter(pairs["options"]), of_scores))
    score_name = SCORE_NAMES.get(score, score.replace("_", " "))
    tables = [
        Table(
            f"{name}: groups",
            f"The {score_name} of each group, over all cases; the lowest first.",
            SCORE_OF_GROUP_COLUMNS,
            keys=("group",),
            where=(pl.col("measure") == "score") & (options == of_scores),
            order=("value",),
        ),
        Table(
            f"{name}: pairs of groups",
            f"The mean difference in {score_of_pairs} between two groups in a case, "
            "the largest first.",
            PAIR_OF_GROUPS_COLUMNS,
            keys=("group", "other"),
            where=is_of_pairs,
            order=(-pl.col("value").abs(), "group", "other"),
        ),
        Table(
            f"{name}: templates",
            "The mean distance of groups by template, the largest first.",
            TEMPLATE_COLUMNS,
            keys=("template",),
            where=(pl.col("measure") == "distance") & (options == of_distances),
            order=(-pl.col("value"),),
        ),
    ]
    return cell_tables(measures, tables)


def main_score_options(measures: pl.DataFrame) -> str | None:
    """Returns the first of `SCORE_NAMES` that a cell has; None without any."""
    texts = measures.filter(measure="score")["options"].unique().to_list()
    scores = {parse_options(text).get("score") for text in texts}
    return next((score for score in SCORE_NAMES if score in scores), None)


WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def word_diff(text: str, other: str) -> list[str]:
    """Splits a text at the words and marks that another text has not.

    The longest sequence of words that stand in both in the same order is what they share. Where
    several are as long, it is the same one whichever text comes first.

    Args:
        text: the text.
        other: the other one.

    Returns:
        The parts of the text in order: the first, third, ... are shared, the second, fourth, ...
        differ. Joined they are the text; the first one and the last one may be empty.
    """
    words = list(WORD_OR_MARK.finditer(text))
    own, others = [word[0] for word in words], WORD_OR_MARK.findall(other)
    # Opcodes depend on which text is the first one, so both orders are put into one.
    steps = Indel.opcodes(own, others) if own <= others else Indel.opcodes(others, own).inverse()
    parts: list[str] = []
    end = 0
    for step in steps:
        if step.tag != "delete":
            continue
        first, last = words[step.src_start].start(), words[step.src_end - 1].end()
        parts += [text[end:first], text[first:last]]
        end = last
    return [*parts, text[end:]]


def differing_words(text: str | None, other: str | None) -> str | None:
    """Returns the words that another text lacks, joined by ellipses; None without either text."""
    if text is None or other is None:
        return None
    return " … ".join(word_diff(text, other)[1::2])
