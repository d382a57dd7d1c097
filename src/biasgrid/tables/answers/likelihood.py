"""How likely a model finds a sentence: one number a sentence, by one of the formulas of
`inference.scorings`.
"""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import TRUNCATED_COLUMN, UNKNOWN_COLUMN, NeverNaN, Unique, column, table

SCHEMA = table(
    "likelihood predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "score": column(
            pl.Float64,
            description=(
                "score of the sentence by the formula in `scoring`: a larger score means more "
                "likely; null if none of its tokens could be scored"
            ),
            checks=NeverNaN,
            nullable=True,
        ),
        "score_without_start": column(
            pl.Float64,
            description=(
                "for `sum`: score of the sentence behind nothing but what the tokenizer itself "
                "adds; if that is nothing, the first token is not scored. Null for other formulas, "
                "or if no token could be scored"
            ),
            checks=NeverNaN,
            nullable=True,
        ),
        "tokens_scored": column(
            pl.UInt16,
            description="number of tokens in the score; null if not counted",
            nullable=True,
        ),
        "tokens": column(
            pl.UInt16,
            description=(
                "number of tokens in the sentence, without special tokens; null if not counted"
            ),
            nullable=True,
        ),
        "unknown_tokens": column(
            pl.UInt16,
            description=(
                "number of these that are the tokenizer's unknown token; null if not counted"
            ),
            nullable=True,
        ),
        "unknown": UNKNOWN_COLUMN,
        "truncated": TRUNCATED_COLUMN,
        "scoring": column(pl.Categorical, description="formula of the score (see docs/scoring.md)"),
    },
)
