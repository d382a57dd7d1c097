"""Tables of the page of a cell: bias, accuracy and abstention side by side."""

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
    tables_without_answer,
)

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
"""By titles, the measures that stand side by side."""
VALUE_COLUMNS: PageColumns = {title: ("number", name) for title, name in SHOWN.items()}
BIAS_COLUMNS: PageColumns = {
    "Bias, ambiguous": VALUE_COLUMNS["Bias, ambiguous"],
    # The interval is that of the first number, which it follows.
    "Interval": ("interval", "bias_ambiguous "),
    **VALUE_COLUMNS,
}
TABLES: Mapping[str, tuple[str, str, PageColumns]] = {
    "Categories": (
        "bias_type",
        "Bias beside accuracy: a model that always answers `unknown` has no bias and no use.",
        {},
    ),
    "Crossed conditions": (
        "attribute_group",
        "The same by how the two people differ.",
        {"Condition": ("name", "attribute_group")},
    ),
    "Groups": (
        "group",
        "The same by the group that the stereotype is about.",
        {"Group": ("name", "group")},
    ),
    "Values": (
        "attribute",
        "The same by what the stereotype says.",
        {"Value": ("name", "attribute")},
    ),
    "Templates": ("template", "The same by template.", {"Template": ("template", "template")}),
}
"""By titles, the key that each table is about, what it shows, and the columns of that key."""
PART_KEYS = ("attribute_group", "group", "attribute", "template")
ABSTENTION_COLUMNS: PageColumns = {
    "Category": ("name", "bias_type"),
    "Group": ("name", "group"),
    "Difference": ("number", "value"),
    "Interval": ("interval", ""),
    "n": ("count", "n"),
    "q": ("number", "q"),
}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of categories and their parts, and of abstention by group."""
    own = cell.measures.filter(options="").drop_nulls("bias_type")
    tables = []
    for title, (key, about, columns) in TABLES.items():
        is_of_key = [pl.col(name).is_null() for name in PART_KEYS if name != key]
        rows = own.filter(pl.col(key).is_not_null(), *is_of_key)
        keys = list(dict.fromkeys(("bias_type", key)))
        shown = measures_side_by_side(rows, keys, list(SHOWN.values()))
        category: PageColumns = {"Category": ("name", "bias_type")}
        tables += page_table(title, about, shown, {**category, **columns, **BIAS_COLUMNS})
    return {"tables": [*tables, *abstention_table(own), *tables_without_answer(own)]}


def abstention_table(own: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the table of how much more `unknown` is answered about a group than about others."""
    rows = own.filter(measure="unknown_difference")
    largest = -pl.col("value").abs()
    return page_table(
        "Abstention by group",
        "How much more `unknown` is answered about a group than about the others of its category, "
        "where the context gives the answer.",
        rows.sort("q", largest, nulls_last=True, maintain_order=True),
        ABSTENTION_COLUMNS,
    )
