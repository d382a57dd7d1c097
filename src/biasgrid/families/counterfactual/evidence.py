"""The evidence for differences of groups: cases with the largest, a median and the smallest difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.counterfactual.pack import JOIN, OUTPUT_TYPES
from biasgrid.families.evidence import with_roles
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import ALL_CASES
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

CASES_SHOWN = 5
"""So many cases of a bias type with the largest differences are shown."""
CASE_DECIMALS = 12
CASE_KEYS = ["bias_type", "case"]
EXPLAINED = ("bias_type", "group")
"""What names a number."""


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
    cases = with_roles(extreme_pairs(asked), ["bias_type"], CASES_SHOWN, ["case"])
    whole = measures.filter(
        pl.col("template").is_null(), pl.col("group").is_null(), measure="distance", options=options
    )
    ranks = whole.sort(-pl.col("value"), "bias_type", nulls_last=True, maintain_order=True).with_row_index("rank")
    cases = cases.with_row_index("place").with_columns(lower=pl.lit(value=False))
    lower = cases.rename({"group": "other", "other": "group"}).with_columns(lower=pl.lit(value=True))
    both = pl.concat([cases, lower.select(cases.columns)])
    return (
        asked.join(both, on=[*CASE_KEYS, "group"], maintain_order="left")
        .join(ranks.select("rank", "measure", "options", "bias_type", "value"), on="bias_type", maintain_order="left")
        .sort("rank", "place", "lower", maintain_order=True)
        .select(
            "measure", "options", "bias_type", "group", "other", "template", "value", "rank", "role", "unit_value",
            "instance", "term", "text", "text_pair", "expected", "said", "score",
            unit="case",
            reason=pl.lit("all"),
        )
    )  # fmt: skip


def extreme_pairs(asked: pl.DataFrame) -> pl.DataFrame:
    """Returns of every case with two groups or more the two that are furthest apart.

    Returns:
        `bias_type`, `case`, the groups with the highest score and with the lowest as `group` and `other`, and the
        difference of these scores as `unit_value`.
    """
    means = means_by(asked.drop_nans("score"), [*CASE_KEYS, "group"], "score").rename({"score": "mean"})
    by_mean = means.sort("mean", maintain_order=True).group_by(CASE_KEYS, maintain_order=True)
    return (
        by_mean.agg(
            group=pl.col("group").last(),
            other=pl.col("group").first(),
            unit_value=(pl.col("mean").last() - pl.col("mean").first()).round(CASE_DECIMALS),
            groups=pl.len(),
        )
        .filter(pl.col("groups") > 1)
        .drop("groups")
    )


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained: the main score of the group."""
    return "score", options_text(score=MAIN_SCORES[OUTPUT_TYPES[options["task"]]], mode=ALL_CASES)


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of a bias type, those of its intersections with others among them."""
    bias_types = pl.col("bias_type").cast(pl.String)
    is_part = bias_types.str.split(JOIN).list.contains(about["bias_type"])
    return instances.filter((bias_types == about["bias_type"]) | is_part)


def units(cell: MeasuredCell, about: Mapping[str, str]) -> pl.DataFrame:
    """Returns what was said in all cases of the group and of that other one which is furthest from it in the case.

    Args:
        cell: with the observations of the bias type.
        about: `bias_type` and `group`, and `other`, where another group is asked for than the furthest.

    Returns:
        A row per identity term: columns of `EVIDENCE`, the largest difference first. `unit_value` is the mean score of
        the group in the case, less that of the other one.
    """
    names = pl.col("bias_type", "group").cast(pl.String)
    rows = cell.observations.with_columns(names).filter(bias_type=about["bias_type"])
    means = means_by(rows.drop_nans("score"), ["case", "group"], "score").drop_nulls("score")
    own = means.filter(group=about["group"]).select("case", own="score")
    others = means.filter(pl.col("group") != about["group"]).rename({"group": "other"})
    if "other" in about:
        others = others.filter(other=about["other"])
    furthest = (
        own.join(others, on="case")
        .with_columns(unit_value=pl.col("own") - pl.col("score"))
        .sort(-pl.col("unit_value").abs(), "case", "other")
        .unique("case", keep="first", maintain_order=True)
        .with_row_index("place")
        .select("place", "case", "unit_value", furthest="other")
    )
    is_own, is_other = pl.col("group") == about["group"], pl.col("group") == pl.col("furthest")
    return (
        rows.join(furthest, on="case")
        .filter(is_own | is_other)
        .sort("place", is_other, "instance")
        .select(
            "bias_type", "group", "template", "unit_value", "instance", "term", "text", "text_pair", "expected",
            "said", "score",
            unit="case",
            other=pl.when(is_own).then("furthest").otherwise(pl.lit(about["group"])),
        )
    )  # fmt: skip
