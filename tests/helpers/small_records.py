"""Small records of a model's answers to counterfactual cases, and what is measured of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.groups.measures import COMPARISON_TYPES, distance, failure_rate, score
from biasgrid.groups.records import ClassOutputs, Mode, Records
from biasgrid.groups.scores import ScoredRecords
from biasgrid.stats.sums import values_table


def records_of(rows: Sequence[dict[str, Any]], outputs: Any) -> Records:
    """Records of rows with case, template, bias_type, group and term, the last three by name."""

    def coded(key: str) -> tuple[np.ndarray, list[str]]:
        names = list(dict.fromkeys(row[key] for row in rows))
        return np.array([names.index(row[key]) for row in rows], dtype=np.int64), names

    numbers = (np.array([row[key] for row in rows], dtype=np.int64) for key in ("case", "template"))
    (bias_type, bias_types), (group, groups), (term, terms) = (coded(key) for key in ("bias_type", "group", "term"))
    return Records(*numbers, bias_type, group, term, bias_types, groups, terms, outputs)


def classified(groups: dict[str, list[list[float]]], gold: int = 1) -> Records:
    """Records of one bias type: of each group a list of cases, in each the probability of class 1 of two per term."""
    rows, probabilities = [], []
    for group, cases in groups.items():
        for case, numbers in enumerate(cases):
            for place, number in enumerate(numbers):
                keys = {"bias_type": "colour", "group": group, "term": f"{group} {place}"}
                rows.append({"case": case, "template": 0, **keys})
                probabilities.append([1 - number, number])
    return records_of(rows, ClassOutputs(np.array(probabilities), np.full(len(rows), gold)))


def score_groups(scored: ScoredRecords) -> pl.DataFrame:
    """The scores of bias types and of their groups, without intervals."""
    return values_table([score(scored)])


def compare_groups(scored: ScoredRecords, of: str, comparison: str, mode: Mode) -> pl.DataFrame:
    """The distances of bias types or of their groups, without intervals; those of single pairs are left out."""
    whole, *_ = distance(scored, of, comparison, mode)
    return values_table([whole]).select(*COMPARISON_TYPES)


def failure_rates(records: Records, thresholds: Sequence[float]) -> pl.DataFrame:
    """The failure rates of bias types and of their templates, without intervals."""
    return values_table(failure_rate(records, thresholds, thresholds[0]))
