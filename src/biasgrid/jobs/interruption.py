"""Jobs that end early: by a signal, or in SLURM for lack of memory or time.

Snakemake itself would wait for its jobs after SIGTERM, so they are ended here. Jobs in SLURM are
submitted again with more memory or time.
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
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import psutil

from biasgrid.jobs.slurm import watch_commands

SCRIPTS = "/.snakemake/scripts/"
"""The folder in which Snakemake keeps the scripts of jobs that run here."""
SECONDS_BETWEEN_SWEEPS = 0.5
SECONDS_TO_UNWIND = 10
"""The time in which a job may remove its temporary files before it is killed."""
SECONDS_UNTIL_LOGGED = 0.1
"""More time than it usually takes to write a log record."""
Shortage = Literal["memory", "time"]
LONGEST_LOG = 1 << 20
"""The number of bytes that are read of a log, from its end."""
SHORTAGE_SIGNS: dict[Shortage, re.Pattern[str]] = {
    # Messages of control groups, of a SLURM that polls processes, and of the job itself.
    "memory": re.compile(
        r"oom[-_]kill|exceeded (job |step )?memory limit"
        r"|\b(_Array)?MemoryError\b|Cannot allocate memory"
        # The words of `faults.out_of_memory`, except for the memory of a GPU, of which SLURM cannot
        # give more.
        r"|^out of memory(;| \((?!CUDA|HIP))",
        re.I | re.M,
    ),
    "time": re.compile("DUE TO TIME LIMIT"),
}
"""Signs in the log of a job in SLURM that it was short of a resource.

A SLURM without an accounting database forgets this soon, so only the log can say it.
"""

# State of the run for `restore_signals`: a notebook runs one config after another in one process.
_run_ended = threading.Event()
_earlier_handlers: dict[signal.Signals, Any] = {}


def end_jobs_at_signals(slurm_name: str | None) -> None:
    """Makes SIGTERM and Ctrl-C end this Snakemake together with all its jobs.

    So does a command of SLURM that vanishes.

    Args:
        slurm_name: the name of the jobs that it submits to SLURM, None if it submits none.
    """
    handler = partial(_end_jobs, slurm_name)
    _run_ended.clear()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        _earlier_handlers.setdefault(signal_number, signal.signal(signal_number, handler))
    if slurm_name is not None:
        watch_commands(_run_ended)


def _end_jobs(slurm_name: str | None, signal_number: int, frame: FrameType | None) -> None:
    """Handles SIGTERM and Ctrl-C: starts `sweep` and interrupts the main thread.

    Raises:
        KeyboardInterrupt: unless a log record is being written; then the signal is sent again soon.
    """
    # Snakemake's handler of log records swallows an interrupt that comes while it writes one, and
    # the run would continue.
    if is_logging(frame):
        threading.Timer(SECONDS_UNTIL_LOGGED, os.kill, (os.getpid(), signal_number)).start()
        return
    by_terminal = signal_number == signal.SIGINT
    # A second SIGTERM does nothing. Not SIG_IGN, which jobs that start now would inherit.
    again = signal.default_int_handler if by_terminal else lambda *_: None
    signal.signal(signal_number, again)
    # Ctrl-C has reached the jobs as well, except those that are just starting.
    patience = SECONDS_TO_UNWIND if by_terminal else 0
    # Not a daemon: this process stays until the sweep has ended all jobs.
    threading.Thread(target=sweep, args=(slurm_name, patience), daemon=False).start()
    raise KeyboardInterrupt


def restore_signals() -> None:
    """Restores the handlers of signals that were set before `end_jobs_at_signals`."""
    _run_ended.set()
    while _earlier_handlers:
        signal.signal(*_earlier_handlers.popitem())


def is_logging(frame: FrameType | None) -> bool:
    """Whether a frame is within the handling of a log record."""
    handling = logging.Handler.handle.__code__
    return any(caller.f_code is handling for caller, _ in traceback.walk_stack(frame))


def interrupt_at_sigterm() -> None:
    """Makes SIGTERM raise KeyboardInterrupt in this job, so that it removes its temporary files."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def sweep(slurm_name: str | None, patience: float) -> None:
    """Ends all jobs of this run, again and again, until the run is over and none is left.

    Jobs may be starting or being submitted just now. Runs in a thread of its own, which continues
    after the main thread has ended.

    Args:
        slurm_name: the name of the jobs in SLURM's queue, None if none is submitted.
        patience: the seconds in which a job may end by itself.
    """
    seen_at: dict[psutil.Process, float] = {}
    terminated_at: dict[psutil.Process, float] = {}
    while True:
        # Checked before the jobs are listed: afterwards the run could start one and end.
        nothing_starts = _run_ended.is_set() or not threading.main_thread().is_alive()
        jobs = list(local_jobs())
        for job in jobs:
            now = time.monotonic()
            with suppress(psutil.NoSuchProcess):
                if job in terminated_at:
                    if now - terminated_at[job] > SECONDS_TO_UNWIND:
                        job.kill()
                    continue
                first_seen = seen_at.setdefault(job, now)
                if now - first_seen >= patience:
                    terminated_at[job] = now
                    job.terminate()
        if slurm_name is not None:
            # Snakemake cancels only the jobs that it has finished submitting.
            # The command may have vanished, which ends a run, too.
            with suppress(FileNotFoundError):
                subprocess.run(["scancel", f"--name={slurm_name}"], check=False)
        if nothing_starts and not jobs:
            return
        time.sleep(SECONDS_BETWEEN_SWEEPS)


def local_jobs() -> Iterator[psutil.Process]:
    """Yields the processes of jobs that this Snakemake runs on this machine.

    For a job in the fork server this is the script that waits, which passes SIGTERM on to the copy
    that runs the job; the copy is killed when the script is (`ForkServer._pass_on`).
    """
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(SCRIPTS in argument for argument in process.cmdline()):
                yield process


def attempt_logs(folder: Path, wildcards: dict[str, str]) -> list[Path]:
    """Returns the logs of the attempts of a job, in no order.

    A job that was submitted in a group shares the log of the group, in which Snakemake notes that
    the job began.

    Args:
        folder: the folder of SLURM's logs.
        wildcards: the wildcards of the job, in their order in the rule.
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

    1, and 1 more for each attempt of this run that was short of it.

    Args:
        short_of: the resource.
        logs: the logs of the job's attempts, in any order, including those of earlier runs.
        attempt: the number of the next attempt of this run, from 1.
    """
    factor = 1
    attempts_made = attempt - 1
    by_age = sorted(logs, key=lambda log: log.stat().st_mtime)
    # Not `by_age[-attempts_made:]`, which for 0 would be all.
    of_this_run = by_age[max(0, len(by_age) - attempts_made) :]
    for log in of_this_run:
        with log.open("rb") as file:
            # How a job ended is at the end of its log.
            file.seek(max(0, log.stat().st_size - LONGEST_LOG))
            text = file.read().decode(errors="replace")
        if SHORTAGE_SIGNS[short_of].search(text):
            factor += 1
    return factor
