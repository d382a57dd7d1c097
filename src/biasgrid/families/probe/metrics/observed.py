"""The observations of a cell, and means of parts of them as sums over items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import GROUP_KEY, Metric, ObservationMetric
from biasgrid.families.probe.metrics.averages import averaging_terms, of_answers_alone


@dataclass(frozen=True)
class MeanOfPart:
    """The mean of some observations.

    Attributes:
        sums: shape (items, 2), of each item what is added up, and of how much: their sums make the mean.
        count: how many items or answers it is of.
        answers: how many answers.
        names: shape (names, 2), the same of each name; no names where these are no random factor.
    """

    sums: FloatArray
    count: int
    answers: int
    names: FloatArray


@dataclass(frozen=True)
class CellObservations:
    """The observations of a cell.

    Attributes:
        rows: all, with `place`: the item's place among all, `name_place`: the name's, and the keys that metrics need.
        items: the items, by number.
        names: the names that stand for groups, none where these are no random factor; see `recurring_names`.
        asked: `group` and these keys of all that was asked, whether anything was detected or not.
        answers: a row for each answer, with `place` and `name_place`.
    """

    rows: pl.DataFrame
    items: Sequence[int]
    names: Sequence[str]
    asked: pl.DataFrame
    answers: pl.DataFrame

    @classmethod
    def of(cls, observations: pl.DataFrame, metrics: Iterable[Metric], name_key: str | None) -> CellObservations:
        """Puts items in order.

        Args:
            observations: columns of `OBSERVATIONS`.
            metrics: what is made of them.
            name_key: the key of prompts with the name, None where names are taken as given.
        """
        items = observations.select(pl.col("item").unique().sort()).with_row_index("place")
        keys = needed_keys(metrics)
        placed = observations.cast({pl.Categorical: pl.String}).join(items, on="item", maintain_order="left")
        keyed = with_key_columns(placed, sorted({*keys, *filter(None, [name_key])} - {GROUP_KEY}))
        names = recurring_names(keyed, name_key) if name_key else []
        place = pl.lit(None, pl.UInt32)
        if name_key and names:
            place = key_column(name_key).replace_strict(names, range(len(names)), default=None, return_dtype=pl.UInt32)
        keyed = keyed.with_columns(name_place=place)
        asked = keyed.select(map(key_column_name, (GROUP_KEY, *keys))).unique()
        answers = keyed.unique("instance", keep="first", maintain_order=True)
        return cls(keyed, items["item"].to_list(), names, asked, answers)

    def only(self, metric: ObservationMetric) -> CellObservations:
        """Returns the observations of which a metric is."""
        return replace(self, rows=rows_where(self.rows, metric.where), asked=rows_where(self.asked, metric.where))

    def part(self, metric: Metric, key: str = "", value: str = "") -> MeanOfPart:
        """Returns the mean that a metric takes of all observations, or of those whose prompts have a value in a key."""
        rows = self.rows.filter(key_column(key) == value) if key else self.rows
        if self.rows["undetected"].all():
            # Who finds nothing anywhere has not seen that nobody got a Yes.
            metric = of_answers_alone(metric) or metric
        return mean_of_part(rows, len(self.items), len(self.names), metric)

    def values(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key."""
        return sorted(self.asked[key_column_name(key)].drop_nulls().unique())

    def covariate(self, key: str) -> FloatArray:
        """Returns the number that each item has in a key, shape (items,); NaN where nothing was detected."""
        found = self.rows.filter(~pl.col("undetected"))
        numbers = found.unique("place").select("place", value=key_column(key).cast(pl.Float64))
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


def recurring_names(rows: pl.DataFrame, key: str) -> list[str]:
    """Returns the names that stand for groups, none where no name recurs: then items are all that could be otherwise.

    Args:
        rows: with `item` and the column of the key.
        key: the key of prompts with the name.
    """
    found = rows.select(pl.col(key_column_name(key)), "item").drop_nulls().unique()
    items = found.group_by(key_column_name(key)).agg(pl.len())
    return sorted(items[key_column_name(key)]) if items["len"].max() not in (None, 1) else []


def mean_of_part(rows: pl.DataFrame, items: int, names: int, metric: Metric) -> MeanOfPart:
    """Returns the mean that a metric takes of observations: each answer has the same weight, or each item.

    Args:
        rows: with `instance`, `place` (the item's), `name_place`, `undetected`, `label`, `expected` and `value`.
        items: how many items there are.
        names: how many names there are.
        metric: the metric.
    """
    counts, hit, weight = averaging_terms(metric)
    by_item, some = metric.over == "items", rows.filter(counts)
    part = part_of_answers(some, (hit * weight).sum(), weight.sum(), items, names, by_item=by_item)
    count = int((part.sums[:, 1] > 0).sum()) if by_item else len(some)
    return replace(part, count=count, answers=some["instance"].n_unique())


def part_of_answers(
    rows: pl.DataFrame, summed: pl.Expr, of: pl.Expr, items: int, names: int, *, by_item: bool = False
) -> MeanOfPart:
    """Adds up answers by item and by name; of both the sums are the same.

    Args:
        rows: with `place` (the item's) and `name_place`.
        summed: what is added up of some answers.
        of: how much that is of.
        items: how many items there are.
        names: how many names there are.
        by_item: whether each item has the same weight.

    Returns:
        Its counts are the sum of `of` over all.
    """
    sums = rows.group_by("place", "name_place").agg(hit=summed.cast(pl.Float64), weight=of.cast(pl.Float64))
    sums = sums.filter(pl.col("weight") > 0).sort("place", "name_place")
    if by_item:
        sums = sums.with_columns(pl.col("hit", "weight") / pl.col("weight").sum().over("place"))
    of_items = placed_sums(sums, "place", items)
    count = round(float(of_items[:, 1].sum()))
    return MeanOfPart(of_items, count, count, placed_sums(sums, "name_place", names))


def placed_sums(sums: pl.DataFrame, place: str, count: int) -> FloatArray:
    """Adds up `hit` and `weight` by place.

    Returns:
        Shape (count, 2), 0 where nothing is.
    """
    added = sums.drop_nulls(place).group_by(place, maintain_order=True).agg(pl.col("hit", "weight").sum())
    table = np.zeros((count, 2))
    table[added[place].to_numpy()] = added.select("hit", "weight").to_numpy()
    return table
