"""The family's own columns of instances: the template, its values, and the right answer."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.instances import OF_FORMAT
from biasgrid.tables.schema import column

KEYS = {
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "template_id": column(pl.Categorical, description="the template's id in its file"),
    "pair": column(
        pl.UInt32,
        description="number that a statement and its negation share; null if there is no negation",
        nullable=True,
    ),
    "negated": column(pl.Boolean, description="whether the statement is the negation"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "domains": column(pl.List(pl.Categorical), description="domain of each parameter"),
    "names": column(pl.List(pl.Categorical), description="value of each parameter"),
    "classes": column(pl.List(pl.Categorical), description="class of each value"),
    "label": column(pl.Categorical, description="the right answer"),
    **OF_FORMAT,
}
