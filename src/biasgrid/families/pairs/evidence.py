"""The sentences behind shares: pairs whose sentence with the stereotype scores higher, or lower."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.pairs.items import LESS, MORE


def pairs(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns both sentences of each pair, sorted by how much the stereotype scores higher.

    Args:
        cell: the cell.
        about: the `bias_type`, or None for all.

    Returns:
        Columns of `EVIDENCE`; `unit_value` is the difference of the scores of the pair, see
        `observe`, and `partner` the instance of the other sentence.
    """
    rows = cell.observations.drop_nulls(["apart", "instance_more", "instance_less"])
    if about:
        rows = rows.filter(type=about["bias_type"])
    sentences = []
    for place, (role, partner) in enumerate([(MORE, LESS), (LESS, MORE)]):
        of_role = rows.select(
            "template",
            place=pl.lit(place),
            instance=f"instance_{role}",
            partner=f"instance_{partner}",
            bias_type="type",
            unit="pair",
            unit_value="apart",
            group=pl.lit(role),
            score=role,
            measure=pl.lit("stereotype_share"),
            options=pl.lit(""),
        )
        sentences.append(of_role)
    # Equal differences are sorted by pair, so that every run shows the same sentences.
    order = (-pl.col("unit_value"), "unit", "place")
    return pl.concat(sentences).sort(*order, maintain_order=True).drop("place")


SENTENCES = Sentences(
    pairs,
    explained=("bias_type",),
    measure="stereotype_share",
    concerns=lambda about: pl.col("type") == about["bias_type"],
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
