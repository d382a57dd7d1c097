"""A vector for each text that another model wrote: where an encoder places it."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import TRUNCATED_COLUMN, UNKNOWN_COLUMN, Unique, column, table

SCHEMA = table(
    "vector predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "vector": column(
            pl.List(pl.Float32),
            description=(
                "last hidden states of the encoder, pooled as its checkpoint says (or averaged "
                "over the tokens if it says nothing), scaled to length 1"
            ),
        ),
        "unknown": UNKNOWN_COLUMN,
        "truncated": TRUNCATED_COLUMN,
    },
)
