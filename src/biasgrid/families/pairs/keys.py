"""The family's own columns of instances: pair, role of the sentence, bias type, writer, target."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "pair": column(pl.UInt32, description="the pair, or StereoSet's example, numbered from 0"),
    "item_id": column(
        pl.Categorical, description="id of the sentence, with which published scores are matched"
    ),
    "role": column(
        pl.Categorical,
        description=(
            "`more` or `less`, for how much the sentence states the stereotype, or `unrelated`; if "
            "a model chooses between both sentences, the role of the first sentence"
        ),
    ),
    "template": column(
        pl.UInt16, description="the cluster of pairs that reword each other, numbered from 0"
    ),
    "type": column(pl.Categorical, description="the bias type"),
    "direction": column(
        pl.Categorical,
        description=(
            "`stereo` or `antistereo`: whether the disadvantaged group is in the sentence that "
            "states the stereotype more, if known"
        ),
        nullable=True,
    ),
    "writer": column(pl.Categorical, description="who wrote the pair, if known", nullable=True),
    "target": column(pl.Categorical, description="StereoSet's target term", nullable=True),
    "task": column(
        pl.Categorical,
        description="`intrasentence` or `intersentence`, of StereoSet",
        nullable=True,
    ),
    "is_doubted": column(
        pl.Boolean,
        description="whether at most two annotators named the type, if known",
        nullable=True,
    ),
}
