"""Answers that stand in a text."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import UNKNOWN_COLUMN, Probabilities, Probability, Unique, column, table

SCHEMA = table(
    "span predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "starts": column(
            pl.List(pl.Float32),
            description="probability that the answer starts at the start of each candidate",
            checks=Probabilities,
        ),
        "ends": column(
            pl.List(pl.Float32),
            description="probability that the answer ends at the end of each candidate",
            checks=Probabilities,
        ),
        "answer": column(pl.Categorical, description="the most probable span"),
        "probability": column(
            pl.Float32,
            description=(
                "probability of its start times the probability of its end; null "
                "for imported answers"
            ),
            checks=Probability,
            nullable=True,
        ),
        "unknown": UNKNOWN_COLUMN,
    },
)
