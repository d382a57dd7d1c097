"""Evidence for bias in ambiguous contexts: items that lean to the stereotype or against it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.multiple_choice.items import AMBIGUOUS


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


SENTENCES = Sentences(
    answers,
    explained=("bias_type",),
    measure="bias_ambiguous",
    concerns=lambda about: pl.col("row") == about["bias_type"],
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
