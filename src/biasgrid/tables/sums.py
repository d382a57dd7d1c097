"""The table of sums: what the numbers of a cell are made of, and the numbers that are not made of sums."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.measures import CELL, KEYS, MEASURE_NAME, NUMBER_COLUMNS, VALUE
from biasgrid.tables.schema import NeverNaN, column, table

UNIT_SEPARATOR = "\x1f"
"""Stands between the names of units."""

SUMS = table(
    "sums",
    {
        **CELL,
        **MEASURE_NAME,
        **KEYS,
        "kind": column(
            pl.Int64,
            description="numbers of one kind: their variances borrow from each other, and they are tested together",
        ),
        **VALUE,
        "low": NUMBER_COLUMNS["low"],
        "high": NUMBER_COLUMNS["high"],
        "n": NUMBER_COLUMNS["n"],
        "left_out": column(pl.Int64, description="how many more units have no value", nullable=True),
        "cases": column(
            pl.Float64, description="how many independent cases a rate has, where these are not `n`", nullable=True,
            checks=NeverNaN,
        ),
        "flag": column(pl.String, description="what the text of a validity flag shows beside numbers", nullable=True),
        "reason": column(pl.String, description="why a number has no interval", nullable=True),
        "factor": column(
            pl.String,
            description="what the units are: `templates`, `items`, `prompts`, `subjects`, `others` (subjects that "
            "they are compared with), `terms` or `attributes`, of pairs of sentences "
            "`writers` or `targets`; null where the number is not made of sums",
            nullable=True,
        ),
        "finish": column(pl.String, description="what makes the number of the sums, such as `mean`", nullable=True),
        "interval": column(pl.String, description="how its interval is made, such as `moderated t`", nullable=True),
        "test": column(pl.String, description="`p` if it is tested, `q` if with others of its kind", nullable=True),
        "claims_all": column(
            pl.Boolean, description="whether its interval is over all factors, not the first alone", nullable=True
        ),
        "compared": column(pl.Boolean, description="whether models are compared by it", nullable=True),
        "is_input": column(
            pl.Boolean, description="whether it is no number, but what others are made of", nullable=True
        ),
        "units": column(
            pl.String,
            description="names of the units, with U+001F between them; with several prompt formats `3/1` is template 3 "
            "in format 1",
            nullable=True,
        ),
        "sums": column(
            pl.List(pl.Float64), description="the columns that add up, unit after unit", nullable=True
        ),
    },
)  # fmt: skip
