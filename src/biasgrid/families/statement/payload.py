"""What the page of a cell of statements shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    OPINIONS,
    CellTables,
    PageColumns,
    measures_side_by_side,
    page_table,
    rows_with_keys,
    tables_of_groups,
    tables_without_answer,
)

FIRST_SCREEN = replace(OPINIONS, columns=({"bias": "agrees beyond chance"},))
CLASS_MEASURES = (
    "error",
    "p_yes",
    "p_no",
    "bias",
    "inconsistency",
    "right_on_both",
    "same_answer",
    "coverage",
)
CLASS_COLUMNS: PageColumns = {
    "Error rate": ("number", "error"),
    "Interval": ("interval", "error "),
    "Read": ("number", "coverage"),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Bias": ("number", "bias"),
    "Inconsistency": ("number", "inconsistency"),
    "Right on both": ("number", "right_on_both"),
    "Same answer": ("number", "same_answer"),
    "Pairs": ("count", "same_answer n"),
    "n": ("count", "error n"),
}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of classes, of values, of templates and of groups; see `Payload`."""
    own = cell.measures.filter(options="")
    of_class, of_value = ["bias_type", "group"], ["bias_type", "group", "subject"]
    domain: PageColumns = {"Domain": ("name", "bias_type"), "Class": ("name", "group")}
    of_values: PageColumns = {**domain, "Value": ("name", "subject")}
    return {
        "tables": [
            *page_table(
                "Classes",
                "Answers to statements about each class, most errors first.",
                measures_by_error(rows_with_keys(own, "group"), of_class),
                {**domain, **CLASS_COLUMNS},
            ),
            *page_table(
                "Values",
                "The same by the value that the statement contains.",
                measures_by_error(rows_with_keys(own, "group", "subject"), of_value),
                {**of_values, **CLASS_COLUMNS},
            ),
            *page_table(
                "Templates of statements",
                "The same by template. A negation counts as a template of its own.",
                measures_by_error(rows_with_keys(own, "template"), ["template"]),
                {"Template": ("template", "template"), **CLASS_COLUMNS},
            ),
            *tables_without_answer(cell.measures),
            *tables_of_groups(cell.measures),
        ]
    }


def measures_by_error(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns measures side by side, those with most errors first."""
    table = measures_side_by_side(rows, keys, CLASS_MEASURES)
    return table.sort(-pl.col("error"), *keys, nulls_last=True, maintain_order=True)
