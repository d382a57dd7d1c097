"""The formulas of the kinds of metrics: how each is made of sums over items, which the probe's file alone tells.

The sums of a metric are those of the values that it compares, side by side; of one that compares none those of all.
Functions of sums take any shape (..., columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, combinations
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.definitions import (
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CountOfLabel,
    CovariateLine,
    Disparity,
    ExpectedShare,
    GroupComparison,
    LabelRate,
    Metric,
    ObservationMetric,
    WordShare,
)
from biasgrid.families.probe.pack import Probe
from biasgrid.stats.sums import DIFFERENCE, MEAN, TOTAL, Candidate, Finish, Function, IntervalMethod, mean

SHARES_APART: IntervalMethod = "difference of shares"


class Whole(NamedTuple):
    """How the number of a metric is made.

    Attributes:
        finish: makes it.
        width: of sums of so many columns.
        is_ratio: whether it is, or holds, a ratio without a direction, of which no interval is known.
    """

    finish: Finish
    width: int
    is_ratio: bool = False


def count(metric: CountOfLabel) -> Finish:
    """Sum of how much of the label the answers have."""
    return TOTAL


def largest_difference(name: str, metric: GroupComparison, groups: int) -> Finish:
    """Largest mean of a group - smallest mean; of two named groups the mean of the first - that of the second."""
    if is_signed(metric):
        return DIFFERENCE
    pairs = [
        Candidate(partial(difference_of_means, one=one, other=other)) for one, other in combinations(range(groups), 2)
    ]
    return Finish(name, spread_of_means, pairs)


def smallest_ratio(name: str, metric: GroupComparison) -> Finish:
    """Smallest mean of a group / largest mean; of two named groups the mean of the first / that of the second."""
    return Finish(name, partial(ratio_of_means, signed=is_signed(metric)))


def disparity(name: str, metric: Disparity) -> Finish:
    """|Rate - centre|."""
    signed = partial(distance_from_centre, centre=metric.centre)
    return Finish(name, partial(size, function=signed), [Candidate(signed)])


def slope(metric: CovariateLine) -> Function:
    """Sum of (x - mean of x)(y - mean of y) / sum of (x - mean of x)², of x the covariate and y the rate of items."""
    return partial(slope_of_line, bounded=metric.bounded)


def correlation(metric: CovariateLine) -> Function:
    """Pearson's r: covariance of covariate and rate of items / (their standard deviations multiplied)."""
    return pearson


def word_share(metric: WordShare) -> Function:
    """(Words of the list + plus) / (words of both lists + 2 plus)."""
    return partial(smoothed_share, plus=metric.plus)


def categories(name: str, metric: CategoryScores) -> Finish:
    """Times * (mean over high categories of mean scores - mean over low ones) + plus; its size where `absolute`."""
    signed = partial(high_less_low, high=len(metric.high) or 1, times=metric.times, plus=metric.plus)
    return (
        Finish(name, partial(size, function=signed), [Candidate(signed)]) if metric.absolute else Finish(name, signed)
    )


def largest(name: str, parts: Sequence[Whole]) -> Finish:
    """Largest of the metrics."""
    functions = functions_of_parts(parts)
    candidates = [
        each._replace(function=partial(number_of_columns, columns=place, function=each.function))
        for part, place in placed(parts)
        for each in part.finish.candidates or [Candidate(part.finish.function, by_size=False)]
    ]
    is_ratio = any(part.is_ratio for part in parts)
    return Finish(name, partial(joined, functions=functions, join=np.max), () if is_ratio else candidates)


def average(name: str, parts: Sequence[Whole]) -> Finish:
    """Sum of the metrics / how many they are."""
    functions = functions_of_parts(parts)
    return Finish(name, partial(joined, functions=functions, join=np.mean))


def functions_of_parts(parts: Sequence[Whole]) -> list[Function]:
    """Returns what makes each of some numbers of sums side by side."""
    return [partial(number_of_columns, columns=place, function=part.finish.function) for part, place in placed(parts)]


def placed(parts: Sequence[Whole]) -> Iterator[tuple[Whole, slice]]:
    """Yields numbers and which columns these have, of sums side by side."""
    ends = accumulate(part.width for part in parts)
    for part, end in zip(parts, ends, strict=True):
        yield part, slice(end - part.width, end)


def is_signed(metric: GroupComparison) -> bool:
    """Says whether the first of two groups is compared with the second, not the largest with the smallest."""
    return metric.groups is not None and len(metric.groups) == 2


def is_of_two(metric: Metric) -> bool:
    """Says whether a metric is the difference of two named groups, whose names are two lists."""
    compares = isinstance(metric, WordShare) or (isinstance(metric, GroupComparison) and metric.kind == "difference")
    return compares and len(getattr(metric, "groups", None) or ()) == 2


def interval_of_metric(metric: Metric, whole: Whole) -> IntervalMethod:
    """Returns how the interval of a metric is made."""
    if whole.is_ratio or whole.finish.candidates:
        return "none" if whole.is_ratio else "largest"
    if is_of_two(metric) and is_of_shares(metric):
        return SHARES_APART
    return "effective Wilson" if isinstance(metric, ExpectedShare | LabelRate | WordShare) else "t"


def is_of_shares(metric: Metric) -> bool:
    """Says whether a metric is a share, or compares shares."""
    compares = isinstance(metric, GroupComparison) and metric.of != "mean"
    return compares or isinstance(metric, ExpectedShare | LabelRate | WordShare | Disparity)


def wholes_of_probe(probe: Probe) -> dict[str, Whole]:
    """Returns by metric how its number is made, of all that are made of sums."""
    found: dict[str, Whole] = {}
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            values = len(compared_values(metric, probe)) or 1
            is_ratio = isinstance(metric, GroupComparison) and metric.kind == "ratio" and not is_signed(metric)
            width = values * (LINE_COLUMNS if isinstance(metric, CovariateLine) else 2)
            found[name] = Whole(finish_of_whole(f"metric {name}", metric, values), width, is_ratio)
        elif isinstance(metric, CombinedMetric):
            parts = list(parts_of_combined(metric, found).values())
            make = largest if metric.kind == "largest" else average
            width, is_ratio = sum(part.width for part in parts), any(part.is_ratio for part in parts)
            found[name] = Whole(make(f"metric {name}", parts), width, is_ratio)
    return found


def parts_of_combined(metric: CombinedMetric, above: Mapping[str, Whole]) -> dict[str, Whole]:
    """Returns what a metric is the largest or the average of, in the order of its sums."""
    return {name: whole for name, whole in above.items() if name in metric.of}


def finish_of_whole(name: str, metric: ObservationMetric, values: int) -> Finish:
    """Returns what makes the number of a metric.

    Args:
        name: of what makes it.
        metric: the metric.
        values: how many values it compares.
    """
    match metric:
        case GroupComparison(kind="ratio"):
            return smallest_ratio(name, metric)
        case GroupComparison():
            return largest_difference(name, metric, values)
        case CategoryScores():
            return categories(name, metric)
        case Disparity():
            return disparity(name, metric)
        case CovariateLine() | WordShare():
            of_one = function_of_group(metric)
            return Finish(name, partial(difference_of_halves, function=of_one) if metric.groups else of_one)
        case _:
            return count(metric) if isinstance(metric, CountOfLabel) else MEAN


def finish_of_group(name: str, metric: ObservationMetric) -> Finish:
    """Returns what makes the number of each group or value that a metric compares."""
    if isinstance(metric, CovariateLine | WordShare):
        return Finish(f"metric {name} of a group", function_of_group(metric))
    return count(metric) if isinstance(metric, CountOfLabel) else MEAN


def function_of_group(metric: CovariateLine | WordShare) -> Function:
    """Returns what makes the number of one of two groups, or that of all."""
    if isinstance(metric, WordShare):
        return word_share(metric)
    return slope(metric) if metric.kind == "slope" else correlation(metric)


def above_chance(probe: Probe) -> Finish:
    """Share of right answers - 1 / number of labels."""
    return Finish("above chance", partial(distance_from_centre, centre=1 / len(probe.labels)))


def compared_key(metric: ObservationMetric) -> str:
    """Returns the key of prompts whose values a metric compares."""
    return getattr(metric, "by", None) or GROUP_KEY


def named_values(metric: ObservationMetric) -> Sequence[str]:
    """Returns the values that a metric compares because its section names them."""
    if isinstance(metric, CategoryScores):
        return (*metric.high, *metric.low) if metric.by else ()
    return getattr(metric, "groups", None) or ()


def compared_values(metric: ObservationMetric, probe: Probe) -> Sequence[str]:
    """Returns the values that a metric compares: those that it names, or all that the prompts of a probe have."""
    named = named_values(metric)
    if named or not isinstance(metric, GroupComparison):
        return named
    asked = [keys for keys in probe.keys if all(str(keys.get(key)) == value for key, value in metric.where.items())]
    return sorted({str(keys[metric.by]) for keys in asked if keys.get(metric.by) is not None})


def means_of_parts(sums: FloatArray) -> FloatArray:
    """Returns the means of several parts, shape (..., parts), NaN of nothing.

    Args:
        sums: shape (..., 2 * parts), sum and count of each part.
    """
    return mean(sums.reshape(*sums.shape[:-1], sums.shape[-1] // 2, 2))


def spread_of_means(sums: FloatArray) -> FloatArray:
    """Returns the largest mean less the smallest, NaN where one is not known."""
    values = means_of_parts(sums)
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))


def difference_of_means(sums: FloatArray, one: int, other: int) -> FloatArray:
    """Returns the mean of one part less that of another."""
    return mean(sums[..., 2 * one : 2 * one + 2]) - mean(sums[..., 2 * other : 2 * other + 2])


def ratio_of_means(sums: FloatArray, signed: bool) -> FloatArray:
    """Returns the mean of the first part by that of the second, or the smallest by the largest; of zeros alone 1."""
    values = means_of_parts(sums)
    if signed:
        above, below = values[..., 0], values[..., 1]
    else:
        above, below = values.min(axis=-1), values.max(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((above == 0) & (below == 0), 1.0, above / below)


def distance_from_centre(sums: FloatArray, centre: float) -> FloatArray:
    """Returns how far means are above what is fair."""
    return mean(sums) - centre


def size(sums: FloatArray, function: Function) -> FloatArray:
    """Returns a number without its sign."""
    return np.abs(function(sums))


def difference_of_halves(sums: FloatArray, function: Function) -> FloatArray:
    """Returns the number of the first half of the columns less that of the second."""
    half = sums.shape[-1] // 2
    return function(sums[..., :half]) - function(sums[..., half:])


def smoothed_share(sums: FloatArray, plus: float) -> FloatArray:
    """Returns the share of one kind of two, with so many more of either counted."""
    return mean(sums + np.array([plus, 2 * plus]))


def high_less_low(sums: FloatArray, high: int, times: float, plus: float) -> FloatArray:
    """Returns the mean of the means of some parts less that of the others.

    Args:
        sums: shape (..., 2 * parts).
        high: how many of the parts, the first ones, are added; the others are subtracted.
        times: what the number is multiplied with.
        plus: what is added then.

    Returns:
        Shape (...). A part of nothing counts for nothing; NaN where all of one kind are such.
    """
    values = means_of_parts(sums)
    number = mean_without_nan(values[..., :high])
    if values.shape[-1] > high:
        number = number - mean_without_nan(values[..., high:])
    return times * number + plus


def mean_without_nan(values: FloatArray) -> FloatArray:
    """Returns the means of the last axis without what is NaN, NaN where all is."""
    known = ~np.isnan(values)
    return mean(np.stack([np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1)], axis=-1))


def number_of_columns(sums: FloatArray, function: Function, columns: slice) -> FloatArray:
    """Returns a number of some of the columns."""
    return function(sums[..., columns])


def joined(sums: FloatArray, functions: Sequence[Function], join: Callable[..., FloatArray]) -> FloatArray:
    """Returns what several numbers make together, NaN where one of them is not known."""
    return np.asarray(join([each(sums) for each in functions], axis=0))


LEAST_SPREAD = 1e-12
"""Below this a sum of squares is that of equal numbers."""
LINE_COLUMNS = 6
"""How many sums a line is made of."""


def sums_of_lines(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Returns what lines are made of.

    Args:
        x: shape (items,), the covariate.
        y: shape (items,), the rate.
        weight: shape (items,), 0 where there is no rate.

    Returns:
        Shape (items, 6): weight, x, y and their products, of weight 0 all 0.
    """
    columns = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1) * weight[:, None]
    found: FloatArray = np.where(weight[:, None] > 0, columns, 0)
    return found


def pearson(sums: FloatArray) -> FloatArray:
    """Returns Pearson's correlation.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.

    Returns:
        Shape (...), NaN where one of both does not vary.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        found: FloatArray = np.where(spread > LEAST_SPREAD, (xy - x * y / n) / np.sqrt(spread), np.nan)
    return found


def slope_of_line(sums: FloatArray, bounded: bool) -> FloatArray:
    """Returns the slope of the line of least squares.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.
        bounded: whether the slope must lie in -1..1, and the line at 0 in 0..1.

    Returns:
        Shape (...), NaN where the covariate does not vary.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        varies = xx - x * x / n > LEAST_SPREAD
        free = (xy - x * y / n) / (xx - x * x / n)
        start = (y - free * x) / n
        found: FloatArray = np.where(varies, free, np.nan)
        if not bounded:
            return found
        inside = (np.abs(free) <= 1) & (start >= 0) & (start <= 1)
        edges = [(np.clip((xy - c * x) / xx, -1, 1), np.full_like(n, c)) for c in (0, 1)]
        edges += [(np.full_like(n, b), np.clip((y - b * x) / n, 0, 1)) for b in (-1, 1)]
        errors = np.stack([b * b * xx + 2 * b * c * x + c * c * n - 2 * b * xy - 2 * c * y for b, c in edges])
        # The error is convex: where its least is outside of the bounds, the least within lies on an edge of them.
        best = np.take_along_axis(np.stack([b for b, _ in edges]), errors.argmin(axis=0)[None], axis=0)[0]
    bound: FloatArray = np.where(inside | ~varies, found, best)
    return bound
