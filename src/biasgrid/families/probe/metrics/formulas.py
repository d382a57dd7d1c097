"""The formulas of the kinds of metrics: how each is made of sums over items, which the probe's file alone tells.

The sums of a metric are those of the values that it compares, side by side; of one that compares none those of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, combinations
from typing import NamedTuple

import numpy as np

from biasgrid.families.probe.files.metrics import (
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CountOfLabel,
    CovariateLine,
    Disparity,
    GroupComparison,
    ObservationMetric,
    WordShare,
)
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.metrics.lines import LINE_COLUMNS, pearson, slope_of_line
from biasgrid.families.probe.metrics.numbers import (
    difference_of_halves,
    difference_of_means,
    distance_from_centre,
    high_less_low,
    joined,
    number_of_columns,
    ratio_of_means,
    size,
    smoothed_share,
    spread_of_means,
)
from biasgrid.stats.sums import DIFFERENCE, MEAN, TOTAL, Candidate, Finish, Function


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
