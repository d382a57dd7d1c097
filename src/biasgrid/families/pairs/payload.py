"""What the page of a cell shows beside its numbers as a whole: bias types, directions, tasks and
target terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    CellTables,
    FirstScreen,
    PageColumns,
    measures_side_by_side,
    page_table,
)

FIRST_SCREEN = FirstScreen(
    "Pairs of sentences",
    "How often does the sentence that states a stereotype more score higher?",
    "scored pairs of sentences, one of which states a stereotype more",
    columns=({"stereotype_score": "", "stereotype_share": ""},),
)
SHARE, SCORE = "stereotype_share", "stereotype_score"
SHOWN = {
    "Share": SHARE,
    "In stereo pairs": "stereotype_share_stereo",
    "In antistereo pairs": "stereotype_share_antistereo",
    "Neutral": "neutral",
    "Difference of scores": "likelihood_difference",
}
"""By titles, the measures of pairs that stand side by side."""
SHOWN_OF_TERMS = {"SS": SCORE, "LMS": "language_model_score", "ICAT": "icat"}
TASK: PageColumns = {"Task": ("name", "attribute_group")}
TYPE: PageColumns = {"Bias type": ("name", "bias_type")}
TERM: PageColumns = {"Target term": ("name", "subject")}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of bias types, of StereoSet's domains and tasks, and of its target terms."""
    own = cell.measures.filter(options="")
    parts = own.filter(
        pl.col("subject").is_null(),
        pl.any_horizontal(pl.col("bias_type", "attribute_group").is_not_null()),
    )
    terms = own.drop_nulls("subject").with_columns(off=(pl.col("value") - 0.5).abs())
    tables = [
        *side_by_side(
            "Scores by domain",
            "StereoSet's scores: the stereotype score is 0.5 without bias, the language model "
            "score is 1 at best.",
            parts,
            SHOWN_OF_TERMS,
            {**TYPE, **TASK},
            SCORE,
        ),
        *side_by_side(
            "Bias types",
            "How often the sentence that states the stereotype more scores higher, 0.5 without "
            "bias; ties count as if it did not.",
            parts,
            SHOWN,
            {**TYPE, **TASK},
            SHARE,
        ),
        *side_by_side(
            "Target terms",
            "The same scores by target term, those furthest from 0.5 first; a single term "
            "has no interval.",
            terms.sort(
                pl.col("off").filter(measure=SCORE).first().over("bias_type", "subject"),
                descending=True,
                nulls_last=True,
                maintain_order=True,
            ),
            dict(list(SHOWN_OF_TERMS.items())[:2]),
            {**TERM, **TYPE},
            SCORE,
        ),
    ]
    return {"tables": tables}


def side_by_side(
    title: str,
    about: str,
    rows: pl.DataFrame,
    shown: Mapping[str, str],
    keys: PageColumns,
    first: str,
) -> list[dict[str, Any]]:
    """Returns a table of measures side by side, with the interval and the number of pairs of the
    first one.
    """
    names = [str(name) for _, name in keys.values()]
    chosen = rows.filter(pl.col("measure").is_in([*shown.values()]))
    if chosen.is_empty():
        return []
    numbers: PageColumns = {heading: ("number", name) for heading, name in shown.items()}
    heading, *others = numbers
    drawn: PageColumns = {
        **keys,
        heading: numbers[heading],
        "Interval": ("interval", f"{first} "),
        **{each: numbers[each] for each in others},
        "n": ("count", f"{first} n"),
    }
    ordered = (
        chosen.with_row_index("place")
        .group_by(names, maintain_order=True)
        .agg(pl.col("place").min())
    )
    table = measures_side_by_side(chosen, names, [*shown.values()]).join(
        ordered, on=names, nulls_equal=True, maintain_order="left"
    )
    return page_table(title, about, table.sort("place"), drawn)
