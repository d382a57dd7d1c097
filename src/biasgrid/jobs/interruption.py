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
"""The folder in which Snakemake keeps the scripts of jobs that run here."""
SECONDS_BETWEEN_SWEEPS = 0.5
SECONDS_TO_UNWIND = 10
"""Time that a job may take to remove its temporary files."""
SECONDS_UNTIL_LOGGED = 0.1
"""Time that writing a log record takes at most, about."""
Shortage = Literal["memory", "time"]
LONGEST_LOG = 1 << 20
"""Number of bytes of a log that are read, from its end."""
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
"""Signs in the log of a job in SLURM that it was short of a resource.

Without a database of accounts nobody else remembers for long.
"""

_run_ended = threading.Event()
_handlers_before: dict[signal.Signals, Any] = {}


def end_jobs_at_signals(slurm_name: str | None) -> None:
    """Makes SIGTERM end this Snakemake with all its jobs, as Ctrl-C would, and Ctrl-C always.

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
        # A terminal has told the jobs as well, except those that are just starting.
        patience = SECONDS_TO_UNWIND if by_terminal else 0
        threading.Thread(target=sweep, args=(slurm_name, patience)).start()
        raise KeyboardInterrupt

    _run_ended.clear()
    for number in (signal.SIGTERM, signal.SIGINT):
        _handlers_before.setdefault(number, signal.signal(number, end))


def restore_signals() -> None:
    """Restores the handlers of signals before the run; in a notebook the process goes on."""
    _run_ended.set()
    while _handlers_before:
        signal.signal(*_handlers_before.popitem())


def is_logging(frame: FrameType | None) -> bool:
    """Whether a frame is within the handling of a log record."""
    handling = logging.Handler.handle.__code__
    return any(caller.f_code is handling for caller, _ in traceback.walk_stack(frame))


def interrupt_at_sigterm() -> None:
    """Makes SIGTERM interrupt this job, so that it removes its temporary files before it ends."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def sweep(slurm_name: str | None, patience: float) -> None:
    """Ends jobs until this process ends, since some may just be starting or being submitted.

    Args:
        slurm_name: their name in SLURM's queue, None if none of them is there.
        patience: seconds in which a job may end by itself.
    """
    seen: dict[psutil.Process, float] = {}
    terminated: dict[psutil.Process, float] = {}
    while True:
        # Asked before the jobs are listed, so that none can start in between.
        nothing_starts = _run_ended.is_set() or not threading.main_thread().is_alive()
        jobs = list(local_jobs())
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
            # Jobs that are submitted while Snakemake cancels those that it knows of are cancelled
            # by nobody else.
            subprocess.run(["scancel", f"--name={slurm_name}"], check=False)
        if nothing_starts and not jobs:
            return
        time.sleep(SECONDS_BETWEEN_SWEEPS)


def local_jobs() -> Iterator[psutil.Process]:
    """Yields the processes of jobs that this Snakemake runs itself, without submitted ones."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(SCRIPTS in argument for argument in process.cmdline()):
                yield process


def logs_of_job(folder: Path, wildcards: dict[str, str]) -> list[Path]:
    """Returns the logs of a job's attempts, whether it was submitted alone or in a group.

    A group has one log; a job of it has had an attempt if Snakemake wrote there that the job began.

    Args:
        folder: the folder of SLURM's logs.
        wildcards: the wildcards of the job.
    """
    logs = list(folder.glob(f"rule_*/{'_'.join(wildcards.values())}/*.log"))
    text = ", ".join(f"{key}={value}" for key, value in wildcards.items())
    beginning = re.compile(rf"^ +wildcards: {re.escape(text)}$", re.M)
    for log in folder.glob("group_*/*.log"):
        if beginning.search(log.read_text(errors="replace")):
            logs.append(log)
    return logs


def resource_factor(short_of: Shortage, logs: Iterable[Path], attempt: int) -> int:
    """Returns the factor by which a job's memory or time is multiplied.

    It is 1, and 1 more for each time that the job was short of it.

    Args:
        short_of: the resource.
        logs: the logs of the job's attempts, including those of earlier runs.
        attempt: the number of the next attempt of this run, from 1.
    """
    if attempt == 1:
        return 1
    factor = 1
    by_age = sorted(logs, key=lambda log: log.stat().st_mtime)
    attempts_of_this_run = by_age[1 - attempt :]
    for log in attempts_of_this_run:
        with log.open("rb") as file:
            # The end of a log tells how the job ended.
            file.seek(max(0, log.stat().st_size - LONGEST_LOG))
            text = file.read().decode(errors="replace")
        if SHORTAGE_SIGNS[short_of].search(text):
            factor += 1
    return factor
