"""How sure the measures of a cell are: intervals, tests and floors, and where its variance is."""

from __future__ import annotations

from typing import Literal

import pandera.polars as pa
import polars as pl

from biasgrid.tables.measures import CELL, KEYS, MEASURE_KEYS, NAME, VALUE
from biasgrid.tables.schema import NeverNaN, column, table

Over = Literal["templates", "subjects", "all"]
OVERS: tuple[Over, ...] = ("templates", "subjects", "all")
"""What numbers generalise over: other templates, other subjects (names, terms), or all that was sampled."""
ROW = ("measure", "options", *MEASURE_KEYS)
"""What tells the measures of a cell apart."""
DISCOVERED = 0.05
"""Discoveries are what has a q of at most this."""
UNKNOWN = "none"
"""The method of what nothing can be said of."""


def number(description: str) -> pa.Column:
    """Returns a column of numbers that may be null."""
    return column(pl.Float64, description=description, nullable=True, checks=NeverNaN)


STATISTICS = table(
    "statistics",
    {
        **CELL,
        **NAME,
        **KEYS,
        "over": column(
            pl.String,
            description="what it generalises over: `templates`, `subjects` (names, terms) or `all` that was sampled",
        ),
        **VALUE,
        "low": number("lower end of its interval, null where nothing can be said"),
        "high": number("upper end of its interval"),
        "selected_low": number("lower end of the interval of what was picked because its q is small"),
        "selected_high": number("upper end of that interval"),
        "se": number("standard error, where there is a single one"),
        "df": number("degrees of freedom of the standard error; may be infinite"),
        "p": number("probability of a value as far from equal treatment, if there were no difference"),
        "q": number("p, corrected for the tests of its kind: the share of false discoveries among those up to it"),
        "holm": number("p, corrected so that any false discovery of its kind is as rare as p says (Holm)"),
        "floor": number("what noise alone would give, of measures that are positive for noise"),
        "frames": column(
            pl.Int64, description="how many frames (templates that are no rewordings of each other) it has"
        ),
        "n": column(pl.Int64, description="how many things that the measure counts it is made of"),
        "method": column(pl.String, description="how its interval or p was found; `none` where nothing can be said"),
    },
)

VARIANCES = table(
    "variances",
    {
        **CELL,
        "block": column(
            pl.UInt16,
            description="attributes that are asked in the same frames, usually one block; null of the whole cell",
            nullable=True,
        ),
        "name": column(
            pl.String,
            description="a source of variance (`association`, `association x frame`, ...) or an index made of them "
            "(`template_share`, `reliability`, `templates_for_0.8`, `noise_sd`, `prior_df`, `mde`, `mde_fdr`)",
        ),
        "value": number("the variance in C, or the index"),
        "share": number("the share of a source among the variances that are not negative"),
    },
)

FRAMES = table(
    "frames",
    {
        **CELL,
        "frame": column(pl.UInt16, description="0-based number, in the order of the frames' first templates"),
        "templates": column(pl.String, description="its templates, such as `0, 1`"),
        "mu_without": number("mu of the other frames"),
        "correlation": number("how the frame's associations correlate with those of the others"),
        "like": column(pl.UInt16, description="the frame whose noise is most like this one's", nullable=True),
        "likeness": number("how the noise of the two correlates: above 0.5 both say nearly the same"),
    },
)

BY_TEMPLATE = table(
    "by_template",
    {
        **CELL,
        "subject": KEYS["subject"],
        "other_cluster": column(
            pl.String, description="the cluster of the subjects it is compared with", nullable=True
        ),
        "attribute": KEYS["attribute"],
        "template": KEYS["template"],
        "n": column(pl.Int64, description="how many swap groups these are means of"),
        "comparison": column(pl.Float64, description="mean of C"),
        "sign": column(pl.Float64, description="mean of the sign of C"),
        "wins": column(pl.Float64, description="share of C above 0"),
        "delta": column(pl.Float64, description="mean of delta"),
        "epsilon": column(pl.Float64, description="mean of epsilon"),
        "answer_probability": column(pl.Float64, description="mean of the answer probability"),
        "winner_changes": column(pl.Float64, description="share of changes of the winner"),
    },
)

WITHOUT_FRAMES = table(
    "without_frames",
    {
        **CELL,
        **NAME,
        **KEYS,
        **VALUE,
        "n": column(pl.Int64, description="how many things that the measure counts it is made of"),
        "moderated": column(
            pl.Boolean,
            description="whether its variance over frames is strengthened by those of others of its kind",
        ),
        "without": column(
            pl.List(pl.Float64),
            description="the measure without each frame, in their order; null where it has nothing of the frame, all "
            "null where nothing can be said",
        ),
    },
)

TABLES = {
    "statistics": STATISTICS,
    "variances": VARIANCES,
    "frames": FRAMES,
    "by_template": BY_TEMPLATE,
    "without_frames": WITHOUT_FRAMES,
}
"""By what they are called in the rule `statistics`."""
