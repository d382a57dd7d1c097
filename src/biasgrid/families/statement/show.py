"""The sentences behind errors, and the page of a cell beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.page import OPINIONS, PageColumns, Table
from biasgrid.families.statement.ask import by_class
from biasgrid.families.statement.pack import NO, YES
from biasgrid.tables.instances import PROMPT_FORMAT

# Evidence: statements with the firmest, middling and least firm wrong answers

PAIR_KEYS = ["bias_type", "group", "of", "repetition"]


def statements(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns statements about classes with their negations, sorted by the share of wrong answers.

    Args:
        cell: the cell.
        about: `bias_type` and `group`, the class that is explained, or None for all.

    Returns:
        Columns of `EVIDENCE`; `score` is the share of the right answer in P(Yes) + P(No),
        `unit_value` that of the wrong one, of a statement and its negation the mean; null where
        there is none. Where no number is explained, all pairs of which both are answered.
    """
    is_yes_right = pl.col("label").cast(pl.String) == YES
    score = pl.when(is_yes_right).then("share").otherwise(1 - pl.col("share"))
    rows = by_class(cell.observations)
    pair = pair_numbers(rows)
    # What has no negation is a unit of its own.
    unit = pl.coalesce(pair, -1 - pl.col("instance").cast(pl.Int64))
    rows = rows.with_columns(score=score, of=unit, number=pair)
    if about:
        rows = rows.filter(bias_type=about["bias_type"], group=about["group"])
    else:
        rows = rows.drop_nulls("pair")
    rows = rows.with_columns(
        unit_value=1 - pl.col("score").mean().over(PAIR_KEYS),
        known=pl.col("score").count().over(PAIR_KEYS),
    )
    if about is None:
        rows = rows.filter(pl.col("known") == 2)
    order = ["unit_value", "of", "repetition", "negated", "instance"]
    descending = [True, False, False, False, False]
    says_yes = pl.col("says_yes")
    said = pl.when(says_yes).then(pl.lit(YES)).when(~says_yes).then(pl.lit(NO))
    return rows.sort(order, descending=descending, nulls_last=True).select(
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
        said=said,
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
    last = rows["pair"].max() or 0
    return pair + last * pl.col(PROMPT_FORMAT).cast(pl.Int64) + pl.col(PROMPT_FORMAT)


SENTENCES = Sentences(
    statements,
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
CLASS_MEASURES = (
    "error",
    "p_yes",
    "p_no",
    "bias",
    "inconsistency",
    "right_on_both",
    "same_answer",
    "coverage",
)
CLASS_COLUMNS: PageColumns = {
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
IS_OF_ALL = pl.col("options") == ""
TABLES = (
    Table(
        "Classes",
        "Answers to statements about each class, most errors first.",
        {**DOMAIN, **CLASS_COLUMNS},
        keys=("group",),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("bias_type", "group"),
        order=(-pl.col("error"), "bias_type", "group"),
    ),
    Table(
        "Values",
        "The same by the value that the statement contains.",
        {**DOMAIN, "Value": ("name", "subject"), **CLASS_COLUMNS},
        keys=("group", "subject"),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("bias_type", "group", "subject"),
        order=(-pl.col("error"), "bias_type", "group", "subject"),
    ),
    Table(
        "Templates of statements",
        "The same by template. A negation counts as a template of its own.",
        {"Template": ("template", "template"), **CLASS_COLUMNS},
        keys=("template",),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("template",),
        order=(-pl.col("error"), "template"),
    ),
)
