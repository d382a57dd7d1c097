"""The evidence for metrics: prompts and answers of items of which a metric counts most, middling and least."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import with_roles
from biasgrid.families.probe.files.metrics import Metric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.metrics.parts import averaged
from biasgrid.families.probe.observe import probe_of
from biasgrid.faults import InputError, unknown_names

STRONGEST = 3
"""So many items of a metric of which it counts most are shown."""
ANSWERS = 6
"""So many answers of an item are shown at most."""
EXPLAINED = ("measure",)
"""What names a number."""


def items_of_metrics(cell: MeasuredCell, probe: Probe) -> pl.DataFrame:
    """Finds items of every metric, by how much of what it counts is in their answers.

    Returns:
        Of each metric the items that `with_roles` picks, with a row for each of their answers: columns of `EVIDENCE`.
        `unit_value` is the share of the item, `score` the value of the answer.
    """
    rows = cell.observations.filter(~pl.col("undetected")).cast({pl.Categorical: pl.String})
    metrics = {name: metric for name, metric in probe.head.metric.items() if metric.kind != "own"}
    tables = [chosen(name, metric, rows) for name, metric in metrics.items()]
    found = pl.concat([table for table in tables if len(table)]) if any(map(len, tables)) else pl.DataFrame()
    if found.is_empty():
        return found
    return with_texts(found, cell, probe).with_columns(reason=pl.lit("all"), rank=pl.lit(0))


def with_texts(found: pl.DataFrame, cell: MeasuredCell, probe: Probe) -> pl.DataFrame:
    """Adds to answers what was asked and said, what the item is about, and the value of the metric.

    Args:
        found: from `answers_of_items`.
        cell: the cell.
        probe: the probe.
    """
    wanted = found.select(pl.col("instance").unique()).lazy()
    response = "response" if "response" in cell.predictions.collect_schema() else None
    said = cell.predictions.select(
        "instance", response=pl.col(response).cast(pl.String) if response else pl.lit(None, pl.String)
    )
    asked = cell.instances.select("instance", pl.col("text").cast(pl.String))
    texts = wanted.join(asked, on="instance").join(said, on="instance").collect()
    values = cell.measures.filter(pl.col("group").is_null(), options="").select("measure", "value")
    return (
        found.join(texts, on="instance", maintain_order="left")
        .join(values, on="measure", maintain_order="left")
        .with_columns(
            said=pl.coalesce("response", "label"),
            bias_type=pl.lit(probe.head.bias_type),
            attribute=pl.col("keys").map_elements(told_of, return_dtype=pl.String),
            options=pl.lit(""),
        )
        .drop("keys", "label", "response")
    )


def chosen(name: str, metric: Metric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns answers of the items of a metric that `with_roles` picks."""
    answers = answers_of_items(name, metric, rows)
    items = answers.select("measure", "unit", "unit_value").unique()
    picked = with_roles(items, ["measure"], STRONGEST).select("unit", "role")
    return answers.join(picked, on="unit", maintain_order="left").group_by("unit", maintain_order=True).head(ANSWERS)


def answers_of_items(name: str, metric: Metric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns what was answered to items, those first that have most of what a metric counts.

    Args:
        name: the metric's name.
        metric: the metric.
        rows: the observations of what was found.
    """
    told, hit, weight = averaged(metric)
    counted = rows.filter(told).with_columns(score=hit.cast(pl.Float64), weight=weight)
    share = (pl.col("score") * pl.col("weight")).sum() / pl.col("weight").sum()
    items = counted.group_by("item").agg(unit_value=share).filter(pl.col("unit_value").is_not_nan())
    shown = counted.join(items, on="item")
    shown = shown.sort(-pl.col("unit_value"), "item", "instance", -pl.col("weight"), maintain_order=True)
    return shown.unique("instance", keep="first", maintain_order=True).select(
        "instance", "unit_value", "score", "expected", "label", "keys", "group", unit="item", measure=pl.lit(name)
    )


def told_of(keys: str) -> str:
    """Names what an item is about: the first text among its keys."""
    return next((value for value in json.loads(keys).values() if isinstance(value, str)), "")


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained.

    Raises:
        InputError: the probe has no such metric whose answers count one by one.
    """
    metrics = [name for name, metric in probe_of(options).head.metric.items() if metric.kind != "own"]
    if faults := list(unknown_names(options["probe"], "--measure", [about["measure"]], metrics)):
        raise InputError(faults)
    return about["measure"], ""


def concerned(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns all instances: a metric is of all items."""
    return instances


def units(cell: MeasuredCell, about: Mapping[str, str]) -> pl.DataFrame:
    """Returns the answers to all items, those with most of what the metric counts first: columns of `EVIDENCE`."""
    probe = probe_of(cell.options)
    rows = cell.observations.filter(~pl.col("undetected")).cast({pl.Categorical: pl.String})
    found = answers_of_items(about["measure"], probe.head.metric[about["measure"]], rows)
    return with_texts(found, cell, probe)
