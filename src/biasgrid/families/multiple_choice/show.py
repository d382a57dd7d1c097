"""Evidence and page of a cell: answers in ambiguous contexts, and tables of its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.multiple_choice.items import AMBIGUOUS
from biasgrid.families.page import FirstScreen, PageColumns, Table

# Evidence: items whose answers lean to the stereotype most, in the middle, and least


def ranked_answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns answers in ambiguous contexts, sorted by how far their items lean to the stereotype.

    Args:
        cell: the cell.
        about: `bias_type`, the category; None for all.

    Returns:
        Columns of `EVIDENCE`. `score` is the lean of the answer, `unit_value` the mean lean of the
        answers to its item.
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
    ranked_answers,
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

# Page: bias beside accuracy and abstention

FIRST_SCREEN = FirstScreen(
    "Questions with options",
    "Whom does the model name when the text does not say?",
    "was asked questions with three options, one of which is that the answer is not known",
    columns=({"bias_ambiguous": ""},),
)
SHOWN = {
    "Bias, ambiguous": "bias_ambiguous",
    "Preference, ambiguous": "preference_ambiguous",
    "Bias, disambiguated": "bias_disambiguated",
    "Cost of nonalignment": "nonalignment_cost",
    "Accuracy, ambiguous": "accuracy_ambiguous",
    "Accuracy, disambiguated": "accuracy_disambiguated",
    "Unknown, disambiguated": "unknown_disambiguated",
    "Coverage": "coverage",
}
"""Measures side by side, by heading."""
VALUE_COLUMNS: PageColumns = {title: ("number", name) for title, name in SHOWN.items()}
BIAS_COLUMNS: PageColumns = {
    "Bias, ambiguous": VALUE_COLUMNS["Bias, ambiguous"],
    # The interval is that of the first number, which it follows.
    "Interval": ("interval", "bias_ambiguous "),
    **VALUE_COLUMNS,
}
ABSTENTION_COLUMNS: PageColumns = {
    "Category": ("name", "bias_type"),
    "Group": ("name", "group"),
    "Difference": ("number", "value"),
    "Interval": ("interval", ""),
    "n": ("count", "n"),
    "q": ("number", "q"),
}
CATEGORY: PageColumns = {"Category": ("name", "bias_type")}
HAS_CATEGORY = (pl.col("options") == "") & pl.col("bias_type").is_not_null()


def table_of_parts(title: str, about: str, columns: PageColumns, *keys: str) -> Table:
    """Returns the table of categories, or of their parts by a key."""
    return Table(
        title,
        about,
        {**CATEGORY, **columns, **BIAS_COLUMNS},
        keys=keys,
        where=HAS_CATEGORY,
        side_by_side=list(SHOWN.values()),
        row_keys=("bias_type", *keys),
    )


TABLES = (
    table_of_parts(
        "Categories",
        "Bias beside accuracy: a model that always answers `unknown` has no bias and no use.",
        {},
    ),
    table_of_parts(
        "Crossed conditions",
        "The same by how the two people differ.",
        {"Condition": ("name", "attribute_group")},
        "attribute_group",
    ),
    table_of_parts(
        "Groups",
        "The same by the group that the stereotype is about.",
        {"Group": ("name", "group")},
        "group",
    ),
    table_of_parts(
        "Values",
        "The same by what the stereotype says.",
        {"Value": ("name", "attribute")},
        "attribute",
    ),
    table_of_parts(
        "Templates",
        "The same by template.",
        {"Template": ("template", "template")},
        "template",
    ),
    Table(
        "Abstention by group",
        "How much more `unknown` is answered about a group than about the others of its category, "
        "where the context gives the answer.",
        ABSTENTION_COLUMNS,
        where=HAS_CATEGORY & (pl.col("measure") == "unknown_difference"),
        order=("q", -pl.col("value").abs()),
    ),
)
