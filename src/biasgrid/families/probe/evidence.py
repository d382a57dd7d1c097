"""The evidence for metrics: prompts and answers of items of which a metric counts most, middling and least."""

from __future__ import annotations

import json

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import with_roles
from biasgrid.families.probe.files.metrics import Metric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.metrics.parts import averaged

STRONGEST = 3
"""So many items of a metric of which it counts most are shown."""
ANSWERS = 6
"""So many answers of an item are shown at most."""


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
            reason=pl.lit("all"),
            rank=pl.lit(0),
        )
        .drop("keys", "label", "response")
    )


def chosen(name: str, metric: Metric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers of the items that have most of what a metric counts."""
    told, hit, weight = averaged(metric)
    counted = rows.filter(told).with_columns(score=hit.cast(pl.Float64), weight=weight)
    share = (pl.col("score") * pl.col("weight")).sum() / pl.col("weight").sum()
    items = counted.group_by("item").agg(unit_value=share).filter(pl.col("unit_value").is_not_nan())
    picked = with_roles(items.with_columns(measure=pl.lit(name)), ["measure"], STRONGEST, ["item"])
    shown = counted.join(picked.with_row_index("place"), on="item")
    shown = shown.sort("place", "instance", -pl.col("weight"), maintain_order=True)
    shown = shown.unique("instance", keep="first", maintain_order=True)
    return (
        shown.group_by("item", maintain_order=True)
        .head(ANSWERS)
        .select(
            "measure", "role", "instance", "unit_value", "score", "expected", "label", "keys", "group", unit="item"
        )
    )  # fmt: skip


def told_of(keys: str) -> str:
    """Names what an item is about: the first text among its keys."""
    return next((value for value in json.loads(keys).values() if isinstance(value, str)), "")
