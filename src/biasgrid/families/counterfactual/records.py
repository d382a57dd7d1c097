"""Observations of cases as records of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.counterfactual.tasks import SORTS
from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Outputs, Records, TargetOutputs
from biasgrid.groups.tables import records_of


def records_of_cases(observations: pl.DataFrame, options: Mapping[str, Any]) -> Records:
    """Makes a record of each observation.

    Args:
        observations: from `observe`.
        options: see `measure.measure_cell`.
    """
    return records_of(observations, outputs_of(observations, options))


def outputs_of(said: pl.DataFrame, options: Mapping[str, Any]) -> Outputs:
    """Returns what was said, row by row.

    Args:
        said: of classifiers `probabilities` and `label`, of masked language models `probabilities`, `ranks` and
            `pieces`, of question answering `said` and `expected`.
        options: `task`, and of masked language models `top_k`, how many most probable words count as right.
    """
    sort = SORTS[options["task"]]
    if sort == "answers":
        return AnswerOutputs(*(said[name].cast(pl.String).to_list() for name in ("said", "expected")))
    probabilities = matrix(said["probabilities"])
    if sort == "classes":
        return ClassOutputs(probabilities, said["label"].cast(pl.Int64).to_numpy())
    # A word of several tokens is none of the most probable tokens, whatever the rank of its first one.
    in_top_k = (matrix(said["ranks"]) <= options["top_k"]) & (matrix(said["tokens"]) == 1)
    return TargetOutputs(probabilities, in_top_k)


def matrix(lists: pl.Series) -> FloatArray:
    """Returns lists of one length as rows; what is null is NaN."""
    rows: FloatArray = lists.cast(pl.List(pl.Float64)).list.to_array(len(lists[0])).to_numpy()
    return rows
