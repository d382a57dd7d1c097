"""How differently models answer cases about two social groups, and whether a cell of cases was
measured at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.counterfactual.evidence import evidence
from biasgrid.families.counterfactual.observe import (
    OBSERVATIONS,
    observe,
    outputs_of,
    records_of_cases,
)
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, share_with_interval
from biasgrid.groups.measures import FixedClass, finishes, measure_groups
from biasgrid.groups.records import ClassOutputs, TargetOutputs
from biasgrid.groups.terms import derive
from biasgrid.stats.sums import Sums
from biasgrid.tables.completeness import Check

__all__ = ["OBSERVATIONS", "derive", "evidence", "finishes", "measure", "observe", "validity"]


def measure(
    observations: pl.DataFrame, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures the groups of a cell.

    Args:
        observations: rows of `OBSERVATIONS`.
        options: `task`, the models' task; `measures` and `failure_threshold`, see
            `groups.measures.measure_groups`; of classifiers `labels`, the names of the classes, and
            `fixed_class`, that of them whose probability groups are compared by; of masked language
            models `top_k`, how many most probable words count as right.

    Yields:
        What `groups.measures.measure_groups` yields.
    """
    swapped = observations.select("case", "swapped_case").drop_nulls().unique(maintain_order=True)
    records = records_of_cases(observations, options)
    name = options.get("fixed_class")
    fixed = None if name is None else FixedClass(name, options["labels"].index(name))
    yield from measure_groups(
        records, options["measures"], options["failure_threshold"], swapped, fixed
    )


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `measures.yaml`."""
    asked = cell.observations.filter(~pl.col("part"))
    said = outputs_of(asked, cell.options)
    scores = said.probabilities if isinstance(said, ClassOutputs | TargetOutputs) else None
    word_scores = scores if isinstance(said, TargetOutputs) else None
    names = asked.select("bias_type", "group", name="term")
    yield from checks_of_cell(cell, CheckedAnswers(scores, word_scores, names=names))
    if isinstance(said, ClassOutputs):
        shares = confusion_matrix(said)
        yield balanced_accuracy(shares, asked["case"].n_unique())
        yield from exchanged_labels(shares, len(asked))


def confusion_matrix(said: ClassOutputs) -> FloatArray:
    """Returns how often each class is answered with each class.

    Returns:
        Shape (classes, classes): of the instances of the class of a row, the share that the model
        puts into that of the column; NaN in the rows of classes that no instance is of.
    """
    classes = said.probabilities.shape[1]
    places = said.gold * classes + said.probabilities.argmax(axis=1)
    counts = np.bincount(places, minlength=classes**2).reshape(classes, classes).astype(np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    return counts / np.where(totals == 0, np.nan, totals)


def balanced_accuracy(shares: FloatArray, cases: int) -> Check:
    """Returns the balanced accuracy, the mean over classes of how often each is found, with its
    interval.

    The interval is Wilson's (JASA 1927) of 95 %. It counts cases: the instances of a case are
    nearly the same text.

    Args:
        shares: from `confusion_matrix`.
        cases: how many cases there are.
    """
    return share_with_interval("accuracy", float(np.nanmean(shares.diagonal())), cases)


def exchanged_labels(shares: FloatArray, count: int) -> Iterator[Check]:
    """Yields by how much the balanced accuracy would grow if the two classes were exchanged for
    which it grows most.

    Args:
        shares: from `confusion_matrix`.
        count: of how many instances.
    """
    found = np.flatnonzero(~np.isnan(shares.diagonal()))
    gains = [
        shares[one, other] + shares[other, one] - shares[one, one] - shares[other, other]
        for one, other in combinations(found, 2)
    ]
    if gains:
        yield Check("exchanged_labels", float(max(gains)) / len(found), count)
