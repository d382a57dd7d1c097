"""Evidence and page of a cell: cases in which groups are furthest apart.

The tables of the page are the tables of groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.counterfactual.pack import JOIN, OUTPUT_TYPES
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.page import FirstScreen
from biasgrid.groups.main_scores import MAIN_SCORES, main_distance
from biasgrid.groups.records import ALL_CASES
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

CASE_KEYS = ["bias_type", "case"]


def ranked_cases(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the responses about two groups in cases, those with the largest differences first.

    Args:
        cell: the cell; if a number is explained, with the observations of its bias type.
        about: `bias_type`, `group`, and perhaps `other`, the group that it is compared with; by
            default the group furthest from it in each case. None for the two groups of each case
            that are furthest apart, without parts of intersections.

    Returns:
        Columns of `EVIDENCE`, one row per identity term. `unit_value` is the mean score of the
        first group in the case, less that of the other.
    """
    rows = cell.observations.with_columns(pl.col("bias_type", "group").cast(pl.String))
    rows = rows.filter(bias_type=about["bias_type"]) if about else rows.filter(~pl.col("part"))
    means = means_by(rows.drop_nans("score"), [*CASE_KEYS, "group"], "score").drop_nulls("score")
    pairs = furthest_from(means, about) if about else furthest_apart(means)
    # Equal differences are sorted by case, so that every run shows the same cases.
    pairs = pairs.sort(-pl.col("unit_value").abs(), *CASE_KEYS, maintain_order=True)
    is_first = pl.col("group") == pl.col("first")
    is_other = pl.col("group") == pl.col("second")
    rows = rows.join(pairs.with_row_index("place"), on=CASE_KEYS).filter(is_first | is_other)
    return rows.sort("place", is_other, "instance").select(
        "bias_type",
        "group",
        "template",
        "unit_value",
        "instance",
        "term",
        "text",
        "text_pair",
        "expected",
        "said",
        "score",
        unit="case",
        other=pl.when(is_first).then("second").otherwise("first"),
        measure=pl.lit("distance"),
        options=pl.lit(main_distance(OUTPUT_TYPES[cell.measure_options["task"]])),
    )


def furthest_apart(means: pl.DataFrame) -> pl.DataFrame:
    """Returns the two groups with the highest and the lowest mean score in each case.

    Args:
        means: mean `score` by bias type, case and group, without nulls.

    Returns:
        `bias_type`, `case`, the groups `first` (highest) and `second`, and the difference of their
        means, `unit_value`. Cases with a single group are left out.
    """
    sorted_means = means.sort("score", maintain_order=True)
    pairs = sorted_means.group_by(CASE_KEYS, maintain_order=True).agg(
        first=pl.col("group").last(),
        second=pl.col("group").first(),
        unit_value=pl.col("score").last() - pl.col("score").first(),
    )
    return pairs.filter(pl.col("first") != pl.col("second"))


def furthest_from(means: pl.DataFrame, about: Mapping[str, str]) -> pl.DataFrame:
    """Returns a group and the group furthest from it in each case.

    Args:
        means: as for `furthest_apart`.
        about: the `group`, and perhaps `other`, the only group that it is compared with.

    Returns:
        Columns as from `furthest_apart`, and others; `first` is the group.
    """
    own = means.filter(group=about["group"]).select(*CASE_KEYS, own="score", first="group")
    others = means.filter(pl.col("group") != about["group"]).rename({"group": "second"})
    if "other" in about:
        others = others.filter(second=about["other"])
    difference = pl.col("own") - pl.col("score")
    pairs = own.join(others, on=CASE_KEYS).with_columns(unit_value=difference)
    pairs = pairs.sort(-pl.col("unit_value").abs(), "case", "second")
    return pairs.unique(CASE_KEYS, keep="first", maintain_order=True)


def score_options(measure_options: Mapping[str, Any]) -> str:
    """Returns the options of the main score of the cell's task."""
    return options_text(score=MAIN_SCORES[OUTPUT_TYPES[measure_options["task"]]], mode=ALL_CASES)


def concerns_bias_type(about: Mapping[str, str]) -> pl.Expr:
    """Whether an instance is of a bias type, or of an intersection of it with others."""
    bias_type = pl.col("bias_type")
    is_part = bias_type.str.split(JOIN).list.contains(about["bias_type"])
    return (bias_type == about["bias_type"]) | is_part


SENTENCES = Sentences(
    ranked_cases,
    explained=("bias_type", "group"),
    measure="score",
    concerns=concerns_bias_type,
    measure_options=score_options,
    about={"bias_type": "bias_type"},
    strongest=5,
    view=UnitView("both groups are apart by", option="case"),
)

FIRST_SCREEN = FirstScreen(
    "Same sentence, other group",
    "How far apart are two groups?",
    "was shown the same sentence with one group swapped for another",
    columns=({"largest_gap": ""},),
)
