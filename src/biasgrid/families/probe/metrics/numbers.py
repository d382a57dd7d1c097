"""The metrics of a probe: of each the sums over items that it is made of, and how it is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import (
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CountOfLabel,
    CovariateLine,
    Disparity,
    GroupComparison,
    Metric,
    ObservationMetric,
    WordShare,
)
from biasgrid.families.probe.metrics.sums import (
    MeanOfPart,
    high_less_low,
    key_column,
    key_column_name,
    mean_of_part,
    means_of_parts,
    means_of_sums,
    needed_keys,
    pearson,
    rows_where,
    slope,
    smoothed_share,
    stack_sums,
    sums_of_lines,
    with_key_columns,
)

Finish = Callable[[FloatArray], FloatArray]


class Candidate(NamedTuple):
    """One of the numbers of which another is the largest.

    Attributes:
        finish: see `SumsOfItems`.
        by_size: whether it counts without its sign.
    """

    finish: Finish
    by_size: bool = True


@dataclass(frozen=True)
class SumsOfItems:
    """A number that is made of sums over items.

    Attributes:
        name: the metric.
        group: the group or value that it is of, None of all.
        sums: shape (items, columns).
        finish: makes of the sums of columns, shape (..., columns), numbers of shape (...).
        count: how many items or answers it is of.
        largest_of: of a number that noise makes larger, those of which it is the largest.
        is_ratio: whether it is a ratio without a direction, of which no interval is known.
    """

    name: str
    group: str | None
    sums: FloatArray
    finish: Finish
    count: int
    largest_of: Sequence[Candidate] = ()
    is_ratio: bool = False


@dataclass(frozen=True)
class CellObservations:
    """The observations of a cell.

    Attributes:
        rows: those that were detected, with `place`: the item's place among all, and the keys that metrics need.
        items: how many items there are.
        asked: `group` and these keys of all that was asked, whether anything was detected or not.
    """

    rows: pl.DataFrame
    items: int
    asked: pl.DataFrame

    @classmethod
    def of(cls, observations: pl.DataFrame, metrics: Iterable[Metric]) -> CellObservations:
        """Puts items in order.

        Args:
            observations: columns of `OBSERVATIONS`.
            metrics: what is made of them.
        """
        items = observations.select(pl.col("item").unique().sort()).with_row_index("place")
        keys = needed_keys(metrics)
        keyed = with_key_columns(observations.cast({pl.Categorical: pl.String}), keys)
        rows = keyed.filter(~pl.col("undetected")).join(items, on="item", maintain_order="left")
        return cls(rows, len(items), keyed.select(map(key_column_name, (GROUP_KEY, *keys))).unique())

    def only(self, metric: ObservationMetric) -> CellObservations:
        """Returns the observations of which a metric is."""
        return replace(self, rows=rows_where(self.rows, metric.where), asked=rows_where(self.asked, metric.where))

    def part(self, metric: Metric, chosen: pl.Expr | None = None) -> MeanOfPart:
        """Returns the mean that a metric takes of some observations."""
        return mean_of_part(self.rows, self.items, metric, chosen)

    def values(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key."""
        return sorted(self.asked[key_column_name(key)].drop_nulls().unique())

    def covariate(self, key: str) -> FloatArray:
        """Returns the number that each item has in a key, shape (items,); NaN where nothing was detected."""
        numbers = self.rows.unique("place").select("place", value=key_column(key).cast(pl.Float64))
        values = np.full(self.items, np.nan)
        values[numbers["place"].to_numpy()] = numbers["value"].to_numpy()
        return values


def metric_numbers(name: str, metric: ObservationMetric, cell: CellObservations) -> Iterator[SumsOfItems]:
    """Yields the number of a metric and those of the groups that it is made of.

    Args:
        name: the metric's name.
        metric: the metric.
        cell: all observations.
    """
    observed = cell.only(metric)
    if isinstance(metric, GroupComparison):
        yield from comparison_numbers(name, metric, observed)
    elif isinstance(metric, CategoryScores):
        yield from category_numbers(name, metric, observed)
    elif isinstance(metric, CovariateLine):
        line = pearson if metric.kind == "correlation" else partial(slope, bounded=metric.bounded)
        x = observed.covariate(metric.covariate)
        yield from signed_difference_numbers(
            name, metric, observed, line, lambda part: sums_of_lines(x, means_of_sums(part.sums), part.sums[:, 1])
        )
    elif isinstance(metric, WordShare):
        share = partial(smoothed_share, plus=metric.plus)
        yield from signed_difference_numbers(name, metric, observed, share, lambda part: part.sums)
    else:
        part = observed.part(metric)
        if isinstance(metric, Disparity):
            distance = partial(distance_from_centre, centre=metric.centre)
            yield SumsOfItems(
                name, None, part.sums, lambda sums: np.abs(distance(sums)), part.count, [Candidate(distance)]
            )
            return
        finish = first_sum if isinstance(metric, CountOfLabel) else means_of_sums
        yield SumsOfItems(name, None, part.sums, finish, part.count)
        for group in () if GROUP_KEY in metric.where else observed.values(GROUP_KEY):
            part = observed.part(metric, key_column(GROUP_KEY) == group)
            yield SumsOfItems(name, group, part.sums, finish, part.count)


def comparison_numbers(name: str, metric: GroupComparison, observed: CellObservations) -> Iterator[SumsOfItems]:
    """Yields the difference or ratio of groups, and what is compared of each."""
    groups = metric.groups or observed.values(metric.by)
    parts = [observed.part(metric, key_column(metric.by) == group) for group in groups]
    signed = metric.groups is not None and len(metric.groups) == 2
    finish = partial(compare_means, ratio=metric.kind == "ratio", signed=signed)
    is_ratio = metric.kind == "ratio" and not signed
    pairs = [
        Candidate(partial(difference_of_means, one=one, other=other))
        for one, other in combinations(range(len(groups)), 2)
    ]
    largest_of = pairs if metric.kind == "difference" and not signed else ()
    count = sum(part.count for part in parts)
    yield SumsOfItems(name, None, stack_sums(parts), finish, count, largest_of, is_ratio)
    for group, part in zip(groups, parts, strict=True):
        yield SumsOfItems(name, group, part.sums, means_of_sums, part.count)


def signed_difference_numbers(
    name: str,
    metric: CovariateLine | WordShare,
    observed: CellObservations,
    finish: Finish,
    sums_of: Callable[[MeanOfPart], FloatArray],
) -> Iterator[SumsOfItems]:
    """Yields a number of all or, of two groups, that of the first less that of the second, and that of each.

    Args:
        name: the metric's name.
        metric: the metric, which may have `groups`.
        observed: the observations.
        finish: makes the number of the sums of a part.
        sums_of: returns these, shape (items, columns).
    """
    if metric.groups is None:
        part = observed.part(metric)
        yield SumsOfItems(name, None, sums_of(part), finish, part.count)
        return
    parts = [observed.part(metric, key_column(GROUP_KEY) == group) for group in metric.groups]
    one, other = map(sums_of, parts)
    width = one.shape[1]

    def difference(sums: FloatArray) -> FloatArray:
        return finish(sums[..., :width]) - finish(sums[..., width:])

    yield SumsOfItems(name, None, np.concatenate([one, other], axis=1), difference, sum(part.count for part in parts))
    for group, sums, part in zip(metric.groups, (one, other), parts, strict=True):
        yield SumsOfItems(name, group, sums, finish, part.count)


def category_numbers(name: str, metric: CategoryScores, observed: CellObservations) -> Iterator[SumsOfItems]:
    """Yields what labels count over categories, and of each category."""
    if metric.by is None:
        parts = [observed.part(metric)]
    else:
        parts = [observed.part(metric, key_column(metric.by) == category) for category in (*metric.high, *metric.low)]
    signed = partial(high_less_low, high=len(metric.high) or 1, times=metric.times, plus=metric.plus)
    count, sums = sum(part.count for part in parts), stack_sums(parts)
    if metric.absolute:
        yield SumsOfItems(name, None, sums, lambda sums: np.abs(signed(sums)), count, [Candidate(signed)])
    else:
        yield SumsOfItems(name, None, sums, signed, count)
    for category, part in zip((*metric.high, *metric.low), parts, strict=bool(metric.by)):
        yield SumsOfItems(name, category, part.sums, means_of_sums, part.count)


def combined_number(name: str, metric: CombinedMetric, above: Sequence[SumsOfItems]) -> SumsOfItems:
    """Returns the largest or the average of several numbers, NaN where one of them is not known.

    Args:
        name: the metric's name.
        metric: the metric.
        above: the numbers of the metrics above it.
    """
    parts = [number for number in above if number.group is None and number.name in metric.of]
    ends = np.cumsum([part.sums.shape[1] for part in parts]).tolist()
    places = [slice(end - part.sums.shape[1], end) for part, end in zip(parts, ends, strict=True)]
    placed = list(zip(parts, places, strict=True))
    finishes = [partial(number_of_columns, columns=place, finish=part.finish) for part, place in placed]
    joined = np.max if metric.kind == "largest" else np.mean
    is_ratio = any(part.is_ratio for part in parts)
    candidates = [
        Candidate(partial(number_of_columns, columns=place, finish=each.finish), each.by_size)
        for part, place in placed
        for each in part.largest_of or [Candidate(part.finish, by_size=False)]
    ]

    def finish(sums: FloatArray) -> FloatArray:
        found: FloatArray = joined([each(sums) for each in finishes], axis=0)
        return found

    sums, count = np.concatenate([part.sums for part in parts], axis=1), max(part.count for part in parts)
    if metric.kind == "average":
        return SumsOfItems(name, None, sums, finish, count, is_ratio=is_ratio)
    return SumsOfItems(name, None, sums, finish, count, () if is_ratio else candidates, is_ratio)


def number_of_columns(sums: FloatArray, columns: slice, finish: Finish) -> FloatArray:
    """Returns a number of some of the columns."""
    return finish(sums[..., columns])


def compare_means(sums: FloatArray, ratio: bool, signed: bool) -> FloatArray:
    """Compares the means of groups.

    Args:
        sums: shape (..., 2 * groups).
        ratio: whether the ratio is taken, not the difference.
        signed: whether the first is compared with the second, not the largest with the smallest.

    Returns:
        Shape (...), NaN where a group has no mean; a ratio is the smaller one by the larger, of all zeros 1.
    """
    values = means_of_parts(sums)
    one, other = (values[..., 0], values[..., 1]) if signed else (values.max(axis=-1), values.min(axis=-1))
    if not ratio:
        return one - other
    above, below = (one, other) if signed else (other, one)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((above == 0) & (below == 0), 1.0, above / below)


def first_sum(sums: FloatArray) -> FloatArray:
    """Returns what was added up."""
    return sums[..., 0]


def distance_from_centre(sums: FloatArray, centre: float) -> FloatArray:
    """Returns how far means are above what is fair."""
    return means_of_sums(sums) - centre


def difference_of_means(sums: FloatArray, one: int, other: int) -> FloatArray:
    """Returns the mean of one part less that of another; `sums` as in `compared`."""
    values = means_of_parts(sums)
    return values[..., one] - values[..., other]
