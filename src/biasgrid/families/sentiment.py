"""The sentiment of texts by VADER (Hutto and Gilbert, ICWSM 2014), which looks words up in a list."""

from __future__ import annotations

import polars as pl

PARTS = ("neg", "neu", "pos", "compound")
"""What it says of a text: the shares of negative, neutral and positive words, and all together from -1 to 1."""


def sentiment_of(texts: pl.Series) -> pl.DataFrame:
    """Scores texts, each distinct one once.

    Args:
        texts: texts without nulls.

    Returns:
        A row for each text: columns `PARTS`, Float64.
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # slow to load, and needed here alone

    score = SentimentIntensityAnalyzer().polarity_scores
    distinct = texts.unique(maintain_order=True).alias("text")
    scores = pl.DataFrame([score(text) for text in distinct], schema=dict.fromkeys(PARTS, pl.Float64))
    scored = scores.with_columns(distinct)
    return texts.alias("text").to_frame().join(scored, on="text", how="left", maintain_order="left").select(PARTS)
