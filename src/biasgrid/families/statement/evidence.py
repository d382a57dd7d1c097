"""Evidence for errors: statements with the firmest, middling and least firm wrong answers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.statement.observe import NO, YES, by_class
from biasgrid.tables.instances import PROMPT_FORMAT

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
