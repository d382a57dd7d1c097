"""Precision, recall and F1 of many pools at once, from their confusion counts, and the records that
count in rates of one class.

Averages are those of scikit-learn's `precision_recall_fscore_support` with `zero_division=0`
(Pedregosa et al., JMLR 2011) for the labels that are gold or predicted in a pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.groups.records import ClassOutputs, Pools, probability_column

Average = Literal["binary", "macro", "micro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)
POSITIVE_CLASS = 1

Rate = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""A rate of hits, predictions and gold labels, in this order: counts of one shape."""


def precision(hits: FloatArray, predictions: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / predictions, 0 where nothing is predicted."""
    return np.nan_to_num(divide(hits, predictions))


def recall(hits: FloatArray, predictions: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / gold, 0 where nothing is gold."""
    return np.nan_to_num(divide(hits, gold))


def f1(hits: FloatArray, predictions: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns 2 hits / (predictions + gold), the harmonic mean of precision and recall; 0 where
    both counts are 0.
    """
    return np.nan_to_num(divide(2 * hits, predictions + gold))


def confusion_columns(*, gold: IntArray, predictions: IntArray) -> FloatArray:
    """Returns the contribution of each record, 0 or 1, to the confusion counts of a pool.

    Args:
        gold: shape (records,), the right class.
        predictions: shape (records,), the predicted class.

    Returns:
        Shape (records, 3 * classes): hits by class, then predictions, then gold labels. Classes
        behind the last one that is gold or predicted have no columns.
    """
    last_class = max(POSITIVE_CLASS, gold.max(initial=0), predictions.max(initial=0))
    classes = np.arange(1 + last_class)
    is_gold, is_prediction = gold[:, None] == classes, predictions[:, None] == classes
    is_hit = is_gold & is_prediction
    return np.concatenate([is_hit, is_prediction, is_gold], axis=1).astype(np.float64)


def rate_from_counts(counts: FloatArray, *, rate: Rate, average: Average) -> FloatArray:
    """Computes precision, recall or F1 from confusion counts.

    Args:
        counts: shape (..., 3 * classes), sums of `confusion_columns`.
        rate: `precision`, `recall` or `f1`.
        average: "binary" is the rate of class 1; "macro" the mean over the labels present,
            "weighted" the same weighted by how often they are gold; "micro" the rate of the counts
            summed over classes.

    Returns:
        Shape (...), NaN without any records.
    """
    by_kind = counts.reshape(*counts.shape[:-1], 3, -1)
    hits, predictions, gold = np.moveaxis(by_kind, -2, 0)
    if average == "binary":
        value = rate(*(count[..., POSITIVE_CLASS] for count in (hits, predictions, gold)))
    elif average == "micro":
        value = rate(*(count.sum(axis=-1) for count in (hits, predictions, gold)))
    else:
        is_present = predictions + gold > 0
        weights = gold if average == "weighted" else is_present.astype(np.float64)
        weighted_rates = rate(hits, predictions, gold) * weights
        value = divide(weighted_rates.sum(axis=-1), weights.sum(axis=-1))
    return np.where(gold.sum(axis=-1) > 0, value, np.nan)


def pool_rates(rate: Rate, columns: FloatArray, average: Average, pools: Pools) -> FloatArray:
    """Computes precision, recall or F1 of every pool.

    Args:
        rate: `precision`, `recall` or `f1`.
        columns: shape (records, 3 * classes), from `confusion_columns`.
        average: see `rate_from_counts`.
        pools: the pools of the same records.

    Returns:
        Shape (pools,), NaN for an empty pool.
    """
    counts = []
    for column in columns.T:
        counts.append(np.bincount(pools.pool, column, minlength=pools.pool_count))
    return rate_from_counts(np.stack(counts, axis=-1), rate=rate, average=average)


RATES: dict[str, Rate] = {"f1": f1, "precision": precision, "recall": recall}


class OneClass(NamedTuple):
    """A class against all others.

    Attributes:
        is_right: shape (records,), whether the class is the right one.
        is_predicted: shape (records,), whether it is the (first) most probable one.
    """

    is_right: BoolArray
    is_predicted: BoolArray


def one_class(outputs: ClassOutputs, index: int) -> OneClass:
    """Compares the class of an index with all others.

    Raises:
        UserError: there is no such class.
    """
    probability_column(outputs.probabilities, index, "class")
    predictions = outputs.probabilities.argmax(axis=1)
    return OneClass(is_right=outputs.gold == index, is_predicted=predictions == index)


def false_negatives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is right and is not predicted, 0 where it is right and predicted, NaN
    where it is wrong.
    """
    is_right, is_predicted = one_class(outputs, index)
    return np.where(is_right, 1.0 - is_predicted, np.nan)


def false_positives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is wrong and is predicted, 0 where it is wrong and not predicted, NaN
    where it is right.
    """
    is_right, is_predicted = one_class(outputs, index)
    return np.where(is_right, np.nan, 1.0 * is_predicted)


def false_discoveries(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted and is wrong, 0 where it is predicted and right, NaN
    where it is not predicted.
    """
    is_right, is_predicted = one_class(outputs, index)
    return np.where(is_predicted, 1.0 - is_right, np.nan)


def false_omissions(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is not predicted and is right, 0 where it is neither, NaN where it is
    predicted.
    """
    is_right, is_predicted = one_class(outputs, index)
    return np.where(is_predicted, np.nan, 1.0 * is_right)


def class_predictions(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted, else 0."""
    return one_class(outputs, index).is_predicted.astype(np.float64)
