"""The sentences behind numbers, as the pages of cells show them."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.families.shown import scaled

ABOUT = ("subject", "bias_type", "attribute")
EXAMPLE = ["measure", "options", *ABOUT, "rank"]
SHOWN = ("term", "text", "text_pair", "expected", "said", "group")


def examples_of(examples: pl.DataFrame) -> list[dict[str, Any]]:
    """Gathers the examples of a cell, those that matter most first.

    Args:
        examples: schema `EVIDENCE`, of one cell.

    Returns:
        Dictionaries with `measure`, `value`, `reason`, `about` (what the number is about, in words) and `units`, from
        `unit_of`.
    """
    parts = examples.sort("rank", maintain_order=True).partition_by(EXAMPLE, maintain_order=True)
    return [example_of(part) for part in parts]


def example_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of an example: the rows of its units."""
    first = rows.row(0, named=True)
    units = rows.partition_by("unit", maintain_order=True)
    groups = units[0]["group"].drop_nulls().unique(maintain_order=True)
    return {
        "measure": first["measure"],
        "value": scaled(first["value"]),
        "reason": first["reason"],
        "about": [first[key] for key in ABOUT if first[key] is not None] + groups.to_list(),
        "units": [unit_of(unit) for unit in units],
    }


def unit_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of a swap group, case or statement.

    Returns:
        `value`, `role`, `template`, `other` (of a swap group the other subject) and `rows`: of each instance its texts
        and scores, those of the group with the highest mean first.
    """
    first = rows.row(0, named=True)
    means = rows.group_by("group").agg(mean=pl.col("score").mean())
    ordered = rows.join(means, on="group", how="left", nulls_equal=True, maintain_order="left")
    ordered = ordered.sort("mean", descending=True, nulls_last=True, maintain_order=True)
    return {
        "value": scaled(first["unit_value"]),
        "role": first["role"],
        "template": first["template"],
        "other": first["other"] if first["subject"] is not None else None,
        "rows": [
            {name: row[name] for name in SHOWN} | {name: scaled(row[name]) for name in ("score", "other_score")}
            for row in ordered.to_dicts()
        ],
    }
