"""A number for each text that another model wrote."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import TRUNCATED_COLUMN, UNKNOWN_COLUMN, NeverNaN, Unique, column, table

SCHEMA = table(
    "score predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "score": column(
            pl.Float32,
            description="probability of the scorer's labels: the largest, or their sum",
            checks=NeverNaN,
        ),
        "unknown": UNKNOWN_COLUMN,
        "truncated": TRUNCATED_COLUMN,
    },
)
