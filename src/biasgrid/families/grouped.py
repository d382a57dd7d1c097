"""What the page shows of groups that are compared: their scores, their differences, templates and failures."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.families.tabled import Columns, of_keys, tabled
from biasgrid.groups.combinations import SCORE_NAMES
from biasgrid.groups.records import ALL_CASES, EACH_CASE
from biasgrid.tables.metric import options_of, options_text

KIND: Columns = {"Bias type": ("name", "bias_type")}
INTERVAL: Columns = {"Interval": ("interval", ""), "n": ("count", "n")}


def tables_of_groups(measures: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns tables of groups, of pairs of groups, of templates and of failure rates.

    Args:
        measures: of a `ShownCell`.
    """
    score = main_score(measures)
    if score is None:
        return []
    group = options_text(score=score, mode=ALL_CASES)
    case = options_text(score=score, distance="absolute", comparison="pairwise", mode=EACH_CASE)
    pairs = of_keys(measures, "group", "other").filter(measure="difference")
    pairs = pairs.filter(pl.col("options").str.contains(f"score={score}", literal=True))
    rates = of_keys(measures).filter(pl.col("options").str.starts_with("difference=mean"), measure="failure_rate")
    return [
        *tabled(
            "Groups",
            f"The {SCORE_NAMES.get(score, score.replace('_', ' '))} of each group, over all cases.",
            of_keys(measures, "group").filter(measure="score", options=group),
            {**KIND, "Group": ("name", "group"), "Score": ("number", "value"), **INTERVAL},
        ),
        *tabled(
            "Pairs of groups",
            "The mean difference of the scores of two groups in a case, the surest ones first.",
            pairs.sort("q", -pl.col("value").abs(), nulls_last=True, maintain_order=True),
            {
                **KIND, "Group": ("name", "group"), "Compared with": ("name", "other"),
                "Difference": ("number", "value"), **INTERVAL, "q": ("number", "q"),
            },
        ),
        *tabled(
            "Templates",
            "The mean distance of groups by template, the largest first.",
            of_keys(measures, "template")
            .filter(measure="distance", options=case)
            .sort("bias_type", -pl.col("value"), nulls_last=True, maintain_order=True),
            {**KIND, "Template": ("template", "template"), "Distance": ("number", "value"), **INTERVAL},
        ),
        *tabled(
            "Failures",
            "The share of cases in which groups differ by more than a threshold.",
            rates.with_columns(threshold=threshold()).sort("bias_type", "threshold", maintain_order=True),
            {**KIND, "Threshold": ("number", "threshold"), "Share": ("number", "value"), **INTERVAL},
            curve=("Bias type", "Threshold", "Share"),
        ),
    ]  # fmt: skip


def main_score(measures: pl.DataFrame) -> str | None:
    """Returns the score that is looked at first of those that the cell has, None where it has none."""
    rows = measures.filter(measure="score")["options"].unique().to_list()
    found = {options_of(options).get("score") for options in rows}
    return next((score for score in SCORE_NAMES if score in found), None)


def threshold() -> pl.Expr:
    """Returns the threshold in the options of failure rates."""
    return pl.col("options").str.extract(r"threshold=([0-9.]+)").cast(pl.Float64)
