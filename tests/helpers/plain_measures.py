"""Group comparisons in the plainest way: a loop over units and groups, with scikit-learn's and scipy's numbers."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance
from sklearn.metrics import f1_score, precision_score, recall_score

from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Records, TargetOutputs
from biasgrid.groups.scores import Argument, exact_match, token_f1

SKLEARN = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
RATES: dict[str, Callable[[bool, bool], tuple[bool, bool]]] = {
    "false_negative_rate": lambda right, predicted: (right, not predicted),
    "false_positive_rate": lambda right, predicted: (not right, predicted),
    "false_discovery_rate": lambda right, predicted: (predicted, not right),
    "false_omission_rate": lambda right, predicted: (not predicted, right),
    "predicted_prevalence": lambda right, predicted: (True, predicted),
}
"""Whether a record counts in a rate, and whether it is a hit."""
Found = dict[tuple[str, str | None], tuple[float, int, int]]


def numbers_of(outputs: Any, row: int, score: str, argument: Argument) -> Any:
    """What a score needs of one record: its number (NaN where there is none), or its two labels."""
    if isinstance(outputs, ClassOutputs):
        probabilities, gold = outputs.probabilities[row].tolist(), int(outputs.gold[row])
        if "class_probability" in score:
            return probabilities[gold if argument is None else int(argument)]
        predicted = probabilities.index(max(probabilities))
        if score in RATES:
            is_counted, is_hit = RATES[score](gold == argument, predicted == argument)
            return float(is_hit) if is_counted else float("nan")
        return float(predicted == gold) if score == "accuracy" else (gold, predicted)
    if isinstance(outputs, TargetOutputs):
        targets = [float(number) for number in outputs.probabilities[row] if not np.isnan(number)]
        if score == "top_k_accuracy":
            return float(any(outputs.in_top_k[row]))
        if argument is not None:
            return targets[int(argument)] if int(argument) < len(targets) else float("nan")
        return float(np.mean(targets))
    of_texts = token_f1 if "token_f1" in score else exact_match
    assert isinstance(outputs, AnswerOutputs)
    return of_texts(outputs.answers[row], outputs.gold[row])


def phi(score: str, argument: Argument, numbers: list[Any]) -> Any:
    """The score of a pool: a number, or for set scores a list."""
    if score in SKLEARN:
        gold, predicted = zip(*numbers, strict=True)
        with warnings.catch_warnings(action="ignore"):
            return float(SKLEARN[score](gold, predicted, average=argument, zero_division=0))
    if score in ("class_probability", "likelihood", "token_f1", "exact_match"):
        return numbers
    return float(np.mean(numbers))


def apart(distance: str, one: Any, other: Any) -> float:
    if distance == "wasserstein":
        return float(wasserstein_distance(one, other))
    if distance == "ratio":
        return min(one, other) / max(one, other) if max(one, other) else float("nan")
    return float(abs(one - other))


def mean_of_known(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def unit_values(
    score: str, argument: Argument, distance: str, comparison: str, pools: dict[int, list[Any]]
) -> dict[int | None, float]:
    """The comparison of the groups of one unit, by group or under None; NaN where there is none to make."""
    groups = {group: phi(score, argument, numbers) for group, numbers in pools.items()}
    whole = phi(score, argument, [number for numbers in pools.values() for number in numbers]) if pools else None
    per_group = comparison.endswith("per_group")
    if len(groups) < 2:
        return dict.fromkeys(groups, np.nan) if per_group else {None: np.nan}
    if comparison == "pairwise":
        return {None: mean_of_known(apart(distance, *pair) for pair in combinations(groups.values(), 2))}
    if comparison.startswith("background"):
        by_group = {group: apart(distance, whole, value) for group, value in groups.items()}
        return by_group if per_group else {None: mean_of_known(by_group.values())}
    if sum(groups.values()) == 0:
        return dict.fromkeys(groups, np.nan) if per_group else {None: np.nan}
    shares = {group: value / sum(groups.values()) for group, value in groups.items()}
    by_group = {group: abs(share - 1 / len(groups)) for group, share in shares.items()}
    largest = 1 - 1 / len(groups) if distance == "normalized_divergence" else 1
    return by_group if per_group else {None: sum(by_group.values()) / 2 / largest}


def plain_comparison(
    records: Records, score: str, argument: Argument, distance: str, comparison: str, mode: str
) -> Found:
    """Value, n and left_out by names of bias type and group."""
    rows: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (bias_type, case) in enumerate(zip(records.bias_type, records.case, strict=True)):
        rows[int(bias_type)][0 if mode == "group" else int(case)].append(row)
    found: Found = {}
    for bias_type, units in rows.items():
        values: dict[int | None, list[tuple[float, int, int]]] = defaultdict(list)
        for of_unit in units.values():
            for group, entry in entries(records, score, argument, distance, comparison, mode, of_unit):
                values[group].append(entry)
        for group, listed in values.items():
            used = [entry for entry in listed if not np.isnan(entry[0])]
            n = sum(entry[1] for entry in used)
            left_out = sum(entry[2] for entry in listed) - n
            name = None if group is None else records.groups[group]
            value = float(np.mean([entry[0] for entry in used])) if used else float("nan")
            found[records.bias_types[bias_type], name] = value, n, left_out
    return found


def entries(
    records: Records, score: str, argument: Argument, distance: str, comparison: str, mode: str, rows: list[int]
) -> Iterator[tuple[int | None, tuple[float, int, int]]]:
    """A unit's values by group (or None), each with how many records or cases have a value, and how many there are."""
    all_of_it: dict[int, int] = defaultdict(int)
    pools: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        group, numbers = int(records.group[row]), numbers_of(records.outputs, row, score, argument)
        all_of_it[group] += 1
        if isinstance(numbers, tuple) or not np.isnan(numbers):
            pools[group].append(numbers)
    values = unit_values(score, argument, distance, comparison, pools)
    for group in all_of_it if comparison.endswith("per_group") else [None]:
        there = sum(all_of_it.values()) if group is None else all_of_it[group]
        with_value = sum(map(len, pools.values())) if group is None else len(pools[group])
        counts = (with_value, there) if mode == "group" else (min(with_value, 1), 1)
        yield group, (values.get(group, np.nan), *counts)
