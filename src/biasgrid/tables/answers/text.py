"""Answers in a model's own words."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import Unique, column, table

THOUGHT_WORD = r"\w*(?:think|thought|reason)\w*"
THOUGHT_MARK = rf"(?i)\s*(<\|?(?:\w+:)?{THOUGHT_WORD}\|?>|\[{THOUGHT_WORD}\])"
"""A pattern of what looks like a mark of thoughts at the beginning of a response."""

SCHEMA = table(
    "text predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "response": column(pl.String, description="what the model wrote"),
        "status": column(
            pl.Categorical,
            description="how the response ended: `ok`, `length`, `empty`, `filtered`, `refused`",
        ),
        "tokens_in": column(
            pl.UInt32, description="number of tokens read, if known", nullable=True
        ),
        "tokens_out": column(
            pl.UInt32, description="number of tokens written, if known", nullable=True
        ),
        "over_limit": column(
            pl.Boolean,
            description="whether more tokens were written than the server was allowed to write",
            nullable=True,
        ),
    },
)
