"""Evidence for differences: questions in which a group and its reference differ most and least."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.decision.keys import COMPARED
from biasgrid.families.evidence import Sentences, UnitView

EVIDENCE_MEASURE = "decision_difference"
PAIRS_SHOWN = 3
"""So many pairs of people of a question are shown at most."""
NUMBER = ["bias_type", "group", "other"]


def decisions(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns decisions about people who differ in one group alone, two by two.

    Questions that differ most come first.

    Args:
        cell: the cell.
        about: `bias_type`, `group` and `other` of a number, None for all.

    Returns:
        Columns of `EVIDENCE`, the pair of groups as its number has it (`first` and `second`), and
        the `partner` of an instance. `unit_value` is the difference of the question where the
        number is above 0 or has no value, else minus the difference, so that the largest ones are
        the strongest; `score` is the log odds of Yes.
    """
    rows = cell.observations.with_columns(pl.col(*COMPARED, "question").cast(pl.String))
    tables = []
    for name, reference in zip(COMPARED, cell.options["references"], strict=True):
        tables.append(pairs_of_people(rows, name, reference))
    pairs = pl.concat(tables)
    if about:
        pairs = pairs.filter(**{name: about[name] for name in NUMBER})
    numbers = cell.measures.filter(measure=EVIDENCE_MEASURE).select(*NUMBER, number="value")
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
    """Puts decisions about people beside those about people of the reference, otherwise alike.

    Args:
        rows: observations.
        name: the column in which they differ, `gender` or `race`.
        reference: the group of reference.

    Returns:
        A row for each pair; columns of the person of the reference end in `_2`, and `apart` is the
        difference of the log odds.
    """
    alike = ["template", "age", *(other for other in COMPARED if other != name)]
    scores = ["instance", "log_odds", "yes", "no"]
    people = rows.filter(pl.col(name) != reference).select(*alike, "question", *scores, group=name)
    others = rows.filter(pl.col(name) == reference)
    others = others.select(*alike, pl.col(scores).name.suffix("_2"))
    pairs = people.join(others, on=alike, how="inner", maintain_order="left")
    return pairs.select(
        "group",
        "template",
        "question",
        *scores,
        *(f"{score}_2" for score in scores),
        bias_type=pl.lit(name),
        other=pl.lit(reference),
        apart=pl.col("log_odds") - pl.col("log_odds_2"),
    )


def with_both_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns two rows for each pair, first the group's, then its reference's.

    In both, `first` and `second` are the groups as the number has them; `group` is the group of the
    row, and `other` that of its partner.
    """
    numbered = pairs.with_row_index("place")
    sides = []
    for own, partner, group, other in (("", "_2", "group", "other"), ("_2", "", "other", "group")):
        sides.append(
            numbered.select(
                "place",
                "bias_type",
                "template",
                "unit_value",
                instance=f"instance{own}",
                partner=f"instance{partner}",
                score=f"log_odds{own}",
                p_yes=f"yes{own}",
                p_no=f"no{own}",
                first="group",
                second="other",
                group=group,
                other=other,
                measure=pl.lit(EVIDENCE_MEASURE),
                options=pl.lit(""),
                unit="template",
            )
        )
    return pl.concat(sides).sort("place", maintain_order=True).drop("place")


SENTENCES = Sentences(
    decisions,
    explained=("bias_type", "group", "other"),
    measure=EVIDENCE_MEASURE,
    concerns=lambda about: pl.col(about["bias_type"]).is_in([about["group"], about["other"]]),
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
