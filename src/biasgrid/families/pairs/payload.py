"""Tables on the page of a cell: bias types, directions, tasks and target terms."""

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
SCORE_OF_TERM = "stereotype_score"
SHOWN = {
    "Share": "stereotype_share",
    "In stereo pairs": "stereotype_share_stereo",
    "In antistereo pairs": "stereotype_share_antistereo",
    "Neutral": "neutral",
    "Difference of scores": "likelihood_difference",
}
"""By titles, the measures of pairs that stand side by side."""
SHOWN_OF_SINGLE_TERMS = {"SS": SCORE_OF_TERM, "LMS": "language_model_score"}
SHOWN_OF_TERMS = {**SHOWN_OF_SINGLE_TERMS, "ICAT": "icat"}
TASK: PageColumns = {"Task": ("name", "attribute_group")}
TYPE: PageColumns = {"Bias type": ("name", "bias_type")}
TERM: PageColumns = {"Target term": ("name", "subject")}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of bias types, of StereoSet's domains and tasks, and of its target terms.

    Tables without rows are left out.
    """
    # Variants of a measure, such as `mode=all`, have options; they are not on the page.
    rows = cell.measures.filter(options="")
    # The numbers over all types and tasks are in the head of the page.
    has_part = pl.col("bias_type").is_not_null() | pl.col("attribute_group").is_not_null()
    parts = rows.filter(pl.col("subject").is_null(), has_part)
    terms = furthest_first(rows.drop_nulls("subject"))
    domains = side_by_side(
        "Scores by domain",
        "StereoSet's scores: the stereotype score is 0.5 without bias, the language model "
        "score is 1 at best.",
        parts,
        SHOWN_OF_TERMS,
        {**TYPE, **TASK},
    )
    types = side_by_side(
        "Bias types",
        "How often the sentence that states the stereotype more scores higher, 0.5 without "
        "bias; ties count as if it did not.",
        parts,
        SHOWN,
        {**TYPE, **TASK},
    )
    targets = side_by_side(
        "Target terms",
        "The same scores by target term, those furthest from 0.5 first; a single term "
        "has no interval.",
        terms,
        SHOWN_OF_SINGLE_TERMS,
        {**TERM, **TYPE},
    )
    return {"tables": [*domains, *types, *targets]}


def furthest_first(terms: pl.DataFrame) -> pl.DataFrame:
    """Sorts the rows of target terms by how far their stereotype score is from 0.5."""
    distance = (pl.col("value") - 0.5).abs().filter(measure=SCORE_OF_TERM).first()
    return terms.sort(
        distance.over("bias_type", "subject"),
        descending=True,
        nulls_last=True,
        maintain_order=True,
    )


def side_by_side(
    title: str,
    about: str,
    rows: pl.DataFrame,
    shown: Mapping[str, str],
    keys: PageColumns,
) -> list[dict[str, Any]]:
    """Returns a table of measures side by side, at most one.

    Args:
        title: its title.
        about: its description, a sentence.
        rows: rows of `CellTables.measures`, in the order of the table.
        shown: measures by heading. The first one also has its interval and its number of pairs.
        keys: the first columns, which tell the rows apart.
    """
    measures = list(shown.values())
    chosen = rows.filter(pl.col("measure").is_in(measures))
    if chosen.is_empty():
        return []
    columns = dict(keys)
    for heading, measure in shown.items():
        columns[heading] = ("number", measure)
        if measure == measures[0]:
            columns["Interval"] = ("interval", f"{measure} ")
    columns["n"] = ("count", f"{measures[0]} n")
    names = [str(name) for _, name in keys.values()]
    numbered = chosen.with_row_index("place").group_by(names, maintain_order=True)
    places = numbered.agg(pl.col("place").min())
    table = measures_side_by_side(chosen, names, measures)
    table = table.join(places, on=names, nulls_equal=True, maintain_order="left")
    return page_table(title, about, table.sort("place"), columns)
