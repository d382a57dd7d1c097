"""Times a piece of work in a process of its own, with its peak memory, and prints and keeps
tables.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"
"""What each script printed when it last ran; `make figures` copies it into docs/benchmarks.md."""
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile")
"""Those on which the speed of matrix products depends, as Linux names them."""
_tables: dict[str, list[str]] = {}


def _timed(send: Any, work: Callable[[], Any]) -> None:
    work_done = work()
    seconds = work_done if isinstance(work_done, float) else None
    send.send((seconds, peak_mb()))


def measure(work: Callable[[], float]) -> tuple[float, float]:
    """Runs work that returns its own seconds in a fresh process; returns seconds and peak memory in
    MB.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_timed, args=(send, work))
    process.start()
    seconds, megabytes = receive.recv()
    process.join()
    return seconds, megabytes


def seconds_of(work: Callable[[], Any]) -> float:
    """Returns how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def processor_seconds_of(work: Callable[[], Any]) -> float:
    """Returns how many seconds of the processor some work takes in this process, over all
    threads.
    """
    start = time.process_time()
    work()
    return time.process_time() - start


def medians_in_turns(
    ways: Mapping[str, Callable[[], Sequence[float]]], rounds: int, uncounted: int = 0
) -> dict[str, list[float]]:
    """Runs some ways of the same work in turns; returns of each the medians of the numbers that it
    returns.

    Args:
        ways: what to run, by its name.
        rounds: how many turns count.
        uncounted: how many turns go before these.
    """
    taken: dict[str, list[Sequence[float]]] = {name: [] for name in ways}
    for _ in range(uncounted + rounds):
        for name, way in ways.items():
            taken[name].append(way())
            print(name, *taken[name][-1], file=sys.stderr, flush=True)
    return {
        name: [median(numbers) for numbers in zip(*runs[uncounted:], strict=True)]
        for name, runs in taken.items()
    }


def processor() -> str:
    """Names the processor by its model and its instructions for matrix products, as Linux lists
    them.
    """
    facts = dict(
        re.findall(r"^(.+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    )
    flags = [name for name in INSTRUCTIONS if name in facts["flags"].split()]
    model = f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"
    return f"{model} ({', '.join(flags)}), {os.cpu_count()} cores"


def peak_mb() -> float:
    """Returns the most memory of this process; what `resource` tells begins with that of the
    process before it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], part: str = "") -> None:
    """Prints a table in Markdown, and keeps all tables of the script with the processor that they
    were measured on.

    Args:
        header: the names of its columns.
        rows: its rows.
        part: a part of the script that can be run alone and keeps its tables in a file of its own.
    """
    name = "_".join(filter(None, [Path(sys.argv[0]).stem, part]))
    tables = _tables.setdefault(name, [])
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    measured = f"Measured on an {processor()}, load {os.getloadavg()[0]:.0f}."
    print(*([] if tables else [measured, ""]), *lines, sep="\n", flush=True)
    tables.append("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([measured, *tables])
    (RESULTS / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")


def print_growth(sizes: Sequence[str], found: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    """Prints how memory grows with the size of a dataset.

    Args:
        sizes: what each size is called.
        found: for each stage, `peak_mb` and `seconds` of the processor at each size.
    """
    rows = [
        [
            name,
            *(f"{run['peak_mb']:,.0f} MB, {run['seconds']:.1f} s" for run in runs),
            f"{runs[-1]['peak_mb'] / runs[0]['peak_mb']:.2f}",
        ]
        for name, runs in found.items()
    ]
    print_table(["most memory, seconds of the processor", *sizes, "memory, ratio"], rows)
