"""The family's own columns of instances: the prompt, its group, and the repetition."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "prompt": column(
        pl.UInt32, description="number of the prompt among the distinct prompts of the file, from 0"
    ),
    "bias_type": column(
        pl.Categorical,
        description=(
            "what the groups have in common, such as religion; ` & ` joins those of an intersection"
        ),
    ),
    "group": column(pl.Categorical, description="the group that the prompt was rewritten for"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "original": column(pl.Categorical, description="the text before it was rewritten"),
    "words": column(
        pl.List(pl.Categorical), description="the words of groups in the text, in order"
    ),
}
