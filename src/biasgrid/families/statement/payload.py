"""What the page of a cell of statements shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    CellTables,
    PageColumns,
    example_payloads,
    measures_side_by_side,
    page_table,
    rows_with_keys,
    table_layout,
    tables_of_groups,
    unit_head,
    word_diff,
)
from biasgrid.families.statement.evidence import EXPLAINED

CLASS_MEASURES = ("error", "p_yes", "p_no", "bias", "inconsistency", "right_on_both")
CLASS_COLUMNS: PageColumns = {
    "Error rate": ("number", "error"),
    "Interval": ("interval", "error "),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Bias": ("number", "bias"),
    "Inconsistency": ("number", "inconsistency"),
    "Right on both": ("number", "right_on_both"),
    "n": ("count", "error n"),
}
PAIR_COLUMNS: PageColumns = {
    "Asked": ("name", "sort"),
    "Value": ("name", "term"),
    "Statement": ("text", "text"),
    "Right": ("name", "expected"),
    "Said": ("name", "said"),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Share of the right one": ("number", "score"),
}
"""What is shown of a statement and of its negation."""


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of classes, of values, of templates and of groups; see `families.payload.Payload`."""
    own = cell.measures.filter(options="")
    of_class, of_value = ["bias_type", "group"], ["bias_type", "group", "subject"]
    domain: PageColumns = {"Domain": ("name", "bias_type"), "Class": ("name", "group")}
    of_values: PageColumns = {**domain, "Value": ("name", "subject")}
    classes = measures_by_error(rows_with_keys(own, "group"), of_class)
    values = measures_by_error(rows_with_keys(own, "group", "subject"), of_value)
    templates = measures_by_error(rows_with_keys(own, "template"), ["template"])
    by_template = "The same by template; a negation is a template of its own."
    tables = [
        *page_table("Classes", "What is answered to statements about a class.", classes, {**domain, **CLASS_COLUMNS}),
        *page_table("Values", "The same by what stands in the statement.", values, {**of_values, **CLASS_COLUMNS}),
        *page_table(
            "Templates of statements", by_template, templates, {"Template": ("template", "template"), **CLASS_COLUMNS}
        ),
    ]
    return {"tables": tables + tables_of_groups(cell.measures)}


def measures_by_error(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns measures side by side, those with most errors first."""
    return measures_side_by_side(rows, keys, CLASS_MEASURES).sort(
        -pl.col("error"), *keys, nulls_last=True, maintain_order=True
    )


def evidence(cell: CellTables, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns statements with their negations, and how probable either answer is to each."""
    return example_payloads(cell.examples, EXPLAINED, pair_payload)


def pair_payload(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of a statement and its negation, each in the parts in which it differs from the other."""
    sort = pl.when("negated").then(pl.lit("negation")).otherwise(pl.lit("statement"))
    drawn = table_layout(rows.with_columns(sort=sort), PAIR_COLUMNS)
    place = [title for title, _ in drawn["columns"]].index("Statement")
    texts = dict(rows.select("negated", "text").rows())
    for row, negated in zip(drawn["rows"], rows["negated"], strict=True):
        row[place] = word_diff(row[place], texts.get(not negated, row[place]))
    return unit_head(rows) | drawn | {"what": "share of the wrong answers"}
