"""Formulas of metrics: how each is made of sums over items, which the probe's file alone decides.

A metric is a function of sums over items and, side by side with these, over the names that stand
for groups. The sums of a metric that compares values are those of the values, side by side; those
of a combined metric are those of its parts. `families.formulas` does not do here: a mean may give
each item the same weight, whatever the number of its answers, so terms are divided by sums of
their item before they are added up along either factor; and a slope is made of products of an
item's mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.families.probe.definitions import (
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CountOfLabel,
    CovariateLine,
    Disparity,
    GroupComparison,
    Metric,
    ObservationMetric,
    OfAsked,
    Probe,
    WordShare,
)
from biasgrid.stats.functions import (
    LINE_COLUMNS,
    absolute_number,
    combine_numbers,
    distance_from_centre,
    evaluate_columns,
    halves_difference,
    high_less_low,
    line_slope,
    part_difference,
    part_ratio,
    pearson,
    smoothed_share,
    spread_between_parts,
)
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    TOTAL,
    Candidate,
    Finish,
    Function,
    IntervalMethod,
)

AMONG_ASKED = "asked"
"""The value of `among` of rates of all that was asked, whatever was answered."""
SHARES_APART: IntervalMethod = "difference of shares"
MEAN_COLUMNS = 2
"""The number of sums of a mean."""

# Terms: expressions that add up by item


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


def averaging_terms(metric: ObservationMetric) -> Terms:
    """Returns the terms of a metric's mean; they hold for all observations and for any group."""
    terms = detected_terms(metric)
    hit = terms.hit.cast(pl.Float64)
    if isinstance(metric, OfAsked) and metric.among == AMONG_ASKED:
        # Who got no Yes was not invited, whatever else was said.
        hit = terms.hit.fill_null(value=False).cast(pl.Float64)
        return Terms(pl.lit(value=True), hit, terms.weight.fill_null(1.0))
    return terms._replace(counts=terms.counts & ~pl.col("undetected"), hit=hit)


def detected_terms(metric: ObservationMetric) -> Terms:
    """Returns the terms of a metric's mean over answers in which something was found."""
    label, expected, value = pl.col("label"), pl.col("expected"), pl.col("value")
    metric_label = pl.lit(metric.counted_label, pl.String)
    has_label = label == metric_label
    match metric.base:
        case "share-of-expected" | "accuracy":
            # Answers with the expected label / answers for which a label is expected.
            return Terms(expected.is_not_null(), label == expected)
        case "tpr":
            # Answers with the label if it is right / answers for which it is right.
            return Terms(expected == metric_label, has_label)
        case "tnr":
            # Answers without the label if another is right / answers for which another is right.
            return Terms(expected != metric_label, ~has_label)
        case "mean":
            # Sum of the evaluator's numbers / how many there are.
            return Terms(value.is_not_null(), value, value.is_not_null().cast(pl.Float64))
    if isinstance(metric, CategoryScores):
        scores = label.replace_strict(metric.scores, default=0.0, return_dtype=pl.Float64)
        return Terms(label.is_not_null(), scores)
    if isinstance(metric, WordShare):
        return Terms(label.is_in([metric.label, metric.other]), has_label)
    # Rate: answers with the label / answers with any label, or all that were asked.
    return Terms(label.is_not_null(), has_label)


def among_answers(metric: ObservationMetric) -> OfAsked | None:
    """Returns a number of all that was asked as one of answers alone; None for another number."""
    if isinstance(metric, OfAsked) and metric.among == AMONG_ASKED:
        return metric.model_copy(update={"among": "answers"})
    return None


# Keys: columns with the values that prompts have


def needed_keys(metrics: Iterable[Metric]) -> list[str]:
    """Returns the keys of prompts that some metrics compare or select, sorted, without `group`."""
    keys: set[str | None] = set()
    for metric in metrics:
        if isinstance(metric, ObservationMetric):
            keys |= {getattr(metric, "by", None), getattr(metric, "covariate", None)}
            keys |= metric.where.keys()
    return sorted({key for key in keys if key} - {GROUP_KEY})


def with_key_columns(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Adds a column with the values that prompts have in each key, as text; null without the key.

    Args:
        rows: with `keys`, all keys of a prompt as JSON.
        keys: the names, without `group`, which is a column already.
    """
    if not keys:
        return rows
    # Many rows share a prompt: its keys are read once.
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
    """Returns the name of the column of a key."""
    return key if key == GROUP_KEY else f"key {key}"


def rows_where(rows: pl.DataFrame, values: Mapping[str, str]) -> pl.DataFrame:
    """Returns the rows of prompts with some values in their keys; see `with_key_columns`."""
    return rows.filter(*(pl.col(key_column_name(key)) == value for key, value in values.items()))


# Formulas


class MetricFormula(NamedTuple):
    """How the number of a metric is made.

    Attributes:
        metric: the metric.
        finish: computes the number from the sums.
        width: the number of the sums.
        interval: how its interval is made; `none` if no interval is known of it.
        values: the values that it compares, whose sums lie side by side; empty if it compares none.
        of_value: computes the number of each value or group; `finish` of a combined metric.
        parts: the names of the parts of a combined metric, in the order of their sums.
    """

    metric: Metric
    finish: Finish
    width: int
    interval: IntervalMethod
    values: Sequence[str] = ()
    value_finish: Finish = MEAN
    parts: Sequence[str] = ()


def probe_formulas(probe: Probe) -> dict[str, MetricFormula]:
    """Returns by metric its formula; metrics that a class makes have none."""
    formulas: dict[str, MetricFormula] = {}
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            formulas[name] = metric_formula(name, metric, compared_values(metric, probe))
        elif isinstance(metric, CombinedMetric):
            parts = {part: formulas[part] for part in formulas if part in metric.of}
            formulas[name] = combined_formula(name, metric, parts)
    return formulas


def compared_values(metric: ObservationMetric, probe: Probe) -> Sequence[str]:
    """Returns the values that a metric compares: named ones, or all in the probe's file.

    There are none if it compares nothing.
    """
    if metric.named_values or not isinstance(metric, GroupComparison):
        return metric.named_values
    values = set()
    for keys in probe.prompts:
        is_counted = all(str(keys.get(key)) == value for key, value in metric.where.items())
        if is_counted and keys.get(metric.by) is not None:
            values.add(str(keys[metric.by]))
    return sorted(values)


def metric_formula(name: str, metric: ObservationMetric, values: Sequence[str]) -> MetricFormula:
    """Returns the formula of a metric that is no combination of others.

    Args:
        name: its name.
        metric: the metric.
        values: the values that it compares.
    """
    finish = metric_finish(f"metric {name}", metric, len(values) or 1)
    interval: IntervalMethod = "effective Wilson" if metric.IS_SHARE else "t"
    if isinstance(metric, GroupComparison) and metric.kind == "ratio" and not metric.is_signed:
        # Nothing is known of a ratio of unnamed groups; `claims` has a ratio of two shares.
        interval = "none"
    elif finish.candidates:
        interval = "largest"
    elif metric.compares_two_groups and metric.has_shares:
        interval = SHARES_APART
    columns = LINE_COLUMNS if isinstance(metric, CovariateLine) else MEAN_COLUMNS
    width = columns * (len(values) or 1)
    value_finish = single_value_finish(f"metric {name} of a group", metric)
    return MetricFormula(metric, finish, width, interval, values, value_finish)


def metric_finish(name: str, metric: ObservationMetric, values: int) -> Finish:
    """Returns the function that computes the number of a metric from the sums of its values."""
    match metric:
        case GroupComparison(kind="ratio"):
            # Smallest mean of a group / largest; of two named groups, the first / the second.
            return Finish(name, partial(part_ratio, is_directed=metric.is_signed))
        case GroupComparison() if metric.is_signed:
            return DIFFERENCE
        case GroupComparison():
            # Largest mean of a group - smallest.
            pairs = []
            for position, other_position in combinations(range(values), 2):
                pairs.append(
                    Candidate(partial(part_difference, minuend=position, subtrahend=other_position))
                )
            return Finish(name, spread_between_parts, pairs)
        case Disparity():
            # |Rate - centre|.
            return size_finish(name, partial(distance_from_centre, centre=metric.centre))
        case CategoryScores():
            # Times * (mean of means of high categories - mean of means of low ones) + plus.
            high = len(metric.high) or 1
            number = partial(high_less_low, high=high, times=metric.times, plus=metric.plus)
            return size_finish(name, number) if metric.absolute else Finish(name, number)
        case CovariateLine() | WordShare():
            function = group_function(metric)
            if metric.groups:
                function = partial(halves_difference, function=function)
            return Finish(name, function)
        case CountOfLabel():
            return TOTAL
        case _:
            return MEAN


def single_value_finish(name: str, metric: ObservationMetric) -> Finish:
    """Returns the function that computes the number of a value that a metric compares or shows."""
    if isinstance(metric, CovariateLine | WordShare):
        return Finish(name, group_function(metric))
    return TOTAL if isinstance(metric, CountOfLabel) else MEAN


def size_finish(name: str, number: Function) -> Finish:
    """Returns the function that computes a number without its sign."""
    return Finish(name, partial(absolute_number, function=number), [Candidate(number)])


def group_function(metric: CovariateLine | WordShare) -> Function:
    """Returns the function that computes the number of one of two groups, or of all answers."""
    if isinstance(metric, WordShare):
        # (Words of the list + plus) / (words of both lists + 2 plus).
        return partial(smoothed_share, plus=metric.plus)
    if metric.kind == "slope":
        # Sum of (x - mean of x)(y - mean of y) / sum of (x - mean of x)², of the covariate x of
        # items and their rate y.
        return partial(line_slope, bounded=metric.bounded)
    # Pearson's r: covariance / standard deviations.
    return pearson


def combined_formula(
    name: str, metric: CombinedMetric, parts: Mapping[str, MetricFormula]
) -> MetricFormula:
    """Returns the formula of the largest or the average of other metrics."""
    functions, candidates = [], []
    width = 0
    for part in parts.values():
        columns = slice(width, width + part.width)
        width += part.width
        alone = Candidate(part.finish.function, by_size=False)
        functions.append(partial(evaluate_columns, columns=columns, function=alone.function))
        for candidate in part.finish.candidates or [alone]:
            function = partial(evaluate_columns, columns=columns, function=candidate.function)
            candidates.append(candidate._replace(function=function))
    interval: IntervalMethod = "largest" if metric.kind == "largest" else "t"
    if any(part.interval == "none" for part in parts.values()):
        interval = "none"
    join = np.max if metric.kind == "largest" else np.mean
    finish = Finish(
        f"metric {name}",
        partial(combine_numbers, functions=functions, join=join),
        candidates if interval == "largest" else (),
    )
    return MetricFormula(metric, finish, width, interval, value_finish=finish, parts=list(parts))


def above_chance(probe: Probe) -> Finish:
    """Returns the function of the share of right answers - 1 / number of labels."""
    return Finish("above chance", partial(distance_from_centre, centre=1 / len(probe.labels)))


def formula_finishes(probe: Probe) -> dict[str, Finish]:
    """Returns the functions that compute the numbers of a probe, by their names in tables."""
    finishes = []
    for formula in probe_formulas(probe).values():
        finishes += [formula.finish, formula.value_finish]
    if probe.labels:
        finishes.append(above_chance(probe))
    return {finish.name: finish for finish in finishes}
