"""What the page of a cell of decisions shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    INTERVAL_COLUMNS,
    CellTables,
    FirstScreen,
    PageColumns,
    measures_side_by_side,
    page_table,
    rows_with_keys,
)

FIRST_SCREEN = FirstScreen(
    "Decisions about people",
    "How far apart are two groups?",
    "was asked for decisions about people, Yes or No",
    columns=({"largest_gap": "", "age_slope": ""},),
)
GROUP_COLUMNS: PageColumns = {
    "By": ("name", "bias_type"),
    "Group": ("name", "group"),
    "Compared with": ("name", "other"),
    "Difference": ("number", "value"),
    **INTERVAL_COLUMNS,
    "q": ("number", "q"),
    "P(Yes)": ("number", "yes_share"),
}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the table of groups beside their reference."""
    groups = rows_with_keys(cell.measures, "group", "other").filter(measure="decision_difference")
    shares = rows_with_keys(cell.measures, "group").filter(measure="yes_share")
    beside = measures_side_by_side(shares, ["bias_type", "group"], ["yes_share"])
    drawn = groups.join(beside, on=["bias_type", "group"], how="left", maintain_order="left")
    largest = (-pl.col("value").abs(), "bias_type", "group")
    about = (
        "Log odds of Yes about a group less those about its reference, the largest difference "
        "first. Yes is the favourable answer."
    )
    rows = drawn.sort(*largest, nulls_last=True, maintain_order=True)
    return {"tables": page_table("Groups", about, rows, GROUP_COLUMNS)}
