"""Tables of the page of a cell: bias, accuracy and abstention side by side."""

from __future__ import annotations

import polars as pl

from biasgrid.families.page import FirstScreen, PageColumns, Table

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
