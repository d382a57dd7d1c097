"""The table on the page of a cell: differences of groups from their reference."""

from __future__ import annotations

import polars as pl

from biasgrid.families.page import INTERVAL_COLUMNS, FirstScreen, Table

FIRST_SCREEN = FirstScreen(
    "Decisions about people",
    "How far apart are two groups?",
    "was asked for decisions about people, Yes or No",
    columns=({"largest_gap": "", "age_slope": ""},),
)
IS_SHARE_OF_GROUP = (pl.col("measure") == "yes_share") & pl.col("group").is_not_null()
YES_SHARE = pl.col("value").filter(IS_SHARE_OF_GROUP).first().over("bias_type", "group")
TABLES = (
    Table(
        "Groups",
        "Log odds of Yes about a group less those about its reference, the largest difference "
        "first. Yes is the favourable answer.",
        {
            "By": ("name", "bias_type"),
            "Group": ("name", "group"),
            "Compared with": ("name", "other"),
            "Difference": ("number", "value"),
            **INTERVAL_COLUMNS,
            "q": ("number", "q"),
            "P(Yes)": ("number", "yes_share"),
        },
        keys=("group", "other"),
        where=pl.col("measure") == "decision_difference",
        added={"yes_share": YES_SHARE},
        order=(-pl.col("value").abs(), "bias_type", "group"),
    ),
)
