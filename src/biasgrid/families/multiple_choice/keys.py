"""The family's own columns of instances: item, template, group, and roles of the options."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "item": column(pl.UInt32, description="the item, numbered from 0"),
    "item_id": column(
        pl.Categorical, description="category and id of the item, with which responses are matched"
    ),
    "row": column(
        pl.Categorical,
        description="the category, followed by `(names)` if first names stand for groups",
    ),
    "template": column(
        pl.UInt16, description="the template, numbered from 0 through all categories"
    ),
    "condition": column(
        pl.Categorical,
        description=(
            "`ambig` or `disambig`: whether the context leaves the question open or answers it"
        ),
    ),
    "polarity": column(
        pl.Categorical,
        description=(
            "polarity of the question: `neg` asks for the stereotype, `nonneg` for its opposite"
        ),
    ),
    "options": column(pl.List(pl.Categorical), description="the options in the order of the file"),
    "spoken": column(
        pl.List(pl.Categorical), description="what the context calls the people in the options"
    ),
    "places": column(
        pl.List(pl.UInt8),
        description=(
            "the options in the order in which they are asked, by their numbers in the file"
        ),
    ),
    "unknown_option": column(
        pl.UInt8, description="the option that says that the answer is unknown"
    ),
    "label": column(pl.UInt8, description="the right option"),
    "target": column(
        pl.UInt8, description="the option that agrees with the stereotype, if known", nullable=True
    ),
    "is_excluded": column(
        pl.Boolean,
        description=(
            "whether the item has no target although its kind has one, so that it does not count"
        ),
    ),
    "crossed": column(
        pl.Categorical,
        description="which of two dimensions the people differ in, or KoBBQ's kind of item, if any",
        nullable=True,
    ),
    "about": column(
        pl.Categorical,
        description="the group that the stereotype is about, if known",
        nullable=True,
    ),
    "value": column(
        pl.Categorical, description="what the stereotype says, if known", nullable=True
    ),
}
