"""What the page of a cell of a probe shows beside its numbers as a whole."""

from __future__ import annotations

import polars as pl

from biasgrid.families.page import OPINIONS, PageColumns, Table
from biasgrid.families.probe.keys import BY_GROUP

FIRST_SCREEN = OPINIONS
NUMBERS: PageColumns = {
    "Value": ("number", "value"),
    "Interval": ("interval", ""),
    "n": ("count", "n"),
}
METRIC_COLUMNS: PageColumns = {
    "Metric": ("name", "metric"),
    "Group": ("name", "group"),
    **NUMBERS,
}
METRIC_GROUP_COLUMNS: PageColumns = {**METRIC_COLUMNS, "Not read": ("number", "undetected")}
SHARE_COLUMNS: PageColumns = {
    "Share": ("name", "measure"),
    "Group": ("name", "group"),
    **NUMBERS,
}


def what_groups_are(rows: pl.DataFrame) -> str:
    """Returns a sentence on intervals of groups: of other names too, or of these wordings alone."""
    over_names = rows["generalises_to"].str.contains("names").any()
    if over_names:
        return "What the metrics compare."
    return "What the metrics compare, for these wordings of the groups."


MEASURE, OPTIONS = pl.col("measure"), pl.col("options")
METRIC = {"metric": OPTIONS.str.strip_prefix("metric=")}
IS_OF_METRIC = OPTIONS != ""
IS_UNDETECTED = (MEASURE == "undetected_answers") & (OPTIONS == "")
SHARE_UNDETECTED = pl.col("value").filter(IS_UNDETECTED).first().over("group")
TABLES = (
    Table(
        "Groups",
        what_groups_are,
        METRIC_GROUP_COLUMNS,
        keys=("group",),
        where=IS_OF_METRIC & (MEASURE == BY_GROUP),
        added={**METRIC, "undetected": SHARE_UNDETECTED},
    ),
    Table(
        "Groups among answers",
        "Rates among answers in which something was found.",
        METRIC_COLUMNS,
        keys=("group",),
        where=IS_OF_METRIC & (MEASURE == "among_answers"),
        added=METRIC,
    ),
    Table(
        "What was not found",
        "Shares of items and answers of each group in which the evaluator found nothing, and why.",
        SHARE_COLUMNS,
        keys=("group",),
        where=OPTIONS == "",
        order=("measure", "group"),
    ),
)
