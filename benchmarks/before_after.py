"""The data path of full cells before and after a change, in one run: two checkouts take turns, each in fresh processes.

    python benchmarks/before_after.py OTHER

OTHER is a checkout to compare with. A ratio is that of the seconds of the processor, the median over rounds, so
that other work on the machine, which slows down both of a round, counts little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
from biasgrid.families.underspecified.declared import FLAGS, MEASURES
from biasgrid.families.underspecified.expand import expand
from biasgrid.groups.measure import measure_groups
from biasgrid.groups.records import ClassOutputs, Records, SubjectOutputs
from biasgrid.tables.measure import Declared

folder, random = Path(sys.argv[1]), np.random.default_rng(1)
instances, predictions = folder / "instances.parquet", folder / "predictions.parquet"

def cell():
    options = {"task": "question-answering", "scoring": "exact", "measures": []}
    declared = Declared.of({**MEASURES, **FLAGS})
    family = "biasgrid.families.underspecified"
    return lambda: measure_cell(family, instances, [predictions], "span", options, declared, "random", "gender")

def read():
    return lambda: [pl.read_parquet(path) for path in (instances, predictions)]

def expansion():
    lists = gender()
    return lambda: write(expand(lists), folder / "expanded.parquet")

def bare_write():
    frame = pl.read_parquet(instances)
    return lambda: frame.write_parquet(folder / "bare.parquet")

def records(cases, groups, terms, outputs):
    case, group, term = (axis.ravel() for axis in np.indices((cases, groups, terms)))
    names = [str(number) for number in range(groups)], [str(number) for number in range(groups * terms)]
    said = outputs(len(case))
    return Records(case, case // 50, np.zeros_like(case), group, group * terms + term, ["bias"], *names, said)

def distances():
    of_subjects = records(560, 140, 1, lambda count: SubjectOutputs(random.random((count, 1))))
    asked = {"score": "likelihood", "argument": None, "distance": "wasserstein", "comparison": "pairwise"}
    return lambda: measure_groups(of_subjects, [asked], 0.1)

def comparisons():
    def classes(count):
        first = random.random(count)
        return ClassOutputs(np.stack([first, 1 - first], axis=1), random.integers(0, 2, count))
    of_cases = records(5000, 10, 3, classes)
    measure_groups(records(2, 10, 3, classes), None, 0.1)
    return lambda: measure_groups(of_cases, None, 0.1)

work = globals()[sys.argv[2]]()
start, processor = time.perf_counter(), time.process_time()
work()
seconds = time.perf_counter() - start, time.process_time() - processor
print(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""
WORK = {
    "expansion": "full gender expansion to its file",
    "bare_write": "bare write of that file",
    "cell": "full gender cell, from files to measures",
    "read": "bare reading of its tables",
    "distances": "pairwise distances of 140 subjects",
    "comparisons": "all comparisons, 5,000 cases, 10 groups of 3 terms",
}
BARE = ("bare_write", "read")


def run(checkout: Path, script: str, *arguments: str) -> list[float]:
    """Runs a script with the package of a checkout in a fresh process; returns the numbers that it prints."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    line = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(line, cwd=HERE, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    other = Path(sys.argv[1]).resolve()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folders = {checkout: str(Path(name, which)) for which, checkout in (("before", other), ("after", HERE))}
        for checkout, folder in folders.items():
            Path(folder).mkdir()
            run(checkout, PREPARE, folder)
        for work, title in WORK.items():
            found = [
                [run(checkout, START, folder, work) for checkout, folder in folders.items()] for _ in range(ROUNDS)
            ]
            before, after = ([median(each[side][kind] for each in found) for kind in range(3)] for side in (0, 1))
            ratio = median(one[1][1] / one[0][1] for one in found)
            shown = "" if work in BARE else f"{ratio:.2f}"
            rows.append([title, *(f"{one[0]:.2f} ({one[1]:.2f})" for one in (before, after)), shown])
            rows[-1] += [f"{before[2]:,.0f}", f"{after[2]:,.0f}"]
            print(*rows[-1], sep=", ", file=sys.stderr, flush=True)
    header = ["what", "before: s (of the processor)", "after: s (of the processor)", "after / before"]
    print_table([*header, "peak MB before", "after"], rows)


if __name__ == "__main__":
    main()
