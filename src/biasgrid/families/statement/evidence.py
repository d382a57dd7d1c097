"""The evidence for errors: statements that are answered wrongly most firmly, middling and least, with negations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import with_roles
from biasgrid.families.statement.observe import NO, YES, by_class
from biasgrid.tables.instances import OF_FORMAT

PAIRS_PER_CLASS = 3
"""So many pairs of a class that are answered wrongly most firmly are shown."""
RANKED_DECIMALS = 12
PAIR_KEYS = ["bias_type", "pair", "repetition"]
"""With the prompt format, where there are several."""
CLASS_KEYS = ["bias_type", "group"]
EXPLAINED = ("bias_type", "group")
"""What names a number."""


def pairs_of_classes(instances: pl.LazyFrame, observations: pl.DataFrame, measures: pl.DataFrame) -> pl.DataFrame:
    """Finds pairs of a statement and its negation of every class.

    Args:
        instances: the family's instances, of which only some rows are read.
        observations: from `observe`.
        measures: the cell's measures.

    Returns:
        Of each class the pairs that `with_roles` picks, the wrong answers with the largest probability being the
        strongest, with a row for the statement and one for the negation: columns of `EVIDENCE`. `score` is the share of
        the right answer in P(Yes) + P(No), `unit_value` that of the wrong ones, the mean of both; `value` is the error
        rate of the class.
    """
    right = pl.when(pl.col("label").cast(pl.String) == YES).then("share").otherwise(1 - pl.col("share"))
    rows = by_class(observations.drop_nulls("pair")).with_columns(score=right)
    pair = [*PAIR_KEYS, *(name for name in OF_FORMAT if name in rows.columns)]
    units = rows.group_by(*pair, "group", maintain_order=True).agg(
        unit_value=(1 - pl.col("score").mean()).round(RANKED_DECIMALS), known=pl.col("score").count()
    )
    chosen = with_roles(units.filter(known=2), CLASS_KEYS, PAIRS_PER_CLASS, pair[1:]).with_row_index("shown")
    both = rows.join(chosen.drop("known"), on=[*pair, "group"])
    asked = instances.filter(pl.col("instance").is_in(both["instance"].implode())).select("instance", "text").collect()
    errors = measures.filter(pl.col("subject").is_null(), pl.col("group").is_not_null(), measure="error")
    ranks = errors.sort(-pl.col("value"), *CLASS_KEYS, nulls_last=True, maintain_order=True).with_row_index("rank")
    return (
        both.join(asked.cast({"text": pl.String}), on="instance")
        .join(ranks.select("rank", *CLASS_KEYS, "value"), on=CLASS_KEYS)
        .sort("rank", "shown", "negated", "instance")
        .select(
            *CLASS_KEYS, "template", "value", "rank", "role", "unit_value", "instance", "negated", "text", "score",
            *answer_probabilities(),
            measure=pl.lit("error"),
            options=pl.lit(""),
            reason=pl.lit("all"),
            unit="pair",
            term="subject",
            expected=pl.col("label").cast(pl.String),
            said=pl.when("says_yes").then(pl.lit(YES)).when(~pl.col("says_yes")).then(pl.lit(NO)),
        )
    )  # fmt: skip


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained."""
    return "error", ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances that are about the class, in whatever place."""
    return instances.filter(pl.col("classes").cast(pl.List(pl.String)).list.contains(about["group"]))


def units(cell: MeasuredCell, about: Mapping[str, str]) -> pl.DataFrame:
    """Returns all statements about a class with their negations, the wrong answers with most probability first.

    Returns:
        Columns of `EVIDENCE`; `score` is the share of the right answer in P(Yes) + P(No),
        `unit_value` that of the wrong one, of a statement and its negation the mean; null where there is none.
    """
    right = pl.when(pl.col("label").cast(pl.String) == YES).then("share").otherwise(1 - pl.col("share"))
    rows = by_class(cell.observations).filter(bias_type=about["bias_type"], group=about["group"])
    # What has no negation is a unit of its own.
    pair = [name for name in ("pair", *OF_FORMAT) if name in rows.columns]
    unit = pl.coalesce(pl.concat_str(pair, separator=" "), pl.format("{} alone", "instance"))
    rows = rows.with_columns(score=right, of=unit).with_columns(unit_value=1 - pl.col("score").mean().over("of"))
    texts = cell.instances.select("instance", pl.col("text").cast(pl.String)).collect()
    return (
        rows.join(texts, on="instance")
        .sort("unit_value", "of", "repetition", "negated", descending=[True, False, False, False], nulls_last=True)
        .select(
            "bias_type", "group", "template", "unit_value", "instance", "negated", "text", "score",
            *answer_probabilities(),
            unit="pair",
            term="subject",
            expected=pl.col("label").cast(pl.String),
            said=pl.when("says_yes").then(pl.lit(YES)).when(~pl.col("says_yes")).then(pl.lit(NO)),
        )
    )  # fmt: skip


def answer_probabilities() -> list[pl.Expr]:
    """Returns the probabilities of both answers."""
    return [pl.col("yes").alias("p_yes"), pl.col("no").alias("p_no")]
