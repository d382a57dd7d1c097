"""Evidence and page of a cell: the items that a metric counts most and least, tables of groups."""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.page import OPINIONS, PageColumns, Table
from biasgrid.families.probe.claims import BY_GROUP
from biasgrid.families.probe.definitions import ObservationMetric, Probe
from biasgrid.families.probe.measure import AMONG_ANSWERS
from biasgrid.families.probe.metrics import (
    averaging_terms,
    needed_keys,
    rows_where,
    with_key_columns,
)
from biasgrid.families.probe.observe import ANSWER, read_cell_probe

UNDETECTED = "undetected_answers"
"""The measure of answers in which nothing was found, which has evidence as metrics have."""
KEYS_OF_ANSWER = ("expected", "attribute", "group")
"""Columns that are the same in all observations of an answer."""


def ranked_answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the answers to items, for each metric sorted by how much of an item it counts.

    Args:
        cell: the cell.
        about: `measure`, the metric that is explained, or None for all.

    Returns:
        Columns of `EVIDENCE`; `unit_value` is the share of the item, `score` the value of the
        answer, `found` the findings in words, `said` the label if there is no answer in words.
    """
    probe = read_cell_probe(cell.measure_options)
    rows = cell.observations.cast({pl.Categorical: pl.String})
    rows = with_key_columns(rows, needed_keys(probe.head.metric.values()))
    attribute = pl.col("keys").map_elements(first_text, return_dtype=pl.String)
    rows = rows.with_columns(attribute=attribute)
    tables = []
    for name in [about["measure"]] if about else explained_metrics(probe):
        metric = probe.head.metric.get(name)
        if isinstance(metric, ObservationMetric):
            tables.append(item_answers(name, metric, rows_where(rows, metric.where)))
        else:
            tables.append(undetected_answers_by_item(rows))
    # Columns of empty tables may have other types; if all are empty, one is enough.
    filled = [table for table in tables if len(table)]
    table = pl.concat(filled or tables[:1])
    return table.with_columns(bias_type=pl.lit(probe.head.bias_type), options=pl.lit(""))


def first_text(keys: str) -> str:
    """Returns the first text among the keys of a prompt, which names the topic of its item."""
    return next((value for value in json.loads(keys).values() if isinstance(value, str)), "")


def explained_metrics(probe: Probe) -> list[str]:
    """Returns the metrics with evidence, which count answers one by one, and `UNDETECTED`."""
    names = []
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            names.append(name)
    return [*names, UNDETECTED]


def undetected_answers_by_item(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers in which nothing was found, first those to items with most of them."""
    answers = rows.unique("instance", keep="first", maintain_order=True)
    is_undetected = pl.col("undetected").cast(pl.Float64)
    answers = answers.with_columns(score=is_undetected, found=reason_undetected())
    items = answers.group_by("item").agg(unit_value=pl.col("score").mean())
    items = items.filter(pl.col("unit_value") > 0)
    return answers_by_item(answers.filter("undetected").join(items, on="item"), UNDETECTED)


def reason_undetected() -> pl.Expr:
    """Returns the reason why nothing was found, in words."""
    why = pl.col("outcome").cast(pl.String).replace("length", "cut short")
    return pl.format("nothing ({})", why)


def answers_by_item(answers: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns answers with some columns of `EVIDENCE`, the largest `unit_value` first."""
    columns = "instance", "unit_value", "score", "found", *KEYS_OF_ANSWER
    sorted_answers = answers.sort(-pl.col("unit_value"), "item", "instance", maintain_order=True)
    return sorted_answers.select(*columns, unit="item", said="label", measure=pl.lit(name))


def item_answers(name: str, metric: ObservationMetric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers to the items of a metric, sorted by how much of an item it counts.

    Args:
        name: the metric's name.
        metric: the metric.
        rows: the observations of the metric.

    Returns:
        A row for each answer that the metric counts, and for each in which nothing was found, of
        all items with an answer that it counts.
    """
    counts, hit, weight = averaging_terms(metric)
    unread, read = rows.filter("undetected"), rows.filter(~pl.col("undetected"))
    weighted_hit = hit.cast(pl.Float64) * weight
    counted_rows = read.filter(counts).with_columns(hit=weighted_hit, weight=weight)
    share = pl.col("hit").sum() / pl.col("weight").sum()
    items = counted_rows.group_by("item").agg(unit_value=share)
    items = items.filter(pl.col("unit_value").is_not_nan())
    # The label of an answer is that with the largest weight.
    rows_by_weight = counted_rows.sort(-pl.col("weight"), maintain_order=True)
    answers = rows_by_weight.group_by("instance", maintain_order=True).agg(
        pl.col("item", *KEYS_OF_ANSWER, "label").first(), score=share
    )
    answers = answers.join(findings_text(read), on="instance", how="left")
    without = unread.select("instance", "item", *KEYS_OF_ANSWER, found=reason_undetected())
    table = pl.concat([answers, without], how="diagonal_relaxed")
    return answers_by_item(table.join(items, on="item"), name)


def findings_text(read: pl.DataFrame) -> pl.DataFrame:
    """Returns by `instance` the text `found`: labels, with their probabilities, or numbers.

    Args:
        read: the observations in which something was found.
    """
    label, value = pl.col("label"), pl.col("value")
    score = pl.when(pl.col("score") != ANSWER).then("score")
    name = pl.coalesce(label, score)
    # A label of a whole answer counts once, which says nothing.
    says_more = label.is_null() | (value != 1)
    number = pl.when(says_more).then(value.round(3).cast(pl.String))
    words = pl.concat_str(name, number, separator=" ", ignore_nulls=True)
    return read.group_by("instance", maintain_order=True).agg(found=words.str.join(", "))


SENTENCES = Sentences(
    ranked_answers,
    explained=("measure",),
    measure=lambda options: explained_metrics(read_cell_probe(options)),
    concerns=lambda about: pl.lit(value=True),
    rows_kept=6,
    asked={"text": "text"},
    said="response",
    view=UnitView(
        "this item",
        columns={
            "Group": ("name", "group"),
            "Asked": ("text", "text"),
            "Expected": ("name", "expected"),
            "Answer": ("text", "said"),
            "The evaluator saw": ("name", "found"),
            "Counts as": ("number", "score"),
        },
    ),
)

# Page: tables of groups, and of answers in which nothing was found

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


def sentence_on_groups(rows: pl.DataFrame) -> str:
    """Returns a sentence on intervals of groups: of other names too, or of these wordings alone."""
    over_names = rows["generalises_to"].str.contains("names").any()
    if over_names:
        return "What the metrics compare."
    return "What the metrics compare, for these wordings of the groups."


MEASURE, OPTIONS = pl.col("measure"), pl.col("options")
METRIC = {"metric": OPTIONS.str.strip_prefix("metric=")}
IS_OF_METRIC = OPTIONS != ""
IS_UNDETECTED = (MEASURE == UNDETECTED) & (OPTIONS == "")
SHARE_UNDETECTED = pl.col("value").filter(IS_UNDETECTED).first().over("group")
TABLES = (
    Table(
        "Groups",
        sentence_on_groups,
        METRIC_GROUP_COLUMNS,
        keys=("group",),
        where=IS_OF_METRIC & (MEASURE == BY_GROUP),
        added={**METRIC, "undetected": SHARE_UNDETECTED},
    ),
    Table(
        "Groups among answers",
        "Rates among answers in which something was found.",
        METRIC_COLUMNS,
        keys=("group",),
        where=IS_OF_METRIC & (MEASURE == AMONG_ANSWERS),
        added=METRIC,
    ),
    Table(
        "What was not found",
        "Shares of items and answers of each group in which the evaluator found nothing, and why.",
        SHARE_COLUMNS,
        keys=("group",),
        where=OPTIONS == "",
        order=("measure", "group"),
    ),
)
