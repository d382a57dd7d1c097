"""The sentences behind the largest differences of groups."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.means import means_by

CASES_PER_BIAS_TYPE = 5
DECIMALS = 12
CASE = ["bias_type", "case"]


def largest_differences(observations: pl.DataFrame, measures: pl.DataFrame, options: str) -> pl.DataFrame:
    """Finds the cases whose groups differ most, and what was said of the two groups that are furthest apart.

    Args:
        observations: rows of `OBSERVATIONS`; those of parts of intersections are left out.
        measures: the cell's measures.
        options: of which `distance` the cases are examples.

    Returns:
        For every bias type and each of its cases with the largest differences a row per identity term of the two
        groups: columns of `EXAMPLES`; cases with the same difference by their number. `group` and `other` are the two
        groups, `template` is that of the case, `value` is the mean distance of the bias type.
    """
    asked = observations.filter(~pl.col("part")).with_columns(pl.col("bias_type", "group").cast(pl.String))
    chosen = (
        extremes(asked)
        .sort("bias_type", "unit_value", "case", descending=[False, True, False], maintain_order=True)
        .group_by("bias_type", maintain_order=True)
        .head(CASES_PER_BIAS_TYPE)
        .with_columns(rank=pl.int_range(pl.len()).over("bias_type"))
    )
    both = pl.concat([chosen, chosen.rename({"group": "other", "other": "group"}).select(chosen.columns)])
    whole = measures.filter(
        pl.col("template").is_null(), pl.col("group").is_null(), measure="distance", options=options
    )
    return (
        asked.join(
            both.sort("bias_type", "rank", maintain_order=True), on=[*CASE, "group"], maintain_order="right_left"
        )
        .join(whole.select("measure", "options", "bias_type", "value"), on="bias_type", maintain_order="left")
        .select(
            "measure", "options", "bias_type", "group", "other", "template", "value", "rank", "unit_value", "instance",
            "term", "text", "text_pair", "expected", "said", "score",
            reason=pl.lit("strongest"),
            role=pl.lit("strongest"),
            unit="case",
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
