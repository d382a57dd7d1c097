"""What the page of a cell of statements shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.differing import differing_parts
from biasgrid.families.grouped import tables_of_groups
from biasgrid.families.shown import ShownCell, examples_of, head_of
from biasgrid.families.statement.evidence import EXPLAINED
from biasgrid.families.tabled import Columns, laid_out, of_keys, side_by_side, tabled

MEASURES = ("error", "p_yes", "p_no", "bias", "inconsistency", "right_on_both")
NUMBERS: Columns = {
    "Error rate": ("number", "error"),
    "Interval": ("interval", "error "),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Bias": ("number", "bias"),
    "Inconsistency": ("number", "inconsistency"),
    "Right on both": ("number", "right_on_both"),
    "n": ("count", "error n"),
}
STATED: Columns = {
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


def cell_payload(cell: ShownCell, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of classes, of values, of templates and of groups; see `families.shown.Payload`."""
    own = cell.measures.filter(options="")
    of_class, of_value = ["bias_type", "group"], ["bias_type", "group", "subject"]
    domain: Columns = {"Domain": ("name", "bias_type"), "Class": ("name", "group")}
    of_values: Columns = {**domain, "Value": ("name", "subject")}
    classes = ordered(of_keys(own, "group"), of_class)
    values = ordered(of_keys(own, "group", "subject"), of_value)
    templates = ordered(of_keys(own, "template"), ["template"])
    by_template = "The same by template; a negation is a template of its own."
    tables = [
        *tabled("Classes", "What is answered to statements about a class.", classes, {**domain, **NUMBERS}),
        *tabled("Values", "The same by what stands in the statement.", values, {**of_values, **NUMBERS}),
        *tabled("Templates of statements", by_template, templates, {"Template": ("template", "template"), **NUMBERS}),
    ]
    return {"tables": tables + tables_of_groups(cell.measures)}


def ordered(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns measures side by side, those with most errors first."""
    return side_by_side(rows, keys, MEASURES).sort(-pl.col("error"), *keys, nulls_last=True, maintain_order=True)


def evidence(cell: ShownCell, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns statements with their negations, and how probable either answer is to each."""
    return examples_of(cell.examples, EXPLAINED, pair_of)


def pair_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of a statement and its negation, each in the parts in which it differs from the other."""
    sort = pl.when("negated").then(pl.lit("negation")).otherwise(pl.lit("statement"))
    drawn = laid_out(rows.with_columns(sort=sort), STATED)
    place = [title for title, _ in drawn["columns"]].index("Statement")
    texts = dict(rows.select("negated", "text").rows())
    for row, negated in zip(drawn["rows"], rows["negated"], strict=True):
        row[place] = differing_parts(row[place], texts.get(not negated, row[place]))
    return head_of(rows) | drawn | {"what": "share of the wrong answers"}
