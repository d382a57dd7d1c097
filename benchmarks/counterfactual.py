"""Comparing groups in each of 5,000 cases (2 groups, 3 terms) by F1, against a loop that scores one pool at a time."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import combinations

import numpy as np
from sklearn.metrics import f1_score
from stopwatch import measure, print_table, seconds_of

from biasgrid.groups.measures import compare
from biasgrid.groups.records import ClassOutputs, Records
from biasgrid.groups.scores import score_records

CASES = {"columnar": 5000, "loop": 500}
GROUPS, TERMS = 2, 3


def make_records(cases: int) -> Records:
    random = np.random.default_rng(1)
    case, group, term = (axis.ravel() for axis in np.indices((cases, GROUPS, TERMS)))
    first = random.random(len(case))
    outputs = ClassOutputs(np.stack([first, 1 - first], axis=1), random.integers(0, 2, len(case)))
    names = [f"group {number}" for number in range(GROUPS)], [f"term {number}" for number in range(GROUPS * TERMS)]
    return Records(case, case // 50, np.zeros_like(case), group, group * TERMS + term, ["bias"], *names, outputs)


def columnar(records: Records) -> float:
    """The mean over cases of the pairwise difference."""
    table = compare(score_records(records, "f1", "macro"), "absolute", "pairwise", "counterfactual")
    return float(table["value"].item())


def loop(records: Records) -> float:
    """The same, pool by pool."""
    pools: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (case, group) in enumerate(zip(records.case, records.group, strict=True)):
        pools[case][group].append(row)
    assert isinstance(records.outputs, ClassOutputs)
    gold, predicted = records.outputs.gold, records.outputs.probabilities.argmax(axis=1)
    values = []
    for groups in pools.values():
        scores = [f1_score(gold[rows], predicted[rows], average="macro", zero_division=0) for rows in groups.values()]
        values.append(np.mean([abs(one - other) for one, other in combinations(scores, 2)]))
    return float(np.mean(values))


def timed(way: str) -> float:
    records = make_records(CASES[way])
    compute = columnar if way == "columnar" else loop
    compute(make_records(2))  # What is imported and compiled at the first call.
    return seconds_of(lambda: compute(records))


def main() -> None:
    few = make_records(CASES["loop"])
    assert abs(columnar(few) - loop(few)) < 1e-12
    rates, table = {}, []
    for way, cases in CASES.items():
        seconds, megabytes = measure(partial(timed, way))
        rates[way] = cases / seconds
        table.append([way, f"{cases:,}", f"{seconds:.4f}", f"{rates[way]:,.0f}", f"{megabytes:,.0f}"])
    for line in table:
        line.append(f"{rates[line[0]] / rates['loop']:.0f}")
    print_table(["way", "cases", "seconds", "cases/s", "peak MB", "ratio"], table)


if __name__ == "__main__":
    main()
