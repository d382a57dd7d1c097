"""The family's own columns of instances: the question, and whom the decision is about."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

COMPARED = ("gender", "race")
"""The columns whose groups are compared with a reference."""
KEYS = {
    "template": column(pl.UInt16, description="the decision question, numbered from 0"),
    "question": column(pl.Categorical, description="its id in the file"),
    "age": column(pl.Float64, description="the person's age in years"),
    "gender": column(pl.Categorical, description="the person's gender"),
    "race": column(pl.Categorical, description="the person's race"),
}
