"""The sums over items that the numbers of a cell are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import (
    GROUP_KEY,
    CountOfLabel,
    CovariateLine,
    Disparity,
    ExpectedShare,
    GroupComparison,
    LabelRate,
    MeanScore,
    Metric,
    ObservationMetric,
    WordShare,
)
from biasgrid.families.probe.metrics.formulas import compared_key, named_values
from biasgrid.families.probe.metrics.lines import sums_of_lines
from biasgrid.families.probe.metrics.observed import CellObservations, MeanOfPart, part_of_answers
from biasgrid.stats.sums import PAIR_OF_LISTS, Along, Finish, IntervalMethod, Sums, Tested, mean

ITEMS = "items"
"""The first factor of all numbers of probes."""
NAMES = "subjects"
"""The factor of the names that stand for groups; of differences of two groups it is that of two lists."""
PAIR_COLUMNS = 4
"""How many sums a difference of two means is made of."""
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
        names: shape (names, columns), the same of each name; None where its interval is over items alone.
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
    naming: Naming, units: Units, numbers: Sequence[ItemSums], finish: Finish, interval: IntervalMethod,
    test: Tested = "",
) -> Sums:  # fmt: skip
    """Returns numbers of one kind; models are compared by those that have intervals of their own."""
    table = {
        "group": pl.Series([each.group for each in numbers], dtype=pl.String),
        "other": pl.Series([each.other for each in numbers], dtype=pl.String),
        "bias_type": pl.Series([each.group and naming.bias_type for each in numbers], dtype=pl.String),
        "n": pl.Series([each.n for each in numbers], dtype=pl.Int64),
        "left_out": pl.Series([each.left_out for each in numbers], dtype=pl.Int64),
        "cases": pl.Series([each.cases for each in numbers], dtype=pl.Float64),
    }
    keys = pl.DataFrame(table).with_columns(measure=pl.lit(naming.measure), options=pl.lit(naming.options))
    along = {ITEMS: Along([str(item) for item in units.items], np.stack([each.sums for each in numbers]))}
    of_names = [each.names for each in numbers if each.names is not None]
    if units.names and len(of_names) == len(numbers):
        factor = PAIR_OF_LISTS if of_names[0].shape[1] == PAIR_COLUMNS else NAMES
        along[factor] = Along(units.names, np.stack(of_names))
    compared = interval not in ("largest", "none")
    return Sums(keys, along, finish, interval, test, claims_all=len(along) > 1, compared=compared)


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
        return sums_of_part(metric, observed, None, observed.part(metric), left_out)
    # A sample may leave values out. Another one in their places, so that the columns are known from the probe's file,
    # changes neither the largest nor the smallest mean.
    nothing = MeanOfPart(np.zeros((len(observed.items), 2)), 0, 0, np.zeros((len(observed.names), 2)))
    stand_in = next(iter(parts.values()), nothing)
    columns = [sums_of_part(metric, observed, value, parts.get(value, stand_in), left_out) for value in values]
    count = sum(part.count for part in parts.values())
    names = [each.names for each in columns if each.names is not None and is_of_two(metric)]
    beside = np.concatenate(names, axis=1) if names else None
    return ItemSums(None, np.concatenate([each.sums for each in columns], axis=1), count, left_out, beside)


def is_of_two(metric: Metric) -> bool:
    """Says whether a metric is the difference of two named groups, whose names are two lists."""
    compares = isinstance(metric, WordShare) or (isinstance(metric, GroupComparison) and metric.kind == "difference")
    return compares and len(getattr(metric, "groups", None) or ()) == PAIR_COLUMNS // 2


def sums_of_part(
    metric: ObservationMetric, observed: CellObservations, value: str | None, part: MeanOfPart, left_out: int
) -> ItemSums:
    """Returns the sums of a part: those of its mean or, of a metric that is a line, those of this over items alone."""
    if not isinstance(metric, CovariateLine):
        names = part.names if isinstance(metric, OVER_NAMES) else None
        return ItemSums(value, part.sums, part.count, left_out, names, cases=part.answers)
    lines = sums_of_lines(observed.covariate(metric.covariate), mean(part.sums), part.sums[:, 1])
    return ItemSums(value, lines, part.count, left_out)


def sums_of_answers(
    answers: pl.DataFrame, units: Units, summed: pl.Expr, of: pl.Expr, group: str | None, left_out: int
) -> ItemSums:
    """Adds up answers by item and name.

    Args:
        answers: a row for each, with `place` (the item's) and `name_place`.
        units: items and names.
        summed: what is added up of some answers.
        of: how much that is of.
        group: the group that they are of, None of all.
        left_out: how many answers say nothing.
    """
    part = part_of_answers(answers, summed, of, len(units.items), len(units.names))
    return ItemSums(group, part.sums, part.count, left_out, part.names if units.names else None, cases=part.answers)


def difference_of_sums(one: ItemSums, other: ItemSums) -> ItemSums:
    """Returns what the difference of two groups is made of."""
    names = [each.names for each in (one, other) if each.names is not None]
    beside = np.concatenate(names, axis=1) if names else None
    sums = np.concatenate([one.sums, other.sums], axis=1)
    return ItemSums(one.group, sums, one.n + other.n, one.left_out, beside, other.group)
