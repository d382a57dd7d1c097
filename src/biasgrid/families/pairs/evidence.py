"""The sentences behind shares: pairs whose sentence with the stereotype scores higher, or lower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.pairs.items import LESS, MORE
from biasgrid.tables.evidence import Evidence


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the pairs in which the sentence that states the stereotype more scores most, middling
    and least above.
    """
    return SENTENCES.table(cell)


def pairs(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns both sentences of each pair, those pairs first whose sentence with the stereotype
    scores most above.

    Returns:
        Columns of `EVIDENCE`; `unit_value` is how much larger its score is, see `observe`, and
        `partner` the instance of the other sentence.
    """
    rows = cell.observations.drop_nulls(["apart", "instance_more", "instance_less"])
    if about:
        rows = rows.filter(type=about["bias_type"])
    sides = [(MORE, LESS), (LESS, MORE)]
    sentences = [
        rows.select(
            "template",
            place=pl.lit(place),
            instance=f"instance_{role}",
            partner=f"instance_{other}",
            bias_type="type",
            unit="pair",
            unit_value="apart",
            group=pl.lit(role),
            score=role,
            measure=pl.lit("stereotype_share"),
            options=pl.lit(""),
        )
        for place, (role, other) in enumerate(sides)
    ]
    ordered = pl.concat(sentences).sort(-pl.col("unit_value"), "unit", "place", maintain_order=True)
    return ordered.drop("place")


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained."""
    return "stereotype_share", ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of the bias type."""
    return instances.filter(pl.col("type").cast(pl.String) == about["bias_type"])


SENTENCES = Sentences(
    pairs,
    explained=("bias_type",),
    number=number,
    relevant_instances=relevant_instances,
    about={"bias_type": "bias_type"},
    rows_kept=2,
    asked={"text": "text"},
    view=UnitView(
        "score of the sentence that states the stereotype more, less that of the other one",
        columns={
            "States the stereotype": ("name", "group"),
            "Sentence": ("text", "text"),
            "Score": ("number", "score"),
        },
        compared=("text",),
    ),
)
