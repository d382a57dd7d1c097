"""What is measured of groups."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column, table

GROUP_MEASURES = table(
    "group measures",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "score": column(pl.String, description="what groups are scored by (such as f1 or mean_likelihood)"),
        "argument": column(pl.String, description="what the score took (such as an average or a class)", nullable=True),
        "distance": column(pl.String, description="how far groups are apart, null for scores", nullable=True),
        "comparison": column(
            pl.String,
            description="which groups are compared with which (pairwise, background, multi_group, "
            "background_per_group, multi_group_per_group); position for what changes with the order of fillings; "
            "null for scores",
            nullable=True,
        ),
        "mode": column(pl.String, description="group (all cases pooled) or counterfactual (mean over cases)"),
        "bias_type": column(pl.String, description="what the groups have in common; of intersections joined by ` & `"),
        "template": column(pl.UInt16, description="the template, null for all of them", nullable=True),
        "group": column(pl.String, description="the group, null for the whole bias type", nullable=True),
        "other": column(pl.String, description="the group that it is compared with, of one pair", nullable=True),
        "value": column(pl.Float64, description="the measure, NaN where nothing has a value", nullable=True),
        "lower": column(
            pl.Float64, description="of a group's score: lower quartile of its scores in the cases", nullable=True
        ),
        "upper": column(pl.Float64, description="upper quartile", nullable=True),
        "n": column(pl.Int64, description="how many cases (in group mode: records) it is made of"),
        "left_out": column(pl.Int64, description="how many more have no value and are left out"),
    },
)

GROUP_SUMMARY = GROUP_MEASURES.remove_columns(["template", "group", "other", "lower", "upper"])
GROUP_SUMMARY.name = "group measures of whole bias types"

FAILURES = table(
    "failure rates",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "bias_type": column(pl.String, description="what the groups have in common"),
        "template": column(pl.UInt16, description="the template, null for all of them", nullable=True),
        "difference": column(
            pl.String, description="mean (over the pairs of groups of a case, as published) or largest (of them)"
        ),
        "threshold": column(pl.Float64, description="a case fails where its difference is larger than this"),
        "value": column(pl.Float64, description="share of cases that fail, NaN where there are none", nullable=True),
        "n": column(pl.Int64, description="how many cases have a difference"),
        "left_out": column(pl.Int64, description="how many more have none"),
    },
)

CASE_EXAMPLES = table(
    "examples behind the largest differences of groups",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "bias_type": column(pl.String, description="what the groups have in common"),
        "case": column(pl.UInt32, description="a case with a large difference"),
        "template": column(pl.UInt16, description="its template"),
        "difference": column(pl.Float64, description="the largest difference of two of its groups"),
        "instance": column(pl.UInt32, description="an instance of one of these two groups"),
        "group": column(pl.String, description="the group"),
        "term": column(pl.String, description="the identity term"),
        "text": column(pl.String, description="the first input"),
        "text_pair": column(pl.String, description="the second input, where there are two", nullable=True),
        "expected": column(pl.String, description="the right class, the target words or the right answer"),
        "said": column(pl.String, description="the most probable class or target word, or the answer"),
        "score": column(pl.Float64, description="the instance's score, by which groups differ"),
    },
)
