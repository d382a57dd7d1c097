"""The family's own columns of instances: the item, its prompt, the order of options, and what is expected."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "item": column(pl.UInt32, description="0-based index of the item in the probe"),
    "prompt": column(pl.UInt16, description="0-based index of the prompt in its item"),
    "order": column(pl.UInt16, description="0-based index of the order of the options"),
    "repetition": column(pl.UInt16, description="0 where a prompt is asked for the first time"),
    "group": column(pl.Categorical, description="the prompt's group, null where it names none", nullable=True),
    "expected": column(pl.Categorical, description="the label that is expected, null where none is", nullable=True),
    "options": column(
        pl.List(pl.Categorical), description="the options in the order in which they are written; empty without options"
    ),
    "keys": column(pl.Categorical, description="the keys of item and prompt as JSON"),
}
