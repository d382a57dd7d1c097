"""The family's own columns of instances: the template, its values, and what is right."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "template": column(pl.UInt16, description="0-based index of the template in its file"),
    "template_id": column(pl.Categorical, description="the template's id in its file"),
    "pair": column(
        pl.UInt32,
        description="what a statement and its negation have in common, null where a template has no negation",
        nullable=True,
    ),
    "negated": column(pl.Boolean, description="whether it is the negation"),
    "repetition": column(pl.UInt16, description="0 where a statement is asked for the first time"),
    "domains": column(pl.List(pl.Categorical), description="domain of each parameter, empty where it is not used"),
    "names": column(pl.List(pl.Categorical), description="value of each parameter, empty where it is not used"),
    "classes": column(pl.List(pl.Categorical), description="class of each value, empty where it is not used"),
    "label": column(pl.Categorical, description="the right answer"),
}
