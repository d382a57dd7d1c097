"""Measures of how differently a model answers cases about two social groups, and checks of cells.

The measures are those of all families of groups (`biasgrid.groups`); titles and limits of the
checks are in measures.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.counterfactual.observe import outputs_of
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, share_with_interval
from biasgrid.groups.measures import FixedClass, finishes, measure_groups
from biasgrid.groups.records import ClassOutputs, TargetOutputs
from biasgrid.groups.terms import derive, make_records
from biasgrid.stats.sums import Sums
from biasgrid.tables.completeness import Check

# The numbers of all families of groups are derived and finished in the same way.
__all__ = ["derive", "finishes", "measure", "validity"]

CLEAR_GAIN = 0.5
"""From this gain on it is hardly by chance that two classes are exchanged."""
LOOK_EXCHANGED = (
    ": they look exchanged, so compare the model's `labels` with `id2label` in its checkpoint, and "
    "the labels of the templates with the `labels` of the dataset"
)


def measure(
    observations: pl.DataFrame, measure_options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Yields the sums and tables of the groups of a cell; see `groups.measures.measure_groups`.

    Args:
        observations: rows of `OBSERVATIONS`.
        measure_options: `task`, the models' task; `measures` and `failure_threshold`, see
            `groups.measures.measure_groups`; for classifiers `labels`, the names of the classes,
            and `fixed_class`, the class whose probability groups are compared by; for masked
            language models `top_k`, how many of the most probable words count as right.
    """
    swapped = observations.select("case", "swapped_case").drop_nulls().unique(maintain_order=True)
    records = make_records(observations, outputs_of(observations, measure_options))
    class_name = measure_options.get("fixed_class")
    fixed_class = None
    if class_name is not None:
        fixed_class = FixedClass(class_name, measure_options["labels"].index(class_name))
    yield from measure_groups(
        records,
        measure_options["measures"],
        measure_options["failure_threshold"],
        swapped_cases=swapped,
        fixed_class=fixed_class,
    )


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of a cell."""
    # Parts of intersections repeat responses.
    responses = cell.observations.filter(~pl.col("part"))
    outputs = outputs_of(responses, cell.measure_options)
    scores = outputs.probabilities if isinstance(outputs, ClassOutputs | TargetOutputs) else None
    word_scores = scores if isinstance(outputs, TargetOutputs) else None
    names = responses.select("bias_type", "group", name="term")
    yield from checks_of_cell(cell, CheckedAnswers(scores, word_scores, names=names))
    if isinstance(outputs, ClassOutputs):
        shares = confusion_matrix(outputs)
        yield balanced_accuracy(shares, responses["case"].n_unique())
        yield from exchanged_labels(shares, len(responses))


def confusion_matrix(outputs: ClassOutputs) -> FloatArray:
    """Returns how often the instances of each class are put into each class.

    Returns:
        Shape (classes, classes): of the instances of the class of a row, the share that the model
        puts into the class of the column; NaN in the rows of classes without instances.
    """
    classes = outputs.probabilities.shape[1]
    places = outputs.gold * classes + outputs.probabilities.argmax(axis=1)
    counts = np.bincount(places, minlength=classes**2).reshape(classes, classes).astype(np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    return counts / np.where(totals == 0, np.nan, totals)


def balanced_accuracy(shares: FloatArray, cases: int) -> Check:
    """Returns the balanced accuracy with its interval: the mean accuracy of the classes.

    The interval is Wilson's (JASA 1927) of 95 %. It counts cases: the instances of a case are
    nearly the same text.

    Args:
        shares: from `confusion_matrix`.
        cases: how many cases there are.
    """
    return share_with_interval("accuracy", float(np.nanmean(shares.diagonal())), cases)


def exchanged_labels(shares: FloatArray, class_count: int) -> Iterator[Check]:
    """Yields the largest growth of the balanced accuracy if two classes were exchanged.

    A large growth means that the config assigns the model's classes wrongly. Nothing is yielded if
    instances have fewer than two classes.

    Args:
        shares: from `confusion_matrix`.
        class_count: the number of instances.
    """
    classes = np.flatnonzero(~np.isnan(shares.diagonal()))
    gains = []
    for first, second in combinations(classes, 2):
        exchanged = shares[first, second] + shares[second, first]
        gains.append(exchanged - shares[first, first] - shares[second, second])
    if gains:
        gain = float(max(gains)) / len(classes)
        flag = LOOK_EXCHANGED if gain >= CLEAR_GAIN else ""
        yield Check("exchanged_labels", gain, class_count, flag=flag)
