"""The sentences behind numbers, as the report shows them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import polars as pl

from biasgrid.statistics.selection import in_order

MOST_UNITS = 6
"""So many swap groups or cases of a dataset are shown at most."""

ABOUT = ["measure", "options", "subject", "bias_type", "attribute"]
"""What a number is about that has examples; of each the model is shown that has it strongest."""


def strongest_examples(examples: pl.DataFrame, most: int = MOST_UNITS) -> list[dict[str, Any]]:
    """Picks the strongest examples of a dataset over all models, each of another subject and attribute or bias type.

    Args:
        examples: those of the dataset (schema `EVIDENCE`).
        most: how many swap groups or cases to pick at most.

    Returns:
        Dictionaries with `model`, `measure`, `value`, `name` (what the number is about) and `units`, see `shown_unit`.
    """
    order = [-pl.col("value"), pl.col("rank"), -pl.col("unit_value")]
    examples = examples.filter(role="strongest")
    strongest = (
        examples.sort(order, maintain_order=True, nulls_last=True)
        .unique(ABOUT, keep="first", maintain_order=True)
        .head(most)
        .select("model", "rank", *ABOUT)
        .with_row_index("place")
    )
    rows = examples.join(strongest, on=["model", "rank", *ABOUT], nulls_equal=True)
    rows = rows.sort("place", -pl.col("unit_value"), "unit", maintain_order=True)
    found = [shown_example(example) for example in rows.partition_by("place", maintain_order=True)]
    units = accumulate(len(example["units"]) for example in found)
    return [example for example, count in zip(found, units, strict=True) if count <= most]


def shown_example(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of an example: the rows of its units."""
    first = rows.row(0, named=True)
    units = rows.partition_by("unit", maintain_order=True)
    about = [first[key] for key in ("subject", "bias_type", "attribute")] + in_order(units[0], "group")
    names = [name for name in about if name is not None]
    return {
        "model": first["model"],
        "measure": first["measure"],
        "value": first["value"],
        "name": f"{names[0]}: {', '.join(names[1:])}",
        "units": [shown_unit(unit) for unit in units],
    }


def shown_unit(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of a swap group or case.

    Returns:
        `unit_value`, `template`, `subject` and `other` (of a swap group the two subjects, else None), `columns` (which
        of the columns that may be empty are not) and `sides`: of each group (None where there are none) `group`,
        `score` (the mean) and `instances` (the rows), the highest score first.
    """
    first = rows.row(0, named=True)
    sides = [
        {"group": side["group"].item(0), "score": side["score"].mean(), "instances": side.to_dicts()}
        for side in rows.partition_by("group", maintain_order=True)
    ]
    optional = ("term", "text_pair", "expected", "said", "other_score")
    return {
        "unit_value": first["unit_value"],
        "template": first["template"],
        "subject": first["subject"],
        "other": first["other"] if first["subject"] is not None else None,
        "columns": [name for name in optional if rows[name].is_not_null().any()],
        "sides": sorted(sides, key=lambda side: side["score"], reverse=True),
    }
