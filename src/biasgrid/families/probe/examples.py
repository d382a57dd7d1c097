"""The texts behind the metrics: prompts and answers of the items that are most as the metric counts them."""

from __future__ import annotations

import json

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.probe.files.metrics import Metric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.metrics.parts import averaged

ITEMS = 3
ANSWERS = 6
"""So many answers of an item are shown at most."""


def strongest_items(cell: MeasuredCell, probe: Probe) -> pl.DataFrame:
    """Finds the items in whose answers there is most of what each metric counts.

    Returns:
        Of each metric `ITEMS` items, with a row for each of their answers: columns of `EXAMPLES`. `unit_value` is the
        share of the item, `score` the value of the answer.
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
            reason=pl.lit("strongest"),
            role=pl.lit("strongest"),
        )
        .drop("keys", "label", "response")
    )


def chosen(name: str, metric: Metric, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers of the items that have most of what a metric counts."""
    told, hit, weight = averaged(metric)
    counted = rows.filter(told).with_columns(score=hit.cast(pl.Float64), weight=weight)
    share = (pl.col("score") * pl.col("weight")).sum() / pl.col("weight").sum()
    items = counted.group_by("item").agg(unit_value=share).filter(pl.col("unit_value").is_not_nan())
    best = items.sort(-pl.col("unit_value"), "item").head(ITEMS).with_row_index("rank")
    shown = counted.join(best, on="item").sort("rank", "instance", -pl.col("weight"), maintain_order=True)
    shown = shown.unique("instance", keep="first", maintain_order=True)
    return (
        shown.group_by("item", maintain_order=True)
        .head(ANSWERS)
        .select(
            "rank",
            "instance",
            "unit_value",
            "score",
            "expected",
            "label",
            "keys",
            "group",
            measure=pl.lit(name),
            unit="item",
        )
    )


def told_of(keys: str) -> str:
    """Names what an item is about: the first text among its keys."""
    return next((value for value in json.loads(keys).values() if isinstance(value, str)), "")
