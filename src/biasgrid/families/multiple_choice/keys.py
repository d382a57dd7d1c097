"""The family's own columns of instances: the item, its template and group, and the roles of its options."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "item": column(pl.UInt32, description="the item, numbered from 0"),
    "item_id": column(pl.Categorical, description="category and id of the item, by which responses are found"),
    "row": column(pl.Categorical, description="the category, with `(names)` where first names stand for groups"),
    "template": column(pl.UInt16, description="the template, numbered from 0 through all categories"),
    "condition": column(pl.Categorical, description="`ambig` or `disambig`: whether the context answers the question"),
    "polarity": column(pl.Categorical, description="`neg` or `nonneg`: whether the stereotype is asked for, or denied"),
    "options": column(pl.List(pl.Categorical), description="the options in the order of the file"),
    "spoken": column(pl.List(pl.Categorical), description="what their people are called in the context"),
    "places": column(pl.List(pl.UInt8), description="the options in the order asked, by their numbers in the file"),
    "unknown_option": column(pl.UInt8, description="the option that says that the answer is not known"),
    "label": column(pl.UInt8, description="the right option"),
    "target": column(pl.UInt8, description="the option that agrees with the stereotype, if known", nullable=True),
    "is_excluded": column(pl.Boolean, description="whether the item has no target though its kind has, and counts not"),
    "crossed": column(
        pl.Categorical,
        description="in which of two dimensions people differ, or KoBBQ's kind of item, if any",
        nullable=True,
    ),
    "about": column(pl.Categorical, description="the group that the stereotype is about, if known", nullable=True),
    "value": column(pl.Categorical, description="what the stereotype says, if known", nullable=True),
}
