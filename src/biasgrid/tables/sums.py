"""The table of sums, from which the numbers of a cell are computed; and the cell's numbers that are
not computed from sums.
"""

from __future__ import annotations

import polars as pl

from biasgrid.tables.measures import CELL, KEY_COLUMNS, MEASURE_NAME, NUMBER_COLUMNS, VALUE
from biasgrid.tables.schema import NeverNaN, column, table

UNIT_SEPARATOR = "\x1f"
"""Separates the names of units."""

SUMS = table(
    "sums",
    {
        **CELL,
        **MEASURE_NAME,
        **KEY_COLUMNS,
        "kind": column(
            pl.Int64,
            description=(
                "kind of the number; numbers of one kind share information about their variances "
                "and are tested together"
            ),
        ),
        **VALUE,
        "low": NUMBER_COLUMNS["low"],
        "high": NUMBER_COLUMNS["high"],
        "n": NUMBER_COLUMNS["n"],
        "left_out": column(
            pl.Int64, description="how many more units have no value", nullable=True
        ),
        "cases": column(
            pl.Float64,
            description="number of independent cases behind a rate, if it differs from `n`",
            nullable=True,
            checks=NeverNaN,
        ),
        "flag": column(
            pl.String,
            description="text that a validity flag shows in addition to numbers",
            nullable=True,
        ),
        "reason": column(pl.String, description="why the number has no interval", nullable=True),
        "factor": column(
            pl.String,
            description=(
                "kind of the units: `templates`, `items`, `prompts`, `subjects`, `others` "
                "(subjects that they are compared with), `terms` or `attributes`; for pairs of "
                "sentences, `writers` or `targets`; for decisions, `persons`, whose columns are "
                "residuals and degrees of freedom; null if the number is not computed from sums"
            ),
            nullable=True,
        ),
        "finish": column(
            pl.String,
            description="how the number is computed from the sums, such as `mean`",
            nullable=True,
        ),
        "interval": column(
            pl.String,
            description="how the interval is computed, such as `moderated t`",
            nullable=True,
        ),
        "test": column(
            pl.String,
            description=(
                "`p` if the number is tested, `q` if it is tested together with others of its kind"
            ),
            nullable=True,
        ),
        "fair": column(
            pl.Float64,
            description="value of equal treatment, which the number is tested against",
            nullable=True,
        ),
        "claims_all": column(
            pl.Boolean,
            description="whether the interval generalises to all factors, not only to the first",
            nullable=True,
        ),
        "compared": column(
            pl.Boolean, description="whether models are compared by this number", nullable=True
        ),
        "is_input": column(
            pl.Boolean,
            description="whether the row is only an ingredient of other numbers",
            nullable=True,
        ),
        "units": column(
            pl.String,
            description=(
                "names of the units, separated by U+001F; with several prompt formats, `3/1` is "
                "template 3 in format 1"
            ),
            nullable=True,
        ),
        "sums": column(
            pl.List(pl.Float64),
            description="the columns that are summed, one unit after another",
            nullable=True,
        ),
    },
)
