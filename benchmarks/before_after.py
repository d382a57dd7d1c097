"""The data path of full cells, and what reading and writing alone take; with another checkout both
take turns.

    python benchmarks/before_after.py [OTHER]

Seconds are those of the processor: the fastest of three in a process, the median over rounds of
processes, so that other work on the machine counts little. Memory is the peak after the first time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from stopwatch import print_table

ROUNDS = 3
HERE = Path(__file__).parents[1]
PREPARE = """
import sys
sys.path.insert(0, "benchmarks")
from pathlib import Path
from measures import make_cell
make_cell(Path(sys.argv[1]))
"""
START = """
import sys
sys.path.insert(0, "benchmarks")
import resource, time
from pathlib import Path
import numpy as np
import polars as pl
from expansion import gender, write
from biasgrid.families.cell import measure_cell
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.ask import expand
from biasgrid.groups.measures import measure_groups
from biasgrid.groups.records import ClassOutputs, Records, SubjectOutputs

folder, random = Path(sys.argv[1]), np.random.default_rng(1)
instances, predictions = folder / "instances.parquet", folder / "predictions.parquet"

def cell():
    options = {"task": "question-answering", "scoring": "exact", "measures": []}
    declared = list(DEFINITIONS.of("measures", "flags"))
    family = "biasgrid.families.underspecified"
    return lambda: measure_cell(family, instances, [predictions], "span", options, declared, "random", "gender")

def read():
    return lambda: [pl.read_parquet(path) for path in (instances, predictions)]

def needed():
    from biasgrid.families.underspecified.observe import READ, SAID
    tables = (instances, READ), (predictions, SAID)
    chosen = [(path, [each for each in columns if each in pl.read_parquet_schema(path)]) for path, columns in tables]
    return lambda: [pl.read_parquet(path, columns=columns) for path, columns in chosen]

def expansion():
    lists = gender()
    return lambda: write(expand(lists), folder / "expanded.parquet")

def bare_write():
    cluster = pl.read_parquet(instances)
    return lambda: cluster.write_parquet(folder / "bare.parquet")

def records(cases, groups, terms, outputs):
    case, group, term = (axis.ravel() for axis in np.indices((cases, groups, terms)))
    names = [str(number) for number in range(groups)], [str(number) for number in range(groups * terms)]
    said = outputs(len(case))
    return Records(case, case // 50, np.zeros_like(case), group, group * terms + term, ["bias"], *names, said)

def distances():
    of_subjects = records(560, 140, 1, lambda count: SubjectOutputs(random.random((count, 1))))
    asked = {"score": "likelihood", "argument": None, "distance": "wasserstein", "comparison": "pairwise"}
    return lambda: list(measure_groups(of_subjects, [asked], 0.1))

def comparisons():
    def classes(count):
        first = random.random(count)
        return ClassOutputs(np.stack([first, 1 - first], axis=1), random.integers(0, 2, count))
    of_cases = records(5000, 10, 3, classes)
    list(measure_groups(records(2, 10, 3, classes), None, 0.1))
    return lambda: list(measure_groups(of_cases, None, 0.1))

work, seconds, peak = globals()[sys.argv[2]](), [], None
for _ in range(3):
    start = time.process_time()
    work()
    seconds.append(time.process_time() - start)
    peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(min(seconds), peak)
"""
WORK = {
    "expansion": "full gender expansion to its file",
    "bare_write": "bare write of that file",
    "cell": "full gender cell, from files to sums",
    "needed": "bare reading of the columns that it needs",
    "read": "bare reading of its tables",
    "distances": "pairwise distances of 140 subjects",
    "comparisons": "all comparisons, 5,000 cases, 10 groups of 3 terms",
}
BARE = {"expansion": "bare_write", "cell": "needed"}
"""What would be done in any case."""


def run(checkout: Path, script: str, *arguments: str) -> list[float]:
    """Runs a script with the package of a checkout in a fresh process; returns the numbers that it
    prints.
    """
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    line = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(
        line, cwd=HERE, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    checkouts = {"now": HERE} | (
        {"other": Path(sys.argv[1]).resolve()} if len(sys.argv) > 1 else {}
    )
    found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        for which, checkout in checkouts.items():
            Path(name, which).mkdir()
            run(checkout, PREPARE, str(Path(name, which)))
        for work in [*WORK] * ROUNDS:
            for which, checkout in checkouts.items():
                found[which, work].append(run(checkout, START, str(Path(name, which)), work))
                print(work, which, *found[which, work][-1], file=sys.stderr, flush=True)
    medians = {
        key: [median(column) for column in zip(*runs, strict=True)] for key, runs in found.items()
    }
    rows = []
    for work, title in WORK.items():
        for which in checkouts:
            seconds, peak = medians[which, work]
            bare = f"{seconds / medians[which, BARE[work]][0]:.2f}" if work in BARE else ""
            ratio = f"{seconds / medians['now', work][0]:.2f}"
            rows.append([title, which, f"{seconds:.2f}", ratio, bare, f"{peak:,.0f}"])
    print_table(["what", "checkout", "seconds", "times now", "times the bare", "peak MB"], rows)


if __name__ == "__main__":
    main()
