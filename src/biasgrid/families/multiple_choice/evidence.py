"""Evidence for bias in ambiguous contexts: items that lean to the stereotype or against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.multiple_choice.items import AMBIGUOUS
from biasgrid.tables.evidence import Evidence


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds items whose ambiguous contexts get answers that lean to the stereotype or not."""
    return SENTENCES.table(cell)


def answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns answers in ambiguous contexts, those of items first that lean to the stereotype most.

    Args:
        cell: the cell.
        about: `bias_type`, the category that is explained, or None for all.

    Returns:
        Columns of `EVIDENCE`; `score` is the lean of the answer and `unit_value` the mean of the
        item's, see `observe`.
    """
    is_ambiguous = pl.col("condition").cast(pl.String) == AMBIGUOUS
    rows = cell.observations.filter(is_ambiguous, ~pl.col("is_excluded"))
    rows = rows.with_columns(pl.col("row", "about").cast(pl.String)).drop_nulls("lean")
    if about:
        rows = rows.filter(row=about["bias_type"])
    rows = rows.with_columns(unit_value=pl.col("lean").mean().over("item"))
    rows = rows.sort(-pl.col("unit_value"), "item", "instance", maintain_order=True)
    options = pl.col("options").cast(pl.List(pl.String)).list
    return rows.select(
        "template",
        "instance",
        "unit_value",
        bias_type="row",
        group="about",
        unit="item",
        score="lean",
        expected=options.get(pl.col("target")),
        said=options.get(pl.col("option")),
        measure=pl.lit("bias_ambiguous"),
        options=pl.lit(""),
    )


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained."""
    return "bias_ambiguous", ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of the category."""
    return instances.filter(pl.col("row").cast(pl.String) == about["bias_type"])


SENTENCES = Sentences(
    answers,
    explained=("bias_type",),
    number=number,
    relevant_instances=relevant_instances,
    about={"bias_type": "bias_type"},
    rows_kept=6,
    asked={"text": "text"},
    view=UnitView(
        "lean to the stereotype, in an ambiguous context",
        columns={
            "Group": ("name", "group"),
            "Asked": ("text", "text"),
            "Agrees with the stereotype": ("name", "expected"),
            "Answer": ("name", "said"),
            "Lean": ("number", "score"),
        },
    ),
)
