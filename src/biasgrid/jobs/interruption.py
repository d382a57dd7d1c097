"""Jobs that end early: by a signal, and for lack of memory or time in SLURM, after which they are
submitted with more.

A Snakemake that gets SIGTERM waits until its jobs are done, so they are ended here.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import psutil

SCRIPTS = "/.snakemake/scripts/"
"""Where Snakemake keeps the scripts of jobs that run here."""
SECONDS_BETWEEN_SWEEPS = 0.5
SECONDS_TO_UNWIND = 10
"""How long a job may take to remove its temporary files."""
SECONDS_UNTIL_LOGGED = 0.1
"""How long writing a log record takes at most, about."""
Shortage = Literal["memory", "time"]
LONGEST_LOG = 1 << 20
"""How many bytes of a log are read, from its end."""
SHORTAGE_SIGNS: dict[Shortage, re.Pattern[str]] = {
    # Of control groups, of a SLURM that looks at processes now and then, and of the job itself.
    "memory": re.compile(
        r"oom[-_]kill|exceeded (job |step )?memory limit"
        r"|\b(_Array)?MemoryError\b|Cannot allocate memory"
        # As `faults.out_of_memory` words it, unless it is the memory of a GPU, of which SLURM has
        # no more to give.
        r"|^out of memory(;| \((?!CUDA|HIP))",
        re.I | re.M,
    ),
    "time": re.compile("DUE TO TIME LIMIT"),
}
"""What the log of a job in SLURM says of it; without a database of accounts nobody else remembers
for long.
"""

_run_ended = threading.Event()
_handlers_before: dict[signal.Signals, Any] = {}


def end_jobs_at_signals(slurm_name: str | None) -> None:
    """Makes SIGTERM end this Snakemake as Ctrl-C on its terminal would, with all its jobs, and
    Ctrl-C end it always.

    Args:
        slurm_name: the name of the jobs that it submits to SLURM, None if it submits none.
    """

    def end(number: int, frame: FrameType | None) -> None:
        # Snakemake's handler of log records drops an interrupt that comes while it writes one; the
        # run would go on.
        if is_logging(frame):
            threading.Timer(SECONDS_UNTIL_LOGGED, os.kill, (os.getpid(), number)).start()
            return
        by_terminal = number == signal.SIGINT
        # A second SIGTERM changes nothing; jobs that start now must not inherit that it is ignored.
        signal.signal(number, signal.default_int_handler if by_terminal else lambda *_: None)
        # A terminal has told the jobs as well, but for those that just start.
        patience = SECONDS_TO_UNWIND if by_terminal else 0
        threading.Thread(target=sweep, args=(slurm_name, patience)).start()
        raise KeyboardInterrupt

    _run_ended.clear()
    for number in (signal.SIGTERM, signal.SIGINT):
        _handlers_before.setdefault(number, signal.signal(number, end))


def restore_signals() -> None:
    """Puts back what signals did before the run; in a notebook the process goes on."""
    _run_ended.set()
    while _handlers_before:
        signal.signal(*_handlers_before.popitem())


def is_logging(frame: FrameType | None) -> bool:
    """Says whether a frame is within the handling of a log record."""
    return any(
        each.f_code is logging.Handler.handle.__code__ for each, _ in traceback.walk_stack(frame)
    )


def interrupt_at_sigterm() -> None:
    """Makes SIGTERM interrupt this job, so that it removes its temporary files before it ends."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def sweep(slurm_name: str | None, patience: float) -> None:
    """Ends jobs for as long as this process ends, since some may just be starting or being
    submitted.

    Args:
        slurm_name: their name in SLURM's queue, None if none of them is there.
        patience: seconds in which a job may end by itself.
    """
    seen: dict[psutil.Process, float] = {}
    terminated: dict[psutil.Process, float] = {}
    while True:
        nothing_starts, jobs = (
            _run_ended.is_set() or not threading.main_thread().is_alive(),
            list(local_jobs()),
        )
        for job in jobs:
            now = time.monotonic()
            with suppress(psutil.NoSuchProcess):
                if job in terminated:
                    if now - terminated[job] > SECONDS_TO_UNWIND:
                        job.kill()
                elif now - seen.setdefault(job, now) >= patience:
                    terminated[job] = now
                    job.terminate()
        if slurm_name is not None:
            # What is submitted while Snakemake cancels the jobs that it knows of is cancelled by
            # nobody else.
            subprocess.run(["scancel", f"--name={slurm_name}"], check=False)
        if nothing_starts and not jobs:
            return
        time.sleep(SECONDS_BETWEEN_SWEEPS)


def local_jobs() -> Iterator[psutil.Process]:
    """Yields the processes of jobs that this Snakemake runs itself, not those by which it submits
    others.
    """
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(SCRIPTS in argument for argument in process.cmdline()):
                yield process


def logs_of_job(folder: Path, wildcards: dict[str, str]) -> list[Path]:
    """Returns the logs of a job's attempts in the folder of SLURM's logs, whether it was submitted
    alone or in a group.

    A group has one log; a job of it has had an attempt where Snakemake wrote there that the job
    began.
    """
    alone = folder.glob(f"rule_*/{'_'.join(wildcards.values())}/*.log")
    begun = re.compile(
        r"^ +wildcards: "
        rf"{re.escape(', '.join(f'{key}={value}' for key, value in wildcards.items()))}$",
        re.M,
    )
    in_groups = [
        log for log in folder.glob("group_*/*.log") if begun.search(log.read_text(errors="replace"))
    ]
    return [*alone, *in_groups]


def resource_factor(short_of: Shortage, logs: Iterable[Path], attempt: int) -> int:
    """Returns the factor by which a job's memory or time is multiplied: 1, and 1 more for each time
    that it was short.

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
