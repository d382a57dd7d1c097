"""Tables on the page of a cell: bias types, StereoSet's domains and tasks, and its target terms."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.page import ColumnKind, FirstScreen, PageColumns, Table

FIRST_SCREEN = FirstScreen(
    "Pairs of sentences",
    "How often does the sentence that states a stereotype more score higher?",
    "scored pairs of sentences, one of which states a stereotype more",
    columns=({"stereotype_score": "", "stereotype_share": ""},),
)
STEREOTYPE_SCORE = "stereotype_score"
SHARES_OF_PAIRS = {
    "Share": "stereotype_share",
    "In stereo pairs": "stereotype_share_stereo",
    "In antistereo pairs": "stereotype_share_antistereo",
    "Neutral": "neutral",
    "Difference of scores": "likelihood_difference",
}
"""Measures that are side by side in a table, by heading."""
SCORES_OF_TERM = {"SS": STEREOTYPE_SCORE, "LMS": "language_model_score"}
SCORES_OF_DOMAIN = {**SCORES_OF_TERM, "ICAT": "icat"}
TASK: PageColumns = {"Task": ("name", "attribute_group")}
TYPE: PageColumns = {"Bias type": ("name", "bias_type")}
TERM: PageColumns = {"Target term": ("name", "subject")}


# Variants of a measure, such as `mode=all`, have options; they are not on the page.
HAS_NO_OPTIONS = pl.col("options") == ""
# The numbers over all types and tasks are in the header of the page.
HAS_PART = pl.col("bias_type").is_not_null() | pl.col("attribute_group").is_not_null()
IS_PART = HAS_NO_OPTIONS & HAS_PART & pl.col("subject").is_null()
IS_TERM = HAS_NO_OPTIONS & pl.col("subject").is_not_null()


def measure_columns(measures: Mapping[str, str]) -> PageColumns:
    """Returns columns of measures, of which the first also has its interval and its n.

    Args:
        measures: the measures by their headings, in the order of the page.
    """
    main_measure = next(iter(measures.values()))
    columns: dict[str, tuple[ColumnKind, str | pl.Expr]] = {}
    for heading, measure in measures.items():
        columns[heading] = ("number", measure)
        columns.setdefault("Interval", ("interval", f"{main_measure} "))
    columns["n"] = ("count", f"{main_measure} n")
    return columns


TABLES = (
    Table(
        "Scores by domain",
        "StereoSet's scores: the stereotype score is 0.5 without bias, the language model score is "
        "1 at best.",
        {**TYPE, **TASK, **measure_columns(SCORES_OF_DOMAIN)},
        where=IS_PART,
        side_by_side=list(SCORES_OF_DOMAIN.values()),
        row_keys=("bias_type", "attribute_group"),
    ),
    Table(
        "Bias types",
        "How often the sentence that states the stereotype more scores higher, 0.5 without bias; "
        "ties count as if it did not.",
        {**TYPE, **TASK, **measure_columns(SHARES_OF_PAIRS)},
        where=IS_PART,
        side_by_side=list(SHARES_OF_PAIRS.values()),
        row_keys=("bias_type", "attribute_group"),
    ),
    Table(
        "Target terms",
        "The same scores by target term, those furthest from 0.5 first; a single term has no "
        "interval.",
        {**TERM, **TYPE, **measure_columns(SCORES_OF_TERM)},
        where=IS_TERM,
        side_by_side=list(SCORES_OF_TERM.values()),
        row_keys=("subject", "bias_type"),
        order=(-(pl.col(STEREOTYPE_SCORE) - 0.5).abs(),),
    ),
)
