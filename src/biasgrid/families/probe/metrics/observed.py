"""The observations of a cell, and means of parts of them as sums over items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import GROUP_KEY, Metric, ObservationMetric
from biasgrid.families.probe.metrics.averages import averaging_terms


@dataclass(frozen=True)
class MeanOfPart:
    """The mean of some observations.

    Attributes:
        sums: shape (items, 2), of each item what is added up, and of how much: their sums make the mean.
        count: how many items or answers it is of.
    """

    sums: FloatArray
    count: int


@dataclass(frozen=True)
class CellObservations:
    """The observations of a cell.

    Attributes:
        rows: those that were detected, with `place`: the item's place among all, and the keys that metrics need.
        items: the items, by number.
        asked: `group` and these keys of all that was asked, whether anything was detected or not.
        answers: a row for each answer, with `place`.
    """

    rows: pl.DataFrame
    items: Sequence[int]
    asked: pl.DataFrame
    answers: pl.DataFrame

    @classmethod
    def of(cls, observations: pl.DataFrame, metrics: Iterable[Metric]) -> CellObservations:
        """Puts items in order.

        Args:
            observations: columns of `OBSERVATIONS`.
            metrics: what is made of them.
        """
        items = observations.select(pl.col("item").unique().sort()).with_row_index("place")
        keys = needed_keys(metrics)
        placed = observations.cast({pl.Categorical: pl.String}).join(items, on="item", maintain_order="left")
        keyed = with_key_columns(placed, keys)
        asked = keyed.select(map(key_column_name, (GROUP_KEY, *keys))).unique()
        answers = placed.unique("instance", keep="first", maintain_order=True)
        return cls(keyed.filter(~pl.col("undetected")), items["item"].to_list(), asked, answers)

    def only(self, metric: ObservationMetric) -> CellObservations:
        """Returns the observations of which a metric is."""
        return replace(self, rows=rows_where(self.rows, metric.where), asked=rows_where(self.asked, metric.where))

    def part(self, metric: Metric, key: str = "", value: str = "") -> MeanOfPart:
        """Returns the mean that a metric takes of all observations, or of those whose prompts have a value in a key."""
        rows = self.rows.filter(key_column(key) == value) if key else self.rows
        return mean_of_part(rows, len(self.items), metric)

    def values(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key."""
        return sorted(self.asked[key_column_name(key)].drop_nulls().unique())

    def covariate(self, key: str) -> FloatArray:
        """Returns the number that each item has in a key, shape (items,); NaN where nothing was detected."""
        numbers = self.rows.unique("place").select("place", value=key_column(key).cast(pl.Float64))
        values = np.full(len(self.items), np.nan)
        values[numbers["place"].to_numpy()] = numbers["value"].to_numpy()
        return values


def needed_keys(metrics: Iterable[Metric]) -> list[str]:
    """Returns the keys of prompts on which some metrics hang."""
    some = [metric for metric in metrics if isinstance(metric, ObservationMetric)]
    named = [getattr(metric, name, None) for metric in some for name in ("by", "covariate")]
    return sorted({*filter(None, named), *(key for metric in some for key in metric.where)} - {GROUP_KEY})


def with_key_columns(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Adds for each of some keys the column `of_key` with what the prompts have there, as text.

    Args:
        rows: with `keys` as text.
        keys: the names, without `group`, which is a column already.
    """
    distinct = rows.select(pl.col("keys").unique())
    read = [json.loads(each) for each in distinct["keys"]]
    texts = {key: [None if one.get(key) is None else str(one[key]) for one in read] for key in keys}
    columns = [pl.Series(key_column_name(key), values, dtype=pl.String) for key, values in texts.items()]
    return rows.join(distinct.with_columns(columns), on="keys", how="left", maintain_order="left") if keys else rows


def key_column_name(key: str) -> str:
    """Names the column of a key."""
    return key if key == GROUP_KEY else f"key {key}"


def key_column(key: str) -> pl.Expr:
    """Returns what prompts have in a key; see `with_key_columns`."""
    return pl.col(key_column_name(key))


def rows_where(rows: pl.DataFrame, where: Mapping[str, str]) -> pl.DataFrame:
    """Returns the rows whose prompts have some values in their keys; see `with_key_columns`."""
    return rows.filter(*(key_column(key) == value for key, value in where.items()))


def mean_of_part(rows: pl.DataFrame, items: int, metric: Metric) -> MeanOfPart:
    """Returns the mean that a metric takes of observations: each answer has the same weight, or each item.

    Args:
        rows: those that were detected, with `place` (the item's), `label`, `expected` and `value`.
        items: how many items there are.
        metric: the metric.
    """
    counts, hit, weight = averaging_terms(metric)
    sums = rows.filter(counts).group_by("place").agg(hit=(hit * weight).sum(), weight=weight.sum(), count=pl.len())
    table = np.zeros((items, 2))
    table[sums["place"].to_numpy()] = sums.select("hit", "weight").to_numpy()
    if metric.over == "items":
        there = table[:, 1] > 0
        table[there] /= table[there, 1:]
        return MeanOfPart(table, int(there.sum()))
    return MeanOfPart(table, int(sums["count"].sum()))
