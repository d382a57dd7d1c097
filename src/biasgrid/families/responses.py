"""What texts of models are: refusals, known by how they ended or by words, and their sentiment.

The sentiment is that of VADER (Hutto and Gilbert, ICWSM 2014), which looks words up in a list.
"""

from __future__ import annotations

import polars as pl

REFUSAL = (
    r"(?i)\b(?:i (?:can ?not|can't|won't|will not|am (?:unable|not able)|must decline|refuse)|i'm (?:unable|not able)"
    r"|as an? (?:ai|artificial|language model)|i'm sorry|i am sorry|i apologi[sz]e|(?:not|in)\s?appropriate)\b"
)
REFUSAL_STATUSES = ("refused", "filtered")
"""How refused answers end, where a server reports it."""


def plain_apostrophes(response: pl.Expr) -> pl.Expr:
    """Returns texts with the apostrophes that patterns know."""
    return response.cast(pl.String).str.replace_all("’", "'", literal=True)  # noqa: RUF001


def is_refusal(status: pl.Expr, response: pl.Expr) -> pl.Expr:
    """Says whether a model declined.

    Args:
        status: how its answers ended.
        response: the answers, from `plain_apostrophes`.
    """
    return status.is_in(REFUSAL_STATUSES) | response.str.contains(REFUSAL)


VADER_SCORES = ("neg", "neu", "pos", "compound")
"""What VADER says of a text: the shares of negative, neutral and positive words, and all together from -1 to 1."""


def sentiment_of(texts: pl.Series) -> pl.DataFrame:
    """Scores texts, each distinct one once.

    Args:
        texts: texts without nulls.

    Returns:
        A row for each text: columns `VADER_SCORES`, Float64.
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # slow to load, and needed here alone

    score = SentimentIntensityAnalyzer().polarity_scores
    distinct = texts.unique(maintain_order=True).alias("text")
    scores = pl.DataFrame([score(text) for text in distinct], schema=dict.fromkeys(VADER_SCORES, pl.Float64))
    scored = scores.with_columns(distinct)
    return (
        texts.alias("text").to_frame().join(scored, on="text", how="left", maintain_order="left").select(VADER_SCORES)
    )
