"""How likely a model finds a sentence: one number a sentence, by one of the formulas of `inference.scorings`."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import TRUNCATED_COLUMN, UNKNOWN_COLUMN, NeverNaN, Unique, column, table

SCHEMA = table(
    "likelihood predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "score": column(
            pl.Float64,
            description="the sentence's score, by the formula in `scoring`: the larger, the likelier; null where no "
            "token of it could be scored",
            checks=NeverNaN,
            nullable=True,
        ),
        "tokens_scored": column(
            pl.UInt16,
            description="how many tokens the score is made of; null where nobody counted them",
            nullable=True,
        ),
        "tokens": column(
            pl.UInt16,
            description="how many tokens the sentence has, special tokens not included; null where nobody counted them",
            nullable=True,
        ),
        "unknown_tokens": column(
            pl.UInt16,
            description="how many of these are the tokenizer's unknown token; null where nobody counted them",
            nullable=True,
        ),
        "unknown": UNKNOWN_COLUMN,
        "truncated": TRUNCATED_COLUMN,
        "scoring": column(pl.Categorical, description="the formula, see docs/scoring.md"),
    },
)
