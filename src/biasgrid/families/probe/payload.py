"""What the page of a cell of a probe shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.probe.declared import BY_GROUP
from biasgrid.families.shown import ShownCell
from biasgrid.families.tabled import Columns, of_keys, tabled

NUMBERS: Columns = {"Value": ("number", "value"), "Interval": ("interval", ""), "n": ("count", "n")}


def cell_payload(cell: ShownCell, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of what metrics compare, and of what the evaluator found in no answer."""
    groups = of_keys(cell.measures, "group")
    metric = pl.col("options").str.strip_prefix("metric=")
    compared = groups.filter(measure=BY_GROUP).with_columns(metric=metric)
    others = groups.filter(pl.col("measure") != BY_GROUP).sort("measure", "group", maintain_order=True)
    group: Columns = {"Group": ("name", "group")}
    return {
        "tables": [
            *tabled(
                "Groups", "What the metrics compare.", compared, {"Metric": ("name", "metric"), **group, **NUMBERS}
            ),
            *tabled(
                "What was not found",
                "Shares of items and answers of each group in which the evaluator found nothing, and why.",
                others,
                {"Share": ("name", "measure"), **group, **NUMBERS},
            ),
        ]
    }  # fmt: skip
