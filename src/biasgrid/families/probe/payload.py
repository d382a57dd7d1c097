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


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of what metrics compare, and of what the evaluator found in no answer, by
    group and compared.
    """
    groups = rows_with_keys(cell.measures, "group")
    metric = pl.col("options").str.strip_prefix("metric=")
    named = groups.filter(pl.col("options") != "").with_columns(metric=metric)
    compared, alone = (named.filter(measure=name) for name in (BY_GROUP, "among_answers"))
    others = groups.filter(options="").sort("measure", "group", maintain_order=True)
    not_read = others.filter(measure="undetected_answers").select("group", undetected="value")
    compared = compared.join(not_read, on="group", how="left", maintain_order="left")
    group: PageColumns = {"Group": ("name", "group")}
    of_metric: PageColumns = {"Metric": ("name", "metric"), **group, **NUMBERS}
    return {
        "tables": [
            *page_table(
                "Groups",
                what_groups_are(compared),
                compared,
                {**of_metric, "Not read": ("number", "undetected")},
            ),
            *page_table(
                "Groups among answers",
                "Rates among answers in which something was found.",
                alone,
                of_metric,
            ),
            *page_table(
                "What was not found",
                "Shares of items and answers of each group in which the evaluator found nothing, "
                "and why.",
                others,
                {"Share": ("name", "measure"), **group, **NUMBERS},
            ),
            *tables_without_answer(cell.measures),
        ]
    }


def what_groups_are(rows: pl.DataFrame) -> str:
    """Says what intervals of groups are about: of names other ones too, of wordings these alone."""
    over_names = rows["generalises_to"].str.contains("names").any()
    return (
        "What the metrics compare."
        if over_names
        else "What the metrics compare, for these wordings of the groups."
    )
