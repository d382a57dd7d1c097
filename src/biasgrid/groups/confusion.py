"""Precision, recall and F1 of many pools at once, from their confusion counts, and what counts in
rates of one class.

Averages are those of scikit-learn's `precision_recall_fscore_support` with `zero_division=0`
(Pedregosa et al., JMLR 2011) for the labels that are gold or predicted in a pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, divide
from biasgrid.groups.records import ClassOutputs, Pools, probability_column

Average = Literal["binary", "macro", "micro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)
POSITIVE_CLASS = 1

Rate = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def precision(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / predicted, 0 where nothing is predicted."""
    return np.nan_to_num(divide(hits, predicted))


def recall(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / gold, 0 where nothing is gold."""
    return np.nan_to_num(divide(hits, gold))


def f1(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns 2 hits / (predicted + gold), the harmonic mean of precision and recall, 0 where both
    are empty.
    """
    return np.nan_to_num(divide(2 * hits, predicted + gold))


def rate_columns(labels: FloatArray) -> FloatArray:
    """Returns the part of each record in confusion counts: hits, predictions and gold, by class.

    Args:
        labels: shape (records, 2), the right and the predicted class.

    Returns:
        Shape (records, 3 * classes).
    """
    gold, predicted = labels.astype(np.int64).T
    last_class = max(POSITIVE_CLASS, gold.max(initial=0), predicted.max(initial=0))
    classes = np.arange(1 + last_class)
    is_gold, is_chosen = gold[:, None] == classes, predicted[:, None] == classes
    return np.concatenate([is_gold & is_chosen, is_chosen, is_gold], axis=1).astype(np.float64)


def rate_of_counts(counts: FloatArray, rate: Rate, average: Average) -> FloatArray:
    """Computes precision, recall or F1 of confusion counts.

    Args:
        counts: shape (..., 3 * classes), sums of `rate_columns`.
        rate: `precision`, `recall` or `f1`.
        average: "binary" is the rate of class 1; "macro" the mean over the labels present,
            "weighted" the same weighted by how often they are gold; "micro" the rate of the counts
            summed over classes.

    Returns:
        Shape (...), NaN of nothing.
    """
    by_kind = counts.reshape(*counts.shape[:-1], 3, -1)
    hits, predicted, gold = np.moveaxis(by_kind, -2, 0)
    if average == "binary":
        value = rate(*(count[..., POSITIVE_CLASS] for count in (hits, predicted, gold)))
    elif average == "micro":
        value = rate(*(count.sum(axis=-1) for count in (hits, predicted, gold)))
    else:
        is_present = predicted + gold > 0
        weights = gold if average == "weighted" else is_present.astype(np.float64)
        weighted = rate(hits, predicted, gold) * weights
        value = divide(weighted.sum(axis=-1), weights.sum(axis=-1))
    return np.where(gold.sum(axis=-1) > 0, value, np.nan)


def average_rate(rate: Rate, average: Average, labels: FloatArray, pools: Pools) -> FloatArray:
    """Computes precision, recall or F1 of every pool, shape (pools,), NaN where it is empty; see
    `rate_of_counts`.
    """
    columns = rate_columns(labels).T
    counts = [np.bincount(pools.of_record, column, minlength=pools.count) for column in columns]
    return rate_of_counts(np.stack(counts, axis=-1), rate, average)


RATES: dict[str, Rate] = {"f1": f1, "precision": precision, "recall": recall}


def false_negatives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is right and is not predicted, 0 where it is, NaN where another one
    is right.
    """
    right, predicted = class_against_others(outputs, index)
    return np.where(right, 1.0 - predicted, np.nan)


def false_positives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is wrong and is predicted, 0 where it is not, NaN where it is
    right.
    """
    right, predicted = class_against_others(outputs, index)
    return np.where(right, np.nan, 1.0 * predicted)


def wrongly_predicted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted and is wrong, 0 where it is right, NaN where another one
    is predicted.
    """
    right, predicted = class_against_others(outputs, index)
    return np.where(predicted, 1.0 - right, np.nan)


def wrongly_omitted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is not predicted and is right, 0 where it is wrong, NaN where it is
    predicted.
    """
    right, predicted = class_against_others(outputs, index)
    return np.where(predicted, np.nan, 1.0 * right)


def is_predicted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted, else 0."""
    return class_against_others(outputs, index)[1].astype(np.float64)


def class_against_others(outputs: ClassOutputs, index: int) -> tuple[BoolArray, BoolArray]:
    """Returns whether a class is right, and whether it is the (first) most probable one, each of
    shape (records,).

    Raises:
        UserError: there is no such class.
    """
    probability_column(outputs.probabilities, index, "class")
    return outputs.gold == index, outputs.probabilities.argmax(axis=1) == index
