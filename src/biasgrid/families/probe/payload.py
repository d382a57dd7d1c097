"""What the page of a cell of a probe shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    CellTables,
    PageColumns,
    example_payloads,
    page_table,
    rows_with_keys,
    table_layout,
    unit_head,
)
from biasgrid.families.probe.evidence import EXPLAINED
from biasgrid.families.probe.keys import BY_GROUP

NUMBERS: PageColumns = {"Value": ("number", "value"), "Interval": ("interval", ""), "n": ("count", "n")}
ANSWERED: PageColumns = {
    "Group": ("name", "group"),
    "Asked": ("text", "text"),
    "Expected": ("name", "expected"),
    "Answer": ("text", "said"),
    "The evaluator saw": ("name", "found"),
    "Counts as": ("number", "score"),
}
"""What is shown of an answer."""


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of what metrics compare, and of what the evaluator found in no answer."""
    groups = rows_with_keys(cell.measures, "group")
    metric = pl.col("options").str.strip_prefix("metric=")
    compared = groups.filter(measure=BY_GROUP).with_columns(metric=metric)
    others = groups.filter(pl.col("measure") != BY_GROUP).sort("measure", "group", maintain_order=True)
    group: PageColumns = {"Group": ("name", "group")}
    return {
        "tables": [
            *page_table(
                "Groups", "What the metrics compare.", compared, {"Metric": ("name", "metric"), **group, **NUMBERS}
            ),
            *page_table(
                "What was not found",
                "Shares of items and answers of each group in which the evaluator found nothing, and why.",
                others,
                {"Share": ("name", "measure"), **group, **NUMBERS},
            ),
        ]
    }  # fmt: skip


def evidence(cell: CellTables, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns items with what was answered, and what the evaluator saw in it."""
    return example_payloads(cell.examples, EXPLAINED, item_of)


def item_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of an item: its answers."""
    return unit_head(rows) | table_layout(rows, ANSWERED) | {"what": "this item"}
