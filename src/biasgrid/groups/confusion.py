"""Precision, recall and F1 of many pools at once, from their confusion counts, and what counts in rates of one class.

Averages are those of scikit-learn's `precision_recall_fscore_support` with `zero_division=0` (Pedregosa et al., JMLR
2011) for the labels that are gold or predicted in a pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, ratio
from biasgrid.groups.records import ClassOutputs, Pools, probability_column

Average = Literal["binary", "macro", "micro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)
POSITIVE_CLASS = 1

Rate = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def precision(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / predicted, 0 where nothing is predicted."""
    return np.nan_to_num(ratio(hits, predicted))


def recall(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns hits / gold, 0 where nothing is gold."""
    return np.nan_to_num(ratio(hits, gold))


def f1(hits: FloatArray, predicted: FloatArray, gold: FloatArray) -> FloatArray:
    """Returns 2 hits / (predicted + gold), the harmonic mean of precision and recall, 0 where both are empty."""
    return np.nan_to_num(ratio(2 * hits, predicted + gold))


def average_rate(rate: Rate, average: Average, gold: IntArray, predicted: IntArray, pools: Pools) -> FloatArray:
    """Computes precision, recall or F1 of every pool.

    Args:
        rate: `precision`, `recall` or `f1`.
        average: "binary" is the rate of class 1; "macro" the mean over the labels present in the pool, "weighted"
            the same weighted by how often they are gold; "micro" the rate of the counts summed over classes.
        gold: shape (records,), the right classes.
        predicted: shape (records,), the predicted classes.
        pools: the pools of the records.

    Returns:
        Shape (pools,), NaN where a pool is empty.
    """
    classes = 1 + max(POSITIVE_CLASS, gold.max(initial=0), predicted.max(initial=0))

    def per_class(labels: IntArray, chosen: npt.NDArray[np.bool_] | slice = slice(None)) -> FloatArray:
        cell = pools.of_record[chosen] * classes + labels[chosen]
        counts = np.bincount(cell, minlength=pools.count * classes)
        return counts.reshape(pools.count, classes).astype(np.float64)

    counts = per_class(gold, gold == predicted), per_class(predicted), per_class(gold)
    if average == "binary":
        value = rate(*(count[:, POSITIVE_CLASS] for count in counts))
    elif average == "micro":
        value = rate(*(count.sum(axis=1) for count in counts))
    else:
        weights = counts[2] if average == "weighted" else (counts[1] + counts[2] > 0).astype(np.float64)
        value = ratio((rate(*counts) * weights).sum(axis=1), weights.sum(axis=1))
    return np.where(pools.sizes > 0, value, np.nan)


def false_negatives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is right and is not predicted, 0 where it is, NaN where another one is right."""
    right, predicted = class_against_others(outputs, index)
    return np.where(right, 1.0 - predicted, np.nan)


def false_positives(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is wrong and is predicted, 0 where it is not, NaN where it is right."""
    right, predicted = class_against_others(outputs, index)
    return np.where(right, np.nan, 1.0 * predicted)


def wrongly_predicted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted and is wrong, 0 where it is right, NaN where another one is predicted."""
    right, predicted = class_against_others(outputs, index)
    return np.where(predicted, 1.0 - right, np.nan)


def wrongly_omitted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is not predicted and is right, 0 where it is wrong, NaN where it is predicted."""
    right, predicted = class_against_others(outputs, index)
    return np.where(predicted, np.nan, 1.0 * right)


def is_predicted(outputs: ClassOutputs, index: int) -> FloatArray:
    """Returns 1 where a class is predicted, else 0."""
    return class_against_others(outputs, index)[1].astype(np.float64)


def class_against_others(outputs: ClassOutputs, index: int) -> tuple[BoolArray, BoolArray]:
    """Returns whether a class is right, and whether it is the (first) most probable one, each of shape (records,).

    Raises:
        UserError: there is no such class.
    """
    probability_column(outputs.probabilities, index, "class")
    return outputs.gold == index, outputs.probabilities.argmax(axis=1) == index
