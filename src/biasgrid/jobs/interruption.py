"""Ends the jobs of a run whose Snakemake is told to end by SIGTERM: left to itself it waits until they are done."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import psutil

SCRIPTS = "/.snakemake/scripts/"
"""Where Snakemake keeps the scripts of jobs that run here."""
SECONDS_BETWEEN_SWEEPS = 0.5
SECONDS_TO_UNWIND = 10
"""How long a job may take to remove its temporary files."""


def end_jobs_at_sigterm(slurm_name: str | None) -> None:
    """Makes SIGTERM end this Snakemake as Ctrl-C on its terminal would, with all its jobs.

    Args:
        slurm_name: what the jobs are called that it submits to SLURM, None where it submits none.
    """

    def end(*_: object) -> None:
        # Those who are told twice are ending already; jobs that start now must not inherit that they ignore it.
        signal.signal(signal.SIGTERM, lambda *_: None)
        threading.Thread(target=sweep, args=(slurm_name,)).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def interrupted_by_sigterm() -> None:
    """Makes SIGTERM interrupt this job, so that it removes its temporary files before it ends."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def sweep(slurm_name: str | None) -> None:
    """Ends jobs for as long as this process ends, since some may just be starting or being submitted.

    Args:
        slurm_name: what they are called in SLURM's queue, None where none of them is there.
    """
    told: dict[psutil.Process, float] = {}
    while True:
        nothing_starts, jobs = not threading.main_thread().is_alive(), list(local_jobs())
        for job in jobs:
            with suppress(psutil.NoSuchProcess):
                end_job(job, told)
        if slurm_name is not None:
            # What is submitted while Snakemake cancels the jobs that it knows of is cancelled by nobody else.
            subprocess.run(["scancel", f"--name={slurm_name}"], check=False)
        if nothing_starts and not jobs:
            return
        time.sleep(SECONDS_BETWEEN_SWEEPS)


def end_job(job: psutil.Process, told: dict[psutil.Process, float]) -> None:
    """Tells a job to end, and ends it where it was told some time ago.

    Args:
        job: the job's process.
        told: when each process was told, by the monotonic clock; a first time is added.
    """
    if job not in told:
        told[job] = time.monotonic()
        job.terminate()
    elif time.monotonic() - told[job] > SECONDS_TO_UNWIND:
        job.kill()


def local_jobs() -> Iterator[psutil.Process]:
    """Yields the processes of jobs that this Snakemake runs itself, not those by which it submits others."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(SCRIPTS in argument for argument in process.cmdline()):
                yield process


Shortage = Literal["memory", "time"]
LONGEST_LOG = 1 << 20
"""How many bytes of a log are read, from its end."""

SIGNS: dict[Shortage, re.Pattern[str]] = {
    # Of control groups, of a SLURM that looks at processes now and then, and of the job itself.
    "memory": re.compile(
        r"oom[-_]kill|exceeded (job |step )?memory limit|\b(_Array)?MemoryError\b|Cannot allocate memory"
        # As `faults.out_of_memory` words it, unless it is the memory of a GPU, of which SLURM has no more to give.
        r"|^out of memory(;| \((?!CUDA|HIP))",
        re.I | re.M,
    ),
    "time": re.compile("DUE TO TIME LIMIT"),
}
"""What the log of a job in SLURM says of it; without a database of accounts nobody else remembers for long."""


def tries(short_of: Shortage, logs: Iterable[Path], attempt: int) -> int:
    """Returns by how much a job's memory or time is to be multiplied: 1, and 1 more for each time that it was short.

    Args:
        short_of: what is to be multiplied.
        logs: the logs of the job's attempts, those of earlier runs among them.
        attempt: which attempt of this run is to come, from 1.
    """
    if attempt == 1:
        return 1
    written = sorted(logs, key=lambda log: log.stat().st_mtime)
    return 1 + sum(bool(SIGNS[short_of].search(end_of(log))) for log in written[1 - attempt :])


def end_of(log: Path) -> str:
    """Returns the last part of a log, which says how the job has ended."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LONGEST_LOG))
        return file.read().decode(errors="replace")
