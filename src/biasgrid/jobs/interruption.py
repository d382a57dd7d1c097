"""Jobs that end early: by SIGTERM, and for lack of memory or time in SLURM, after which they are submitted with more.

A Snakemake that gets SIGTERM waits until its jobs are done, so they are ended here.
"""

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
Shortage = Literal["memory", "time"]
LONGEST_LOG = 1 << 20
"""How many bytes of a log are read, from its end."""
SHORTAGE_SIGNS: dict[Shortage, re.Pattern[str]] = {
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


def end_jobs_at_sigterm(slurm_name: str | None) -> None:
    """Makes SIGTERM end this Snakemake as Ctrl-C on its terminal would, with all its jobs.

    Args:
        slurm_name: the name of the jobs that it submits to SLURM, None if it submits none.
    """

    def end(*_: object) -> None:
        # A second signal changes nothing; jobs that start now must not inherit that it is ignored.
        signal.signal(signal.SIGTERM, lambda *_: None)
        threading.Thread(target=sweep, args=(slurm_name,)).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def interrupt_at_sigterm() -> None:
    """Makes SIGTERM interrupt this job, so that it removes its temporary files before it ends."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def sweep(slurm_name: str | None) -> None:
    """Ends jobs for as long as this process ends, since some may just be starting or being submitted.

    Args:
        slurm_name: their name in SLURM's queue, None if none of them is there.
    """
    terminated: dict[psutil.Process, float] = {}
    while True:
        nothing_starts, jobs = not threading.main_thread().is_alive(), list(local_jobs())
        for job in jobs:
            with suppress(psutil.NoSuchProcess):
                if job not in terminated:
                    terminated[job] = time.monotonic()
                    job.terminate()
                elif time.monotonic() - terminated[job] > SECONDS_TO_UNWIND:
                    job.kill()
        if slurm_name is not None:
            # What is submitted while Snakemake cancels the jobs that it knows of is cancelled by nobody else.
            subprocess.run(["scancel", f"--name={slurm_name}"], check=False)
        if nothing_starts and not jobs:
            return
        time.sleep(SECONDS_BETWEEN_SWEEPS)


def local_jobs() -> Iterator[psutil.Process]:
    """Yields the processes of jobs that this Snakemake runs itself, not those by which it submits others."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(SCRIPTS in argument for argument in process.cmdline()):
                yield process


def resource_factor(short_of: Shortage, logs: Iterable[Path], attempt: int) -> int:
    """Returns the factor by which a job's memory or time is multiplied: 1, and 1 more for each time that it was short.

    Args:
        short_of: what is multiplied.
        logs: the logs of the job's attempts, including those of earlier runs.
        attempt: the number of the next attempt of this run, from 1.
    """
    if attempt == 1:
        return 1
    factor = 1
    for log in sorted(logs, key=lambda log: log.stat().st_mtime)[1 - attempt :]:
        with log.open("rb") as file:
            # How the job ended stands at the end.
            file.seek(max(0, log.stat().st_size - LONGEST_LOG))
            factor += bool(SHORTAGE_SIGNS[short_of].search(file.read().decode(errors="replace")))
    return factor
