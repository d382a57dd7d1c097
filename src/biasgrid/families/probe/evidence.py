"""The evidence for metrics: prompts and answers of items of which a metric counts most, middling
and least.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError, unknown_names
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.probe.definitions import ObservationMetric
from biasgrid.families.probe.observe import ANSWER, read_probe_of_cell
from biasgrid.families.probe.pack import Probe
from biasgrid.families.probe.sums import averaging_terms, needed_keys, rows_where, with_key_columns

UNDETECTED = "undetected_answers"
"""The measure of what was not found, which has evidence as metrics have."""
KEYS_OF_ANSWER = ("expected", "attribute", "group")
"""What is the same of all that was found in an answer."""


def answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the answers to items, of each metric those first that have most of what it counts.

    Returns:
        Columns of `EVIDENCE`; `unit_value` is the share of the item, `score` the value of the
        answer, `found` what the evaluator saw, `said` the label where there is no answer in words.
    """
    probe = read_probe_of_cell(cell.options)
    rows = with_key_columns(
        cell.observations.cast({pl.Categorical: pl.String}), needed_keys(probe.head.metric.values())
    ).with_columns(attribute=pl.col("keys").map_elements(first_text, return_dtype=pl.String))
    names = [about["measure"]] if about else explained_metrics(probe)
    tables = [answers_of_metric(name, probe, rows) for name in names]
    found = pl.concat([table for table in tables if len(table)] or tables[:1])
    return found.with_columns(bias_type=pl.lit(probe.head.bias_type), options=pl.lit(""))


def first_text(keys: str) -> str:
    """Returns the first text among the keys of a prompt, which says what its item is about."""
    return next((value for value in json.loads(keys).values() if isinstance(value, str)), "")


def explained_metrics(probe: Probe) -> list[str]:
    """Returns the metrics whose answers count one by one, and the share of answers in which nothing
    was found.
    """
    metrics = probe.head.metric.items()
    return [
        *(name for name, metric in metrics if isinstance(metric, ObservationMetric)),
        UNDETECTED,
    ]


def answers_of_metric(name: str, probe: Probe, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns what was answered to items, of one of `explained_metrics`; see `answers_of_items`."""
    if name == UNDETECTED:
        every = rows.unique("instance", keep="first", maintain_order=True)
        every = every.with_columns(
            score=pl.col("undetected").cast(pl.Float64), found=reason_undetected()
        )
        items = (
            every.group_by("item")
            .agg(unit_value=pl.col("score").mean())
            .filter(pl.col("unit_value") > 0)
        )
        return answers_by_item(every.filter("undetected").join(items, on="item"), UNDETECTED)
    metric = probe.head.metric[name]
    assert isinstance(metric, ObservationMetric)
    return answers_of_items(name, metric, rows_where(rows, metric.where))


def reason_undetected() -> pl.Expr:
    """Words why nothing was found."""
    why = pl.col("outcome").cast(pl.String).replace("length", "cut short")
    return pl.format("nothing ({})", why)


def answers_by_item(answers: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns answers with some columns of `EVIDENCE`, those first that have most of what a metric
    counts.
    """
    columns = "instance", "unit_value", "score", "found", *KEYS_OF_ANSWER
    ordered = answers.sort(-pl.col("unit_value"), "item", "instance", maintain_order=True)
    return ordered.select(*columns, unit="item", said="label", measure=pl.lit(name))


def answers_of_items(name: str, metric: ObservationMetric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns what was answered to items, those first that have most of what a metric counts.

    Args:
        name: the metric's name.
        metric: the metric.
        rows: the observations of which it is.

    Returns:
        A row for each answer that the metric counts, and for each in which nothing was found, of
        all items of which it counts any.
    """
    counts, hit, weight = averaging_terms(metric)
    nothing, something = rows.filter("undetected"), rows.filter(~pl.col("undetected"))
    counted = something.filter(counts).with_columns(
        hit=hit.cast(pl.Float64) * weight, weight=weight
    )
    share = pl.col("hit").sum() / pl.col("weight").sum()
    items = counted.group_by("item").agg(unit_value=share).filter(pl.col("unit_value").is_not_nan())
    answers = (
        counted.sort(-pl.col("weight"), maintain_order=True)
        .group_by("instance", maintain_order=True)
        .agg(pl.col("item", *KEYS_OF_ANSWER, "label").first(), score=share)
        .join(findings_text(something), on="instance", how="left")
    )
    unread = nothing.select("instance", "item", *KEYS_OF_ANSWER, found=reason_undetected())
    return answers_by_item(
        pl.concat([answers, unread], how="diagonal_relaxed").join(items, on="item"), name
    )


def findings_text(something: pl.DataFrame) -> pl.DataFrame:
    """Words by `instance` what was `found`: labels, of probabilities with their shares, and
    numbers.
    """
    named = pl.coalesce("label", pl.when(pl.col("score") != ANSWER).then("score"))
    # A label of a whole answer counts once, which says nothing.
    number = pl.when(pl.col("label").is_null() | (pl.col("value") != 1)).then(
        pl.col("value").round(3).cast(pl.String)
    )
    words = pl.concat_str(named, number, separator=" ", ignore_nulls=True)
    return something.group_by("instance", maintain_order=True).agg(found=words.str.join(", "))


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained.

    Raises:
        InputError: the probe has no such metric whose answers count one by one.
    """
    metrics = explained_metrics(read_probe_of_cell(options))
    if faults := list(unknown_names(options["probe"], "--measure", [about["measure"]], metrics)):
        raise InputError(faults)
    return about["measure"], ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns all instances: a metric is of all items."""
    return instances


SENTENCES = Sentences(
    answers,
    explained=("measure",),
    number=number,
    relevant_instances=relevant_instances,
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
evidence = SENTENCES.table
