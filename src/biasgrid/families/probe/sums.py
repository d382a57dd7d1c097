"""The sums over items and names that the numbers of a cell are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.definitions import (
    GROUP_KEY,
    CategoryScores,
    CountOfLabel,
    CovariateLine,
    Disparity,
    ExpectedShare,
    GroupComparison,
    LabelRate,
    MeanScore,
    Metric,
    ObservationMetric,
    OfAsked,
    WordShare,
)
from biasgrid.families.probe.formulas import compared_key, is_of_two, named_values
from biasgrid.stats.functions import sums_of_lines
from biasgrid.stats.noise.items import ITEMS
from biasgrid.stats.noise.names import NAMES
from biasgrid.stats.sums import MEAN, PAIR_OF_LISTS, Along, Finish, IntervalMethod, Sums, Tested

ASKED = "asked"
"""Of rates of all that was asked, whatever was answered."""


class Terms(NamedTuple):
    """The mean of observations: the sum of `hit` times `weight`, by that of `weight`.

    A text has one label, of the value 1; of options whose probabilities are known, each is a label
    with its share.

    Attributes:
        counts: which observations count.
        hit: the value that is added up, times the weight.
        weight: the weight of an observation.
    """

    counts: pl.Expr
    hit: pl.Expr
    weight: pl.Expr = pl.col("value")


def share_of_expected(metric: Metric) -> Terms:
    """Answers with the expected label / answers where a label is expected."""
    return Terms(pl.col("expected").is_not_null(), pl.col("label") == pl.col("expected"))


def accuracy(metric: Metric) -> Terms:
    """Answers with the right label / answers where a label is right."""
    return share_of_expected(metric)


def rate(metric: Metric) -> Terms:
    """Answers with the label / answers with any label, or all that were asked."""
    return Terms(pl.col("label").is_not_null(), is_wanted(metric))


def tpr(metric: Metric) -> Terms:
    """Answers with the label where it is right / answers where it is right."""
    return Terms(pl.col("expected") == wanted(metric), is_wanted(metric))


def tnr(metric: Metric) -> Terms:
    """Answers without the label where another one is right / answers where another one is right."""
    return Terms(pl.col("expected") != wanted(metric), ~is_wanted(metric))


def mean(metric: Metric) -> Terms:
    """Sum of the evaluator's numbers / how many there are."""
    return Terms(
        pl.col("value").is_not_null(),
        pl.col("value"),
        pl.col("value").is_not_null().cast(pl.Float64),
    )


def wanted(metric: Metric) -> pl.Expr:
    """Returns the label that a metric is about."""
    return pl.lit(metric.of_label, pl.String)


def is_wanted(metric: Metric) -> pl.Expr:
    """Whether observations have the label that a metric is about."""
    return pl.col("label") == wanted(metric)


AVERAGES: Mapping[str, Callable[[Metric], Terms]] = {
    "share-of-expected": share_of_expected,
    "accuracy": accuracy,
    "rate": rate,
    "tpr": tpr,
    "tnr": tnr,
    "mean": mean,
}
"""By what metrics call them."""


def averaging_terms(metric: Metric) -> Terms:
    """Returns the terms of a metric's mean, of all observations or of those of each group."""
    if isinstance(metric, CategoryScores):
        scores = pl.col("label").replace_strict(metric.scores, default=0.0, return_dtype=pl.Float64)
        terms = Terms(pl.col("label").is_not_null(), scores)
    elif isinstance(metric, WordShare):
        terms = Terms(pl.col("label").is_in([metric.label, metric.other]), is_wanted(metric))
    else:
        terms = AVERAGES[metric.base](metric)
    if isinstance(metric, OfAsked) and metric.among == ASKED:
        # Who got no Yes was not invited, whatever else was said.
        hit = terms.hit.fill_null(value=False).cast(pl.Float64)
        return Terms(pl.lit(value=True), hit, terms.weight.fill_null(1.0))
    is_read = ~pl.col("undetected")
    return terms._replace(counts=terms.counts & is_read, hit=terms.hit.cast(pl.Float64))


def of_answers_alone(metric: Metric) -> OfAsked | None:
    """Returns a number of all that was asked as one of answers alone; None of another."""
    if isinstance(metric, OfAsked) and metric.among == ASKED:
        return metric.model_copy(update={"among": "answers"})
    return None


@dataclass(frozen=True)
class MeanOfPart:
    """The mean of some observations.

    Attributes:
        sums: shape (items, 2), of each item what is added up, and of how much: their sums make the
            mean.
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
        rows: all, with `place`: the item's place among all, `name_place`: the name's, and the keys
            that metrics need.
        items: the items, by number.
        names: the names that stand for groups, none where these are no random factor; see
            `recurring_names`.
        asked: `group` and these keys of all that was asked, whether anything was detected or not.
        answers: a row for each answer, with `place` and `name_place`.
    """

    rows: pl.DataFrame
    items: Sequence[int]
    names: Sequence[str]
    asked: pl.DataFrame
    answers: pl.DataFrame

    @classmethod
    def of(
        cls, observations: pl.DataFrame, metrics: Iterable[Metric], name_key: str | None
    ) -> CellObservations:
        """Puts items in order.

        Args:
            observations: columns of `OBSERVATIONS`.
            metrics: the metrics of the probe.
            name_key: the key of prompts with the name, None where names are taken as given.
        """
        items = observations.select(pl.col("item").unique().sort()).with_row_index("place")
        rows = observations.cast({pl.Categorical: pl.String})
        rows = rows.join(items, on="item", maintain_order="left")
        keys = needed_keys(metrics)
        read = {*keys, name_key} if name_key else {*keys}
        # Groups are a column already.
        rows = with_key_columns(rows, sorted(read - {GROUP_KEY}))
        names = recurring_names(rows, name_key) if name_key else []
        name_place: pl.Expr = pl.lit(None, pl.UInt32)
        if name_key and names:
            places = range(len(names))
            name_place = key_column(name_key).replace_strict(
                names, places, default=None, return_dtype=pl.UInt32
            )
        rows = rows.with_columns(name_place=name_place)
        columns = [key_column_name(key) for key in (GROUP_KEY, *keys)]
        asked = rows.select(columns).unique()
        answers = rows.unique("instance", keep="first", maintain_order=True)
        return cls(rows, items["item"].to_list(), names, asked, answers)

    def only(self, metric: ObservationMetric) -> CellObservations:
        """Returns the observations of which a metric is."""
        return replace(
            self,
            rows=rows_where(self.rows, metric.where),
            asked=rows_where(self.asked, metric.where),
        )

    def part(self, metric: Metric, key: str = "", value: str = "") -> MeanOfPart:
        """Returns the mean of a metric over all observations, or over one value of a key.

        Each answer has the same weight, or each item.
        """
        rows = self.rows.filter(key_column(key) == value) if key else self.rows
        if self.rows["undetected"].all():
            # Who finds nothing anywhere has not seen that nobody got a Yes.
            metric = of_answers_alone(metric) or metric
        counts, hit, weight = averaging_terms(metric)
        by_item = metric.over == "items"
        counted = rows.filter(counts)
        part = part_of_answers(
            counted,
            (hit * weight).sum(),
            weight.sum(),
            len(self.items),
            len(self.names),
            by_item=by_item,
        )
        count = int((part.sums[:, 1] > 0).sum()) if by_item else len(counted)
        return replace(part, count=count, answers=counted["instance"].n_unique())

    def values(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key, sorted."""
        return sorted(self.asked[key_column_name(key)].drop_nulls().unique())

    def covariate(self, key: str) -> FloatArray:
        """Returns the number that each item has in a key; NaN without any answer that was read.

        Shape (items,).
        """
        read = self.rows.filter(~pl.col("undetected")).unique("place")
        numbers = read.select("place", value=key_column(key).cast(pl.Float64))
        values = np.full(len(self.items), np.nan)
        values[numbers["place"].to_numpy()] = numbers["value"].to_numpy()
        return values


def needed_keys(metrics: Iterable[Metric]) -> list[str]:
    """Returns the keys of prompts on which some metrics depend, sorted, but for `group`."""
    keys: set[str | None] = set()
    for metric in metrics:
        if isinstance(metric, ObservationMetric):
            keys |= {getattr(metric, "by", None), getattr(metric, "covariate", None)}
            keys |= metric.where.keys()
    return sorted({key for key in keys if key} - {GROUP_KEY})


def with_key_columns(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Adds a column with the values that prompts have in a key, as text; null without the key.

    Args:
        rows: with `keys`, all keys of a prompt as JSON.
        keys: the names, without `group`, which is a column already.
    """
    if not keys:
        return rows
    # Many rows share a prompt, whose keys are read once.
    distinct = rows.select(pl.col("keys").unique())
    prompts = [json.loads(text) for text in distinct["keys"]]
    columns = []
    for key in keys:
        values = [prompt.get(key) for prompt in prompts]
        texts = [None if value is None else str(value) for value in values]
        columns.append(pl.Series(key_column_name(key), texts, dtype=pl.String))
    table = distinct.with_columns(columns)
    return rows.join(table, on="keys", how="left", maintain_order="left")


def key_column_name(key: str) -> str:
    """Names the column of a key."""
    return key if key == GROUP_KEY else f"key {key}"


def key_column(key: str) -> pl.Expr:
    """Returns the value of a prompt in a key; see `with_key_columns`."""
    return pl.col(key_column_name(key))


def rows_where(rows: pl.DataFrame, where: Mapping[str, str]) -> pl.DataFrame:
    """Returns the rows whose prompts have some values in their keys; see `with_key_columns`."""
    return rows.filter(*(key_column(key) == value for key, value in where.items()))


def recurring_names(rows: pl.DataFrame, key: str) -> list[str]:
    """Returns the names that stand for groups, sorted; none if no name is in several items.

    Then items are all that could be otherwise.

    Args:
        rows: with `item` and the column of the key.
        key: the key of prompts with the name.
    """
    column = key_column_name(key)
    pairs = rows.select(column, "item").drop_nulls().unique()
    items = pairs.group_by(column).agg(pl.len())
    if items["len"].max() in (None, 1):
        return []
    return sorted(items[column])


def part_of_answers(
    rows: pl.DataFrame,
    summed: pl.Expr,
    of: pl.Expr,
    items: int,
    names: int,
    *,
    by_item: bool = False,
) -> MeanOfPart:
    """Adds up answers by item and by name; of both the sums are the same.

    Args:
        rows: with `place` (the item's) and `name_place`.
        summed: expression of the sum of some answers.
        of: expression of the sum of their weights.
        items: how many items there are.
        names: how many names there are.
        by_item: whether each item has the same weight.

    Returns:
        Its counts are the sum of `of` over all.
    """
    grouped = rows.group_by("place", "name_place")
    sums = grouped.agg(hit=summed.cast(pl.Float64), weight=of.cast(pl.Float64))
    # A group_by has no order of rows, and the last digit of a sum depends on it.
    sums = sums.filter(pl.col("weight") > 0).sort("place", "name_place")
    if by_item:
        of_item = pl.col("weight").sum().over("place")
        sums = sums.with_columns(pl.col("hit", "weight") / of_item)
    item_sums = placed_sums(sums, "place", items)
    count = round(float(item_sums[:, 1].sum()))
    return MeanOfPart(item_sums, count, count, placed_sums(sums, "name_place", names))


def placed_sums(sums: pl.DataFrame, place: str, count: int) -> FloatArray:
    """Adds up `hit` and `weight` by place.

    Args:
        sums: with `hit`, `weight` and a column of places; rows without a place are left out.
        place: the column.
        count: how many places there are.

    Returns:
        Shape (count, 2), 0 for places without rows.
    """
    grouped = sums.drop_nulls(place).group_by(place, maintain_order=True)
    added = grouped.agg(pl.col("hit", "weight").sum())
    table = np.zeros((count, 2))
    table[added[place].to_numpy()] = added.select("hit", "weight").to_numpy()
    return table


PAIR_COLUMNS = 4
"""How many sums a difference of two means is made of."""
NUMBER_SCHEMA = {
    **dict.fromkeys(("group", "other", "bias_type"), pl.String),
    **dict.fromkeys(("n", "left_out"), pl.Int64),
    "cases": pl.Float64,
}
"""Columns of a number in `sums_of_numbers`."""
SHOWN_BY_GROUP = (ExpectedShare, LabelRate, CountOfLabel, MeanScore)
"""Metrics that compare nothing, and are shown of each group too."""
OVER_NAMES = (ExpectedShare, LabelRate, MeanScore, Disparity, GroupComparison, WordShare)
"""Metrics whose intervals are over the names that stand for groups, too."""


class ItemSums(NamedTuple):
    """What a number is made of.

    Attributes:
        group: the group or value that it is of, None of all.
        sums: shape (items, columns).
        n: how many items or answers it is of.
        left_out: how many answers say nothing.
        names: shape (names, columns), the same of each name; None where its interval is over items
            alone.
        other: the group that it is compared with, if any.
        cases: how many answers a share is of, which is the most that it is worth.
    """

    group: str | None
    sums: FloatArray
    n: int
    left_out: int
    names: FloatArray | None = None
    other: str | None = None
    cases: int = 0


class Units(NamedTuple):
    """The units of the random factors of a cell.

    Attributes:
        items: the items, by number.
        names: the names that stand for groups, none where these are no random factor.
    """

    items: Sequence[int]
    names: Sequence[str]


def sums_of_numbers(
    naming: tuple[str, str, str],
    units: Units,
    numbers: Sequence[ItemSums],
    finish: Finish,
    interval: IntervalMethod,
    test: Tested = "",
) -> Sums:
    """Returns numbers of one kind; models are compared by those that have intervals of their own.

    Args:
        naming: the measure, its options, and the bias type of its groups.
        units: items and names.
        numbers: the sums of each; at least one.
        finish: makes them.
        interval: how their intervals are made.
        test: see `Sums`.
    """
    measure, options, bias_type = naming
    rows = []
    for number in numbers:
        # Only a number about a group has a bias type.
        of_group = number.group and bias_type
        counts = (number.n, number.left_out, number.cases)
        rows.append((number.group, number.other, of_group, *counts))
    table = pl.DataFrame(rows, schema=NUMBER_SCHEMA, orient="row")
    keys = table.with_columns(measure=pl.lit(measure), options=pl.lit(options))
    items = [str(item) for item in units.items]
    along = {ITEMS: Along(items, np.stack([number.sums for number in numbers]))}
    of_names = [number.names for number in numbers if number.names is not None]
    if units.names and len(of_names) == len(numbers):
        is_of_pairs = of_names[0].shape[1] == PAIR_COLUMNS
        along[PAIR_OF_LISTS if is_of_pairs else NAMES] = Along(units.names, np.stack(of_names))
    compared = interval not in ("largest", "none")
    return Sums(keys, along, finish, interval, test, claims_all=len(along) > 1, compared=compared)


def parts_by_value(
    metric: ObservationMetric, observed: CellObservations, values: Sequence[str]
) -> Mapping[str, MeanOfPart]:
    """Returns the parts that a metric compares, or of which it is shown, by the value of its key.

    Args:
        metric: the metric.
        observed: its observations.
        values: all that it may compare; see `compared_values`.
    """
    key = compared_key(metric)
    shown = named_values(metric)
    if not shown and values:
        shown = [value for value in observed.values(key) if value in values]
    elif not shown and isinstance(metric, SHOWN_BY_GROUP) and GROUP_KEY not in metric.where:
        shown = observed.values(GROUP_KEY)
    return {value: observed.part(metric, key, value) for value in shown}


def sums_of_whole(
    metric: ObservationMetric,
    observed: CellObservations,
    values: Sequence[str],
    parts: Mapping[str, MeanOfPart],
    left_out: int,
) -> ItemSums:
    """Returns the sums of the number of a metric.

    Args:
        metric: the metric.
        observed: its observations.
        values: all that it may compare.
        parts: the parts that it compares.
        left_out: how many answers say nothing.
    """
    if not values:
        return sums_of_part(metric, observed, None, observed.part(metric), left_out)
    # A sample may leave values out. Another one in their places, so that the columns are known from
    # the probe's file, changes neither the largest nor the smallest mean.
    nothing = MeanOfPart(
        sums=np.zeros((len(observed.items), 2)),
        count=0,
        answers=0,
        names=np.zeros((len(observed.names), 2)),
    )
    stand_in = next(iter(parts.values()), nothing)
    columns = []
    for value in values:
        part = parts.get(value, stand_in)
        columns.append(sums_of_part(metric, observed, value, part, left_out))
    sums = np.concatenate([column.sums for column in columns], axis=1)
    names = None
    if is_of_two(metric):
        names = names_side_by_side([column.names for column in columns])
    count = sum(part.count for part in parts.values())
    return ItemSums(None, sums, count, left_out, names)


def names_side_by_side(names: Sequence[FloatArray | None]) -> FloatArray | None:
    """Returns the sums of names of some numbers in one array; None if no number has any."""
    present = [sums for sums in names if sums is not None]
    return np.concatenate(present, axis=1) if present else None


def sums_of_part(
    metric: ObservationMetric,
    observed: CellObservations,
    value: str | None,
    part: MeanOfPart,
    left_out: int,
) -> ItemSums:
    """Returns the sums of a part: those of its mean or, for a metric that is a line, of the line.

    A line is over items alone, because names have no covariate.

    Args:
        metric: the metric.
        observed: its observations.
        value: the value that the part is about, None for all.
        part: the mean of the part.
        left_out: how many answers say nothing.
    """
    if not isinstance(metric, CovariateLine):
        names = part.names if isinstance(metric, OVER_NAMES) else None
        return ItemSums(value, part.sums, part.count, left_out, names, cases=part.answers)
    covariate = observed.covariate(metric.covariate)
    lines = sums_of_lines(covariate, MEAN(part.sums), part.sums[:, 1])
    return ItemSums(value, lines, part.count, left_out)
