"""Which sentence of each pair a model finds more likely: the scores of its sentences side by
side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.pairs.items import LESS, MORE, ROLES, UNRELATED
from biasgrid.families.pairs.keys import KEYS

READ = ["instance", *KEYS]
"""The columns of instances that are observed."""
SAID = ["instance", "score", "score_without_start", "tokens_scored", "probabilities"]
"""The columns of predictions that are observed, of those that the kind has."""
PER_SHARED_TOKEN = "cps"
"""The scoring whose scores add up over the tokens that both sentences share, so that they grow with
these.
"""
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
        options: `scoring`, the name of how sentences are scored.

    Returns:
        By pair its keys; `more`, `less` and `unrelated`, the scores of its sentences, null where
        there is none; `more_without_start` and `less_without_start`, the second scores of these,
        see `inference.scorings`; `apart`, how much larger `more` is than `less`, by shared token
        where scores are sums over these; and `instance_more` and `instance_less`, the instances of
        both.
    """
    there = {name: pl.col(name) for name in predictions.columns}
    nothing = pl.lit(None, pl.Float64)
    said = predictions.select(
        "instance",
        score=there.get("score", nothing),
        score_without_start=there.get("score_without_start", nothing),
        tokens_scored=there.get("tokens_scored", nothing).cast(pl.Float64),
        probabilities=there.get("probabilities", pl.lit(None)).cast(pl.List(pl.Float64)),
    )
    rows = instances.select(READ).sort("instance").join(said, on="instance", maintain_order="left")
    rows = rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
    pairs = (
        pairs_of_choices(rows) if "probabilities" in predictions.columns else pairs_of_scores(rows)
    )
    tokens = pl.when(pl.col("tokens_scored") > 0).then("tokens_scored")
    divisor = tokens if options["scoring"] == PER_SHARED_TOKEN else pl.lit(1.0)
    return pairs.with_columns(apart=(pl.col("more") - pl.col("less")) / divisor).drop(
        "tokens_scored"
    )


def pairs_of_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs with the scores of their sentences."""
    keys = [name for name in READ if name not in OF_SENTENCE]
    # What is no finite number was not measured.
    scores = ("score", "score_without_start")
    found = rows.with_columns(
        pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in scores
    )
    pairs = found.filter(role=MORE).select(
        *keys,
        "tokens_scored",
        more="score",
        more_without_start="score_without_start",
        instance_more="instance",
    )
    for role in ROLES[1:]:
        others = {f"{role}_without_start": "score_without_start", f"instance_{role}": "instance"}
        names = {role: "score"} | ({} if role == UNRELATED else others)
        pairs = pairs.join(
            found.filter(role=role).select("pair", **names),
            on="pair",
            how="left",
            maintain_order="left",
        )
    return pairs


def pairs_of_choices(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs with how often each sentence is chosen, mean of both orders, as its score."""
    first, second = (pl.col("probabilities").list.get(place, null_on_oob=True) for place in (0, 1))
    share = pl.when(first + second > 0).then(first / (first + second))
    both = rows.with_columns(share=pl.when(role=MORE).then(share).otherwise(1 - share))
    keys = [name for name in READ if name not in OF_SENTENCE]
    other = both.filter(role=LESS).select("pair", other="share", instance_less="instance")
    pairs = both.filter(role=MORE).select(*keys, "tokens_scored", "share", instance_more="instance")
    mean = (pl.col("share") + pl.col("other")) / 2
    joined = pairs.join(other, on="pair", maintain_order="left").with_columns(
        more=mean, less=1 - mean
    )
    unknown = ("unrelated", "more_without_start", "less_without_start")
    return joined.with_columns(pl.lit(None, pl.Float64).alias(name) for name in unknown).drop(
        "share", "other"
    )
