"""Tables of the statistics of a cell: intervals, tests and null means, and variances."""

from __future__ import annotations

from typing import Literal

import pandera.polars as pa
import polars as pl

from biasgrid.tables.measures import CELL, KEYS, MEASURE_KEYS, MEASURE_NAME, VALUE
from biasgrid.tables.schema import NeverNaN, column, table

GeneralisesTo = Literal["templates", "subjects", "all"]
RANDOM_FACTORS: tuple[GeneralisesTo, ...] = ("templates", "subjects", "all")
"""What numbers generalise to: other templates, other subjects (names, terms), or all that was sampled."""
ROW = ("measure", "options", *MEASURE_KEYS)
"""The keys of the measures of a cell."""
SIGNIFICANT = 0.05
"""Significant results are what has a q of at most this."""
NO_METHOD = "none"
"""The method of numbers without interval and test."""


def number_column(*, description: str) -> pa.Column:
    """Returns a column of numbers that may be null."""
    return column(pl.Float64, description=description, nullable=True, checks=NeverNaN)


INTERVAL = {
    "low": number_column(description="lower end of its interval"),
    "high": number_column(description="upper end of its interval"),
    "selected_low": number_column(description="lower end of the interval that allows for being picked by a small q"),
    "selected_high": number_column(description="upper end of that interval"),
    "se": number_column(description="standard error"),
    "df": number_column(description="degrees of freedom of the standard error; may be infinite"),
}
"""The uncertainty of a number, or of a difference of two."""

STATISTICS = table(
    "statistics",
    {
        **CELL,
        **MEASURE_NAME,
        **KEYS,
        "generalises_to": column(
            pl.String,
            description="what it generalises over: `templates`, `subjects` or `all`",
        ),
        **VALUE,
        **INTERVAL,
        "p": number_column(
            description="probability of a value at least this far from equal treatment if there were no difference"
        ),
        "q": number_column(
            description="p corrected for all tests of its kind: the share of false discoveries up to it"
        ),
        "holm": number_column(description="p corrected for any false discovery (Holm)"),
        "null_mean": number_column(description="what noise alone would give, if the measure is positive for noise"),
        "clusters": column(pl.Int64, description="how many clusters it is over"),
        "n": column(pl.Int64, description="how many units the measure is computed from"),
        "method": column(pl.String, description="how interval or p were found; `none` where nothing can be said"),
    },
)

VARIANCES = table(
    "variances",
    {
        **CELL,
        "block": column(
            pl.UInt16,
            description="attributes asked in the same clusters, usually one block; null for the whole cell",
            nullable=True,
        ),
        "name": column(
            pl.String,
            description="a source of variance (`association`, `association x cluster`, ...) or an index "
            "(`template_share`, `reliability`, `templates_for_0.8`, `noise_sd`, `prior_df`, `mde`, `mde_fdr`)",
        ),
        "value": number_column(description="the variance of C, or the index"),
        "share": number_column(description="its share of all positive variance"),
    },
)

CLUSTERS = table(
    "clusters",
    {
        **CELL,
        "cluster": column(pl.UInt16, description="the cluster, numbered from 0 by its first template"),
        "templates": column(pl.String, description="its templates, such as `0, 1`"),
        "mu_without": number_column(description="mu of the other clusters"),
        "correlation": number_column(description="correlation of its associations with those of the others"),
        "like": column(pl.UInt16, description="the cluster with the most similar noise", nullable=True),
        "likeness": number_column(description="correlation of their noise: above 0.5 both say nearly the same"),
    },
)

BY_TEMPLATE = table(
    "by_template",
    {
        **CELL,
        "subject": KEYS["subject"],
        "other_group": column(pl.String, description="the group of the subjects it is compared with", nullable=True),
        "attribute": KEYS["attribute"],
        "template": KEYS["template"],
        "n": column(pl.Int64, description="how many swap groups"),
        "comparison": column(pl.Float64, description="mean of C"),
        "sign": column(pl.Float64, description="mean of the sign of C"),
        "wins": column(pl.Float64, description="share of C above 0"),
        "delta": column(pl.Float64, description="mean of delta"),
        "epsilon": column(pl.Float64, description="mean of epsilon"),
        "answer_probability": column(pl.Float64, description="mean of the answer probability"),
        "winner_changes": column(pl.Float64, description="share of changes of the winner"),
    },
)

WITHOUT_CLUSTERS = table(
    "without_clusters",
    {
        **CELL,
        **MEASURE_NAME,
        **KEYS,
        **VALUE,
        "n": column(pl.Int64, description="how many units the measure is computed from"),
        "moderated": column(
            pl.Boolean,
            description="whether its variance borrows from others of its kind",
        ),
        "without": column(
            pl.List(pl.Float64),
            description="the measure without each cluster; null where it has nothing of the cluster, all null where "
            "nothing can be said",
        ),
    },
)

STATISTICS_TABLES = {
    "statistics": STATISTICS,
    "variances": VARIANCES,
    "clusters": CLUSTERS,
    "by_template": BY_TEMPLATE,
    "without_clusters": WITHOUT_CLUSTERS,
}
"""By what they are called in the rule `statistics`."""
