"""The statements behind the errors: those to which wrong answers are given most firmly, with their negations."""

from __future__ import annotations

import polars as pl

from biasgrid.families.statement.answers import NO, YES
from biasgrid.families.statement.observe import by_class

PAIRS_PER_BIAS_TYPE = 5
DECIMALS = 12
PAIR = ["bias_type", "pair", "repetition"]


def firmest_errors(instances: pl.LazyFrame, observations: pl.DataFrame, measures: pl.DataFrame) -> pl.DataFrame:
    """Finds the pairs of a statement and its negation whose wrong answers have the largest probability.

    Args:
        instances: the family's instances.
        observations: from `observe`.
        measures: the cell's measures.

    Returns:
        For each bias type its firmest errors, with a row for the statement and one for the negation: columns of
        `EXAMPLES`. `score` is the share of the right answer in P(Yes) + P(No), `unit_value` that of the wrong ones, the
        mean of both; `value` is the error rate of the class.
    """
    right = pl.when(pl.col("label").cast(pl.String) == YES).then("share").otherwise(1 - pl.col("share"))
    rows = by_class(observations.drop_nulls("pair")).with_columns(score=right)
    units = rows.group_by(*PAIR, "group", maintain_order=True).agg(
        unit_value=(1 - pl.col("score").mean()).round(DECIMALS), known=pl.col("score").count()
    )
    chosen = (
        units.filter(known=2)
        .sort("bias_type", -pl.col("unit_value"), "pair", "repetition", maintain_order=True)
        .group_by("bias_type", maintain_order=True)
        .head(PAIRS_PER_BIAS_TYPE)
        .with_columns(rank=pl.int_range(pl.len()).over("bias_type"))
    )
    both = rows.join(chosen.select(*PAIR, "unit_value", "rank"), on=PAIR, maintain_order="right_left")
    asked = instances.filter(pl.col("instance").is_in(both["instance"].implode())).select("instance", "text").collect()
    errors = measures.filter(pl.col("subject").is_null(), pl.col("group").is_not_null(), measure="error")
    return (
        both.join(asked.cast({"text": pl.String}), on="instance", maintain_order="left")
        .join(errors.select("bias_type", "group", "value"), on=["bias_type", "group"], maintain_order="left")
        .select(
            "bias_type", "group", "template", "value", "rank", "unit_value", "instance", "negated", "text", "score",
            measure=pl.lit("error"),
            options=pl.lit(""),
            reason=pl.lit("strongest"),
            role=pl.lit("strongest"),
            unit="pair",
            term="subject",
            expected=pl.col("label").cast(pl.String),
            said=pl.when("says_yes").then(pl.lit(YES)).when(~pl.col("says_yes")).then(pl.lit(NO)),
        )
    )  # fmt: skip
