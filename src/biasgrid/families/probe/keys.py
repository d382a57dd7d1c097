"""The family's own columns of instances: item, prompt, order of options, expected answer."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

BY_GROUP = "by_group"
"""The measure of what a metric compares, for one group."""
KEYS = {
    "item": column(pl.UInt32, description="the item, numbered from 0"),
    "prompt": column(pl.UInt16, description="the prompt in its item, numbered from 0"),
    "order": column(pl.UInt16, description="the order of the options, numbered from 0"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "group": column(pl.Categorical, description="the prompt's group, if any", nullable=True),
    "expected": column(pl.Categorical, description="the expected label, if any", nullable=True),
    "options": column(pl.List(pl.Categorical), description="the options in the order asked"),
    "keys": column(pl.Categorical, description="keys of the item and the prompt, as JSON"),
}
