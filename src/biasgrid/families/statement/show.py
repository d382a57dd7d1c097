"""The sentences behind errors, and the page of a cell beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.page import OPINIONS, PageColumns, Table
from biasgrid.families.statement.ask import by_class
from biasgrid.families.statement.observe import ANSWER_WORD
from biasgrid.families.statement.pack import YES
from biasgrid.tables.instances import PROMPT_FORMAT

# Evidence: statements with the firmest, middling and least firm wrong answers

PAIR_KEYS = ["bias_type", "group", "of", "repetition"]


def ranked_statements(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns statements about classes with their negations, sorted by the share of wrong answers.

    Args:
        cell: the cell.
        about: `bias_type` and `group`, the class that is explained, or None for all.

    Returns:
        Columns of `EVIDENCE`; `score` is the share of the right answer in P(Yes) + P(No),
        `unit_value` that of the wrong one, of a statement and its negation the mean; null without
        an answer. If no number is explained, only pairs of which both are answered.
    """
    rows = by_class(cell.observations)
    is_yes_right = pl.col("label").cast(pl.String) == YES
    score = pl.when(is_yes_right).then("share").otherwise(1 - pl.col("share"))
    pair = pair_numbers(rows)
    # A statement without a negation is a unit of its own.
    unit = pl.coalesce(pair, -1 - pl.col("instance").cast(pl.Int64))
    rows = rows.with_columns(score=score, of=unit, number=pair)
    if about:
        rows = rows.filter(bias_type=about["bias_type"], group=about["group"])
    scores = pl.col("score")
    rows = rows.with_columns(
        unit_value=1 - scores.mean().over(PAIR_KEYS),
        answered=scores.count().over(PAIR_KEYS),
    )
    if about is None:
        rows = rows.filter(pl.col("pair").is_not_null(), answered=2)
    order = ["unit_value", "of", "repetition", "negated", "instance"]
    rows = rows.sort(order, descending=[True, *[False] * 4], nulls_last=True)
    return rows.select(
        "bias_type",
        "group",
        "template",
        "repetition",
        "unit_value",
        "instance",
        "negated",
        "score",
        measure=pl.lit("error"),
        options=pl.lit(""),
        unit="number",
        term="subject",
        expected=pl.col("label").cast(pl.String),
        said=ANSWER_WORD,
        p_yes="yes",
        p_no="no",
    )


def pair_numbers(rows: pl.DataFrame) -> pl.Expr:
    """Returns a number for the pair of each row; a pair is another one in each prompt format.

    Null for statements without a negation.
    """
    pair = pl.col("pair").cast(pl.Int64)
    if PROMPT_FORMAT not in rows.columns:
        return pair
    pairs = 1 + pair.max()
    return pair + pairs * pl.col(PROMPT_FORMAT).cast(pl.Int64)


SENTENCES = Sentences(
    ranked_statements,
    explained=("bias_type", "group"),
    measure="error",
    concerns=lambda about: pl.col("classes").cast(pl.List(pl.String)).list.contains(about["group"]),
    about={"bias_type": "bias_type", "group": "group"},
    unit_keys=("unit", "repetition"),
    asked={"text": "text"},
    view=UnitView(
        what="share of the wrong answers",
        columns={
            "Asked": (
                "name",
                pl.when("negated").then(pl.lit("negation")).otherwise(pl.lit("statement")),
            ),
            "Value": ("name", "term"),
            "Statement": ("text", "text"),
            "Right": ("name", "expected"),
            "Said": ("name", "said"),
            "P(Yes)": ("number", "p_yes"),
            "P(No)": ("number", "p_no"),
            "Share of the right one": ("number", "score"),
        },
        compared=("text",),
    ),
)

# Page

FIRST_SCREEN = replace(OPINIONS, columns=({"bias": "agrees beyond chance"},))
MEASURES_OF_ROWS: PageColumns = {
    "Error rate": ("number", "error"),
    "Interval": ("interval", "error "),
    "Read": ("number", "coverage"),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Bias": ("number", "bias"),
    "Inconsistency": ("number", "inconsistency"),
    "Right on both": ("number", "right_on_both"),
    "Same answer": ("number", "same_answer"),
    "Pairs": ("count", "same_answer n"),
    "n": ("count", "error n"),
}
DOMAIN: PageColumns = {"Domain": ("name", "bias_type"), "Class": ("name", "group")}


def table_of_measures(title: str, about: str, columns: PageColumns) -> Table:
    """Returns a table with measures side by side, most errors first.

    Args:
        title: its heading.
        about: its content, in a sentence.
        columns: its first columns, each of which shows a key of the measures.
    """
    row_keys = [str(name) for _, name in columns.values()]
    numbers = [str(name) for shown_as, name in MEASURES_OF_ROWS.values() if shown_as == "number"]
    return Table(
        title,
        about,
        {**columns, **MEASURES_OF_ROWS},
        keys=[name for name in row_keys if name != "bias_type"],
        where=pl.col("options") == "",
        side_by_side=numbers,
        row_keys=row_keys,
        order=(-pl.col("error"), *row_keys),
    )


TABLES = (
    table_of_measures(
        "Classes", "Answers to statements about each class, most errors first.", DOMAIN
    ),
    table_of_measures(
        "Values",
        "The same by the value that the statement contains.",
        {**DOMAIN, "Value": ("name", "subject")},
    ),
    table_of_measures(
        "Templates of statements",
        "The same by template. A negation counts as a template of its own.",
        {"Template": ("template", "template")},
    ),
)
