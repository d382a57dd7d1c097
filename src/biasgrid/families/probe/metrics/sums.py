"""The sums over items that the numbers of a cell are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import (
    GROUP_KEY,
    CountOfLabel,
    CovariateLine,
    ExpectedShare,
    LabelRate,
    MeanScore,
    ObservationMetric,
)
from biasgrid.families.probe.metrics.formulas import compared_key, named_values
from biasgrid.families.probe.metrics.lines import sums_of_lines
from biasgrid.families.probe.metrics.observed import CellObservations, MeanOfPart
from biasgrid.stats.sums import Along, Finish, IntervalMethod, Sums, mean

ITEMS = "items"
"""The factor of all numbers of probes."""
SHOWN_BY_GROUP = (ExpectedShare, LabelRate, CountOfLabel, MeanScore)
"""Metrics that compare nothing, and are shown of each group too."""


class ItemSums(NamedTuple):
    """What a number is made of.

    Attributes:
        group: the group or value that it is of, None of all.
        sums: shape (items, columns).
        n: how many items or answers it is of.
        left_out: how many answers say nothing.
    """

    group: str | None
    sums: FloatArray
    n: int
    left_out: int

    @property
    def cases(self) -> int:
        """How many items it has anything of."""
        return int((self.sums != 0).any(axis=1).sum())


class Naming(NamedTuple):
    """What the numbers of a kind are called.

    Attributes:
        measure: the measure.
        bias_type: what the groups have in common.
        options: how it was computed.
    """

    measure: str
    bias_type: str
    options: str = ""


def sums_of_numbers(
    naming: Naming, items: Sequence[int], numbers: Sequence[ItemSums], finish: Finish, interval: IntervalMethod
) -> Sums:
    """Returns numbers of one kind; models are compared by those that have intervals of their own."""
    table = {
        "group": pl.Series([each.group for each in numbers], dtype=pl.String),
        "bias_type": pl.Series([each.group and naming.bias_type for each in numbers], dtype=pl.String),
        "n": pl.Series([each.n for each in numbers], dtype=pl.Int64),
        "left_out": pl.Series([each.left_out for each in numbers], dtype=pl.Int64),
        "cases": pl.Series([each.cases for each in numbers], dtype=pl.Float64),
    }
    keys = pl.DataFrame(table).with_columns(measure=pl.lit(naming.measure), options=pl.lit(naming.options))
    along = Along([str(item) for item in items], np.stack([each.sums for each in numbers]))
    return Sums(keys, {ITEMS: along}, finish, interval, compared=interval not in ("largest", "none"))


def parts_by_value(
    metric: ObservationMetric, observed: CellObservations, values: Sequence[str]
) -> Mapping[str, MeanOfPart]:
    """Returns the parts that a metric compares, by what their prompts have in its key, or that it is shown of.

    Args:
        metric: the metric.
        observed: its observations.
        values: all that it may compare; see `compared_values`.
    """
    key = compared_key(metric)
    if values:
        shown = named_values(metric) or [value for value in observed.values(key) if value in values]
    else:
        is_shown = isinstance(metric, SHOWN_BY_GROUP) and GROUP_KEY not in metric.where
        shown = observed.values(GROUP_KEY) if is_shown else ()
    return {value: observed.part(metric, key, value) for value in shown}


def sums_of_whole(
    metric: ObservationMetric,
    observed: CellObservations,
    values: Sequence[str],
    parts: Mapping[str, MeanOfPart],
    left_out: int,
) -> ItemSums:
    """Returns what the number of a metric is made of.

    Args:
        metric: the metric.
        observed: its observations.
        values: all that it may compare.
        parts: those that it compares.
        left_out: how many answers say nothing.
    """
    if not values:
        part = observed.part(metric)
        return ItemSums(None, columns_of_part(metric, observed, part), part.count, left_out)
    # A sample may leave values out. Another one in their places, so that the columns are known from the probe's file,
    # changes neither the largest nor the smallest mean.
    nothing = MeanOfPart(np.zeros((len(observed.items), 2)), 0)
    stand_in = next(iter(parts.values()), nothing)
    columns = [columns_of_part(metric, observed, parts.get(value, stand_in)) for value in values]
    count = sum(part.count for part in parts.values())
    return ItemSums(None, np.concatenate(columns, axis=1), count, left_out)


def sums_of_parts(
    metric: ObservationMetric, observed: CellObservations, parts: Mapping[str, MeanOfPart], left_out: int
) -> Iterator[ItemSums]:
    """Yields what the number of each part is made of."""
    for value, part in parts.items():
        yield ItemSums(value, columns_of_part(metric, observed, part), part.count, left_out)


def columns_of_part(metric: ObservationMetric, observed: CellObservations, part: MeanOfPart) -> FloatArray:
    """Returns the sums over items of a part: those of its mean or, of a metric that is a line, those of this."""
    if not isinstance(metric, CovariateLine):
        return part.sums
    return sums_of_lines(observed.covariate(metric.covariate), mean(part.sums), part.sums[:, 1])


def sums_of_answers(
    answers: pl.DataFrame, items: int, summed: pl.Expr, of: pl.Expr, group: str | None, left_out: int
) -> ItemSums:
    """Adds up answers by item.

    Args:
        answers: a row for each, with `place` (the item's).
        items: how many items there are.
        summed: what is added up of the answers to an item.
        of: how much that is of.
        group: the group that they are of, None of all.
        left_out: how many answers say nothing.
    """
    sums = answers.group_by("place").agg(summed.cast(pl.Float64).alias("sum"), of.cast(pl.Float64).alias("of"))
    table = np.zeros((items, 2))
    table[sums["place"].to_numpy()] = sums.select("sum", "of").to_numpy()
    return ItemSums(group, table, int(table[:, 1].sum()), left_out)
