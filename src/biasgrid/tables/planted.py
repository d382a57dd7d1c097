"""What is planted in the texts that models are trained on."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import Probability, column, table

PLANTED = table(
    "planted bias",
    {
        "strength": column(pl.String, description="the strength's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "subject": column(pl.String, description="the subject"),
        "attribute": column(pl.String, description="the attribute's name"),
        "gamma": column(
            pl.Float64, description="the gamma(subject, attribute) that a model which learned the corpus has"
        ),
    },
    unique=["strength", "dataset", "subject", "attribute"],
)

PLANTED_GROUPS = table(
    "planted group effects",
    {
        "strength": column(pl.String, description="the strength's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "bias_type": column(pl.String, description="what the groups have in common"),
        "group": column(pl.String, description="the group"),
        "probability": column(
            pl.Float64,
            description="the mean probability of the right class that a model which learned the corpus has",
            checks=Probability,
        ),
    },
    unique=["strength", "dataset", "bias_type", "group"],
)
