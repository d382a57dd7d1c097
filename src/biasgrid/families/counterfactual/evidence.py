"""The evidence for differences of groups: cases with the largest, a median and the smallest difference."""

from __future__ import annotations

import polars as pl

from biasgrid.families.evidence import with_roles
from biasgrid.tables.means import means_by

STRONGEST = 5
"""So many cases of a bias type with the largest differences are shown."""
DECIMALS = 12
CASE = ["bias_type", "case"]


def cases_of_bias_types(observations: pl.DataFrame, measures: pl.DataFrame, options: str) -> pl.DataFrame:
    """Finds cases of every bias type, and what was said of the two groups of each that are furthest apart.

    Args:
        observations: rows of `OBSERVATIONS`; those of parts of intersections are left out.
        measures: the cell's measures.
        options: of which `distance` the cases are evidence.

    Returns:
        Of every bias type the cases that `with_roles` picks, with a row per identity term of the two groups: columns
        of `EVIDENCE`; cases with the same difference by their number. `group` and `other` are the two groups,
        `template` is that of the case, `value` is the mean distance of the bias type.
    """
    asked = observations.filter(~pl.col("part")).with_columns(pl.col("bias_type", "group").cast(pl.String))
    cases = with_roles(extremes(asked), ["bias_type"], STRONGEST, ["case"])
    whole = measures.filter(
        pl.col("template").is_null(), pl.col("group").is_null(), measure="distance", options=options
    )
    ranks = whole.sort(-pl.col("value"), "bias_type", nulls_last=True, maintain_order=True).with_row_index("rank")
    cases = cases.with_row_index("place").with_columns(lower=pl.lit(value=False))
    lower = cases.rename({"group": "other", "other": "group"}).with_columns(lower=pl.lit(value=True))
    both = pl.concat([cases, lower.select(cases.columns)])
    return (
        asked.join(both, on=[*CASE, "group"], maintain_order="left")
        .join(ranks.select("rank", "measure", "options", "bias_type", "value"), on="bias_type", maintain_order="left")
        .sort("rank", "place", "lower", maintain_order=True)
        .select(
            "measure", "options", "bias_type", "group", "other", "template", "value", "rank", "role", "unit_value",
            "instance", "term", "text", "text_pair", "expected", "said", "score",
            unit="case",
            reason=pl.lit("all"),
        )
    )  # fmt: skip


def extremes(asked: pl.DataFrame) -> pl.DataFrame:
    """Returns of every case with two groups or more the two that are furthest apart.

    Returns:
        `bias_type`, `case`, the groups with the highest score and with the lowest as `group` and `other`, and the
        difference of these scores as `unit_value`.
    """
    means = means_by(asked.drop_nans("score"), [*CASE, "group"], "score").rename({"score": "mean"})
    by_mean = means.sort("mean", maintain_order=True).group_by(CASE, maintain_order=True)
    return (
        by_mean.agg(
            group=pl.col("group").last(),
            other=pl.col("group").first(),
            unit_value=(pl.col("mean").last() - pl.col("mean").first()).round(DECIMALS),
            groups=pl.len(),
        )
        .filter(pl.col("groups") > 1)
        .drop("groups")
    )
