"""What jobs cost beside their work: alone, as copies of a fork server, and in the demo before and
after a change.

    python benchmarks/starting.py OTHER

OTHER is a checkout to compare with. The demo runs in both in turn; its seconds of the processor,
which count Snakemake and all jobs, say more than those of the clock where the machine has other
work.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import psutil
from stopwatch import print_table, seconds_of

from biasgrid.jobs.fork_server import start_fork_server
from biasgrid.jobs.start import (
    FIGURE_MODULES,
    MODEL_MODULES,
    STATISTICS_MODULES,
    TABLE_MODULES,
    TRAINING_MODULES,
)

ROUNDS, REPEATS = 2, 3
HERE = Path(__file__).parents[1]
JOBS = {
    "measure": (TABLE_MODULES, "biasgrid.families.cell"),
    "statistics": (STATISTICS_MODULES, "biasgrid.families.estimates"),
    "plot": (FIGURE_MODULES, "biasgrid.report.figures.drawing.context"),
    "predict": (
        MODEL_MODULES,
        "biasgrid.inference.models.masked.back_end, transformers.models.bert.modeling_bert",
    ),
    "train": (TRAINING_MODULES, "biasgrid.training.train, transformers.models.bert.modeling_bert"),
}
"""What jobs import, and what of it the fork server has imported before."""
SCRIPT = """
from biasgrid.jobs.start import hand_over

hand_over({needs})
import {modules}
"""


def seconds_of_processor(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Returns the seconds of the processor of a command and all that it starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(run.stdout + run.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_of_copies(fork_server: psutil.Process) -> float:
    """Returns the seconds of the processor of a fork server and of its copies that have ended."""
    times = fork_server.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def print_starts() -> None:
    """Prints what imports and the end cost a job that starts by itself, and one that is a copy of a
    fork server.
    """
    start_fork_server()
    (fork_server,) = psutil.Process().children()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "job.py")
        for rule, (needs, modules) in JOBS.items():
            script.write_text(SCRIPT.format(needs=needs, modules=modules))
            command, alone = [sys.executable, str(script)], {"BIASGRID_FORK_SERVER": ""}
            by_itself = median(seconds_of_processor(command, HERE, alone) for _ in range(REPEATS))
            # The first copy waits until the fork server has imported what it needs.
            subprocess.run(command, check=True, capture_output=True)
            before = seconds_of_copies(fork_server)
            handing_over = median(seconds_of_processor(command, HERE, {}) for _ in range(REPEATS))
            copied = handing_over + (seconds_of_copies(fork_server) - before) / REPEATS
            rows.append(
                [f"`{rule}`", f"{by_itself:.2f}", f"{copied:.2f}", f"{copied / by_itself:.2f}"]
            )
            print(*rows[-1], file=sys.stderr)
    print_table(["imports and end of", "by itself, s", "as a copy, s", "ratio"], rows)


def print_demo(other: Path) -> None:
    """Prints how long the full demo takes in another checkout and in this one."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all"]
    command += ["--configfile", "config/demo-full.yaml"]
    taken: dict[Path, list[tuple[float, float]]] = {other: [], HERE: []}
    for _ in range(ROUNDS):
        for folder, runs in taken.items():
            shutil.rmtree(folder / "results/demo-full", ignore_errors=True)
            processor: list[float] = []
            environment = {"PYTHONPATH": str(folder / "src"), "BIASGRID_FORK_SERVER": ""}
            clock = seconds_of(
                lambda: processor.append(seconds_of_processor(command, folder, environment))
            )
            runs.append((clock, processor[0]))
    before, after = (
        [median(column) for column in zip(*runs, strict=True)] for runs in taken.values()
    )
    rows = [
        [
            what,
            f"{before[number]:.1f}",
            f"{after[number]:.1f}",
            f"{after[number] / before[number]:.2f}",
        ]
        for number, what in enumerate(["by the clock", "of the processor"])
    ]
    print_table(["the demo, seconds", "before", "after", "ratio"], rows)


def main() -> None:
    print_starts()
    if len(sys.argv) > 1:
        print_demo(Path(sys.argv[1]).absolute())


if __name__ == "__main__":
    main()
