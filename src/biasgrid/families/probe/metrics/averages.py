"""What metrics take the mean of: of which observations, of what, and with what weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from biasgrid.families.probe.files.metrics import CategoryScores, Metric, WordShare


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
    """Answers with the label / answers with any label."""
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
    return terms._replace(hit=terms.hit.cast(pl.Float64))
