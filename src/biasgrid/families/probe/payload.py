"""What the page of a cell of a probe shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    OPINIONS,
    CellTables,
    PageColumns,
    page_table,
    rows_with_keys,
    tables_without_answer,
)
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


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of compared groups, of rates among answers, and of unread answers."""
    groups = rows_with_keys(cell.measures, "group")
    metric = pl.col("options").str.strip_prefix("metric=")
    of_metrics = groups.filter(pl.col("options") != "").with_columns(metric=metric)
    compared = of_metrics.filter(measure=BY_GROUP)
    among_answers = of_metrics.filter(measure="among_answers")
    shares = groups.filter(options="").sort("measure", "group", maintain_order=True)
    not_read = shares.filter(measure="undetected_answers").select("group", undetected="value")
    compared = compared.join(not_read, on="group", how="left", maintain_order="left")
    return {
        "tables": [
            *page_table("Groups", what_groups_are(compared), compared, METRIC_GROUP_COLUMNS),
            *page_table(
                "Groups among answers",
                "Rates among answers in which something was found.",
                among_answers,
                METRIC_COLUMNS,
            ),
            *page_table(
                "What was not found",
                "Shares of items and answers of each group in which the evaluator found nothing, "
                "and why.",
                shares,
                SHARE_COLUMNS,
            ),
            *tables_without_answer(cell.measures),
        ]
    }


def what_groups_are(rows: pl.DataFrame) -> str:
    """Returns a sentence on intervals of groups: of other names too, or of these wordings alone."""
    over_names = rows["generalises_to"].str.contains("names").any()
    if over_names:
        return "What the metrics compare."
    return "What the metrics compare, for these wordings of the groups."
