"""Times a piece of work in a process of its own, with its peak memory, and prints tables."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def _timed(send: Any, work: Callable[[], Any]) -> None:
    work_done = work()
    seconds = work_done if isinstance(work_done, float) else None
    send.send((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))


def measure(work: Callable[[], float]) -> tuple[float, float]:
    """Runs work that returns its own seconds in a fresh process; returns seconds and peak memory in MB."""
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
    """Returns how many seconds of the processor some work takes in this process, over all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_mb() -> float:
    """Returns the most memory of this process; what `resource` tells begins with that of the process before it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table in Markdown."""
    for row in [header, ["---"] * len(header), *rows]:
        print("| " + " | ".join(row) + " |", flush=True)
