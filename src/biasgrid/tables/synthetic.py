"""The known effect in the texts that models are trained on."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.measures import KEYS, MEASURE_KEYS, NAME
from biasgrid.tables.schema import NeverNaN, column, table

SYNTHETIC = table(
    "synthetic bias",
    {
        "strength": column(pl.String, description="the strength's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        **NAME,
        **KEYS,
        "value": column(pl.Float64, description="the measure of a model that has learned the corpus", checks=NeverNaN),
    },
    unique=["strength", "dataset", "measure", "options", *MEASURE_KEYS],
)
