"""Observations of pairs: the scores of their sentences side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.pairs.items import LESS, MORE, UNRELATED
from biasgrid.families.pairs.keys import KEYS

READ = ["instance", *KEYS]
"""The columns of instances that are observed."""
SAID = ["instance", "score", "score_without_start", "tokens_scored", "probabilities"]
"""The columns of predictions that are observed, if the kind of answers has them."""
PER_SHARED_TOKEN = "cps"
"""The scoring whose scores add up, and so grow with, the tokens that both sentences share."""
OF_SENTENCE = ("role", "item_id", "instance")
"""The keys that differ between the sentences of a pair."""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Puts the scores of a pair's sentences side by side.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `likelihood`; or of the kind `choice`, the probabilities of
            the first and of the second sentence in both orders.
        options: `scoring`, the name of the scoring.

    Returns:
        One row per pair: its keys; `more`, `less` and `unrelated`, the scores of its sentences,
        null if there is none; `more_without_start` and `less_without_start`, the second scores of
        these, see `inference.scorings`; `apart`, how much larger `more` is than `less`, by shared
        token if scores are sums over these; and `instance_more` and `instance_less`, the instances
        of both.
    """
    columns = {name: pl.col(name) for name in predictions.columns}
    nothing = pl.lit(None, pl.Float64)
    scores = predictions.select(
        "instance",
        score=columns.get("score", nothing),
        score_without_start=columns.get("score_without_start", nothing),
        tokens_scored=columns.get("tokens_scored", nothing).cast(pl.Float64),
        probabilities=columns.get("probabilities", pl.lit(None)).cast(pl.List(pl.Float64)),
    )
    sentences = instances.select(READ).sort("instance")
    rows = sentences.join(scores, on="instance", maintain_order="left")
    rows = rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
    is_choice = "probabilities" in predictions.columns
    pairs = pairs_of_choices(rows) if is_choice else pairs_of_scores(rows)
    apart = pl.col("more") - pl.col("less")
    if options["scoring"] == PER_SHARED_TOKEN:
        apart = apart / pl.when(pl.col("tokens_scored") > 0).then("tokens_scored")
    return pairs.with_columns(apart=apart).drop("tokens_scored")


def pairs_of_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs with the scores of their sentences.

    Args:
        rows: one row per sentence, with its keys and scores.
    """
    keys = [name for name in READ if name not in OF_SENTENCE]
    # A score that is not finite, such as the logarithm of 0, is no measurement.
    finite = []
    for name in ("score", "score_without_start"):
        finite.append(pl.when(pl.col(name).is_finite()).then(name).alias(name))
    scored = rows.with_columns(finite)
    pairs = scored.filter(role=MORE).select(
        *keys,
        "tokens_scored",
        more="score",
        more_without_start="score_without_start",
        instance_more="instance",
    )
    less = scored.filter(role=LESS).select(
        "pair",
        less="score",
        less_without_start="score_without_start",
        instance_less="instance",
    )
    unrelated = scored.filter(role=UNRELATED).select("pair", unrelated="score")
    for sentences in (less, unrelated):
        pairs = pairs.join(sentences, on="pair", how="left", maintain_order="left")
    return pairs


def pairs_of_choices(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs with how often each sentence is chosen, mean of both orders, as its score.

    Args:
        rows: one row per order of both sentences, with the role of the first one and the
            probabilities of both.
    """
    probabilities = pl.col("probabilities").list
    first = probabilities.get(0, null_on_oob=True)
    second = probabilities.get(1, null_on_oob=True)
    share_of_first = pl.when(first + second > 0).then(first / (first + second))
    # In the row of the other role, the sentence that states the stereotype more is the second.
    share = pl.when(role=MORE).then(share_of_first).otherwise(1 - share_of_first)
    orders = rows.with_columns(share=share)
    keys = [name for name in READ if name not in OF_SENTENCE]
    pairs = orders.filter(role=MORE).select(
        *keys, "tokens_scored", "share", instance_more="instance"
    )
    swapped = orders.filter(role=LESS).select("pair", other="share", instance_less="instance")
    pairs = pairs.join(swapped, on="pair", maintain_order="left")
    mean = (pl.col("share") + pl.col("other")) / 2
    nothing = pl.lit(None, pl.Float64)
    return pairs.with_columns(
        more=mean,
        less=1 - mean,
        unrelated=nothing,
        more_without_start=nothing,
        less_without_start=nothing,
    ).drop("share", "other")
