"""The decisions behind differences: questions in which a group and its reference are furthest
apart, and least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.decision.keys import COMPARED
from biasgrid.families.evidence import Sentences, UnitView

EVIDENCE_MEASURE = "decision_difference"
PAIRS_SHOWN = 3
"""So many pairs of people of a question are shown at most."""
NUMBER = ["bias_type", "group", "other"]


def decisions(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns decisions about people who differ in one group alone, two by two, questions that
    differ most first.

    Returns:
        Columns of `EVIDENCE`, the pair of groups as its number has it (`first` and `second`), and
        the `partner` of an instance. `unit_value` is the difference of the question where the
        number is above 0 or has no value, else minus the difference, so that the largest ones are
        the strongest; `score` is the log odds of Yes.
    """
    rows = cell.observations.with_columns(pl.col(*COMPARED, "question").cast(pl.String))
    pairs = pl.concat(
        pairs_of_people(rows, name, reference)
        for name, reference in zip(COMPARED, cell.options["references"], strict=True)
    )
    numbers = cell.measures.filter(measure=EVIDENCE_MEASURE).select(*NUMBER, number="value")
    pairs = pairs.filter(**{name: about[name] for name in NUMBER}) if about else pairs
    pairs = pairs.join(numbers, on=NUMBER, how="left", maintain_order="left")
    is_below = pl.col("number").fill_null(0) < 0
    apart = pl.when(is_below).then(-pl.col("apart")).otherwise("apart")
    pairs = pairs.with_columns(apart, unit_value=apart.mean().over(*NUMBER, "template"))
    ordered = pairs.sort(
        "unit_value",
        "template",
        "apart",
        "instance",
        descending=[True, False, True, False],
        nulls_last=True,
    )
    return with_both_sides(ordered)


def pairs_of_people(rows: pl.DataFrame, name: str, reference: str) -> pl.DataFrame:
    """Returns decisions about people beside those about the people of the reference who are like
    them but for it.

    Args:
        rows: observations.
        name: in what they differ, `gender` or `race`.
        reference: the reference.
    """
    alike = ["template", "age", *(other for other in COMPARED if other != name)]
    shown = ["instance", "log_odds", "yes", "no"]
    people = rows.filter(pl.col(name) != reference).select(*alike, "question", *shown, group=name)
    others = rows.filter(pl.col(name) == reference).select(
        *alike, *(pl.col(each).alias(f"{each}_2") for each in shown)
    )
    pairs = people.join(others, on=alike, how="inner", maintain_order="left")
    apart = pl.col("log_odds") - pl.col("log_odds_2")
    return pairs.select(
        "group",
        "template",
        "question",
        *shown,
        *(f"{each}_2" for each in shown),
        bias_type=pl.lit(name),
        other=pl.lit(reference),
        apart=apart,
    )


def with_both_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns the two rows of each pair, that of the group first."""
    numbered = pairs.with_row_index("place")
    named = {"measure": pl.lit(EVIDENCE_MEASURE), "options": pl.lit(""), "unit": pl.col("template")}
    shared = ["place", "bias_type", "template", "unit_value"]
    sides = [
        numbered.select(
            *shared,
            instance=f"instance{own}",
            partner=f"instance{of_other}",
            score=f"log_odds{own}",
            p_yes=f"yes{own}",
            p_no=f"no{own}",
            first="group",
            second="other",
            group="other" if own else "group",
            other="group" if own else "other",
            **named,
        )
        for own, of_other in (("", "_2"), ("_2", ""))
    ]
    return pl.concat(sides).sort("place", maintain_order=True).drop("place")


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained."""
    return EVIDENCE_MEASURE, ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of both groups."""
    return instances.filter(
        pl.col(about["bias_type"]).cast(pl.String).is_in([about["group"], about["other"]])
    )


SENTENCES = Sentences(
    decisions,
    explained=("bias_type", "group", "other"),
    number=number,
    relevant_instances=relevant_instances,
    about={"bias_type": "bias_type", "group": "first", "other": "second"},
    rows_kept=2 * PAIRS_SHOWN,
    asked={"text": "text"},
    view=UnitView(
        "difference of the question, in the direction of the whole",
        columns={
            "Group": ("name", "group"),
            "Asked": ("text", "text"),
            "P(Yes)": ("number", "p_yes"),
            "P(No)": ("number", "p_no"),
            "Log odds of Yes": ("number", "score"),
        },
        compared=("text",),
    ),
)
evidence = SENTENCES.table
