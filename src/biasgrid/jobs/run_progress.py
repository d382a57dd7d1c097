"""The progress of a run while Snakemake is at work: its stages, its jobs, and the rows that models
have answered.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

STAGES = {
    "synthetic": "writes texts with a known bias",
    "train": "trains models",
    "fetch": "inspects the model",
    "capabilities": "tests what the server can do",
    "expand": "writes the questions",
    "predict": "asks the model",
    "measure": "measures",
    "statistics": "computes intervals",
    "compare": "compares models",
    "plot": "draws",
    "report": "writes the report",
}
"""The stages, by the beginnings of the names of their rules, in their order."""
ANSWERS = STAGES["predict"]
PROGRESS = "BIASGRID_PROGRESS"
"""The environment variable that holds the seconds between two lines, 0 for none, or
`FOR_PROGRAMS`.
"""
FOR_PROGRAMS = "json"
"""Asks for a line a second that `RunProgress.of_line` reads, as commands do that draw a bar of
their own.
"""
SECONDS_BETWEEN_LINES = 60.0
STOPPED = "Stopped. Finished work is kept. To go on"
RUN_FAILED = "The run failed. Finished work is kept. Fix the problem above, then continue with"
LINE_BEGINNING = "biasgrid: "
SHARE_OF_TIME = 0.05
"""Which share of the time counting may take: a large grid is counted less often."""


class AnsweredRows(NamedTuple):
    """How many rows models have answered: how many of how many, how many in a second, and seconds
    left, if known.
    """

    rows: int
    of: float | None
    rows_per_second: float | None
    seconds_left: float | None

    @property
    def text(self) -> str:
        """The rows in words."""
        parts = [f"{self.rows:,} rows" if not self.of else f"{self.rows:,} of {self.of:,.0f} rows"]
        if self.of:
            parts[0] += f" ({100 * self.rows / self.of:.0f} %)"
        if self.rows_per_second:
            parts.append(
                f"{self.rows_per_second:,.{0 if self.rows_per_second >= 10 else 1}f} rows/s"
            )
        if self.seconds_left is not None:
            parts.append(f"{time_text(self.seconds_left)} left")
        return ", ".join(parts)


class RunProgress(NamedTuple):
    """How far a run is.

    Attributes:
        seconds: since it began.
        jobs: how many of its jobs are done.
        of: how many there are.
        stages: what running jobs do, in the order of `STAGES`.
        answered: the rows that models have answered, None while none is asked.
    """

    seconds: float
    jobs: int
    of: int
    stages: list[str]
    answered: AnsweredRows | None

    @property
    def text(self) -> str:
        """The progress in a line."""
        at_work = ", ".join(self.stages) or "waits for jobs"
        rows = f"; {self.answered.text}" if self.answered else ""
        minutes, seconds = divmod(int(self.seconds), 60)
        return f"{minutes}:{seconds:02}  {at_work}: {self.jobs} of {self.of} jobs done{rows}"

    @classmethod
    def of_line(cls, line: str) -> RunProgress | None:
        """Reads a line that a run writes for programs; None where it is another one."""
        if not line.startswith(f"{LINE_BEGINNING}{{"):
            return None
        content = json.loads(line.removeprefix(LINE_BEGINNING))
        answered = content.pop("answered")
        return cls(**content, answered=AnsweredRows(*answered) if answered else None)


def stage_of(rule: str) -> str | None:
    """Returns what the jobs of a rule do, None of rules that take no time."""
    # Of some families what is observed is kept, by a rule of its own.
    return STAGES.get(rule.split("_")[0])


def time_text(seconds: float) -> str:
    """Returns a time in its two largest units: `0 s`, `45 s`, `12 min`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24:,} d {hours % 24} h"


JobCounts = Callable[[], tuple[int, int, Collection[str]]]
"""Returns how many jobs are done, how many there are, and the rules of those that run."""


class ProgressLines(threading.Thread):
    """Writes the progress of a run to the standard error, line by line, until the run ends."""

    def __init__(
        self,
        jobs: JobCounts,
        answered: Callable[[], AnsweredRows],
        every: float,
        for_programs: bool,
    ):
        """Prepares the lines.

        Args:
            jobs: counts jobs.
            answered: counts the rows that models have answered.
            every: seconds between two lines.
            for_programs: whether the lines are those that `RunProgress.of_line` reads.
        """
        super().__init__(daemon=True)
        self.jobs, self.answered, self.every, self.for_programs = (
            jobs,
            answered,
            every,
            for_programs,
        )
        self.began, self.parent, self.ended = time.monotonic(), os.getppid(), threading.Event()

    def run(self) -> None:
        """Writes lines until the run ends."""
        wait = self.every
        while not self.ended.wait(wait):
            before = time.monotonic()
            # What counts may meet files that a job is just writing; a line is worth no failure.
            try:
                line = self.line()
                if not self.ended.is_set():
                    sys.stderr.write(line)
            except Exception:
                wait = SECONDS_BETWEEN_LINES
            else:
                wait = max(self.every, (time.monotonic() - before) / SHARE_OF_TIME)
            # Nobody else ends a run whose command was killed: it has a process group of its own.
            if self.for_programs and os.getppid() != self.parent:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    def line(self) -> str:
        """Returns the progress in a line."""
        jobs, of, rules = self.jobs()
        words = {stage_of(rule) for rule in rules}
        stages = [stage for stage in STAGES.values() if stage in words]
        answered = self.answered() if ANSWERS in stages else None
        now = RunProgress(time.monotonic() - self.began, jobs, of, stages, answered)
        return f"{LINE_BEGINNING}{json.dumps(now._asdict()) if self.for_programs else now.text}\n"


def is_for_programs() -> bool:
    """Returns whether a command runs Snakemake, and says itself what it has to say."""
    return os.environ.get(PROGRESS) == FOR_PROGRAMS


_running: list[ProgressLines] = []


def start_progress_lines(jobs: JobCounts, answered: Callable[[], AnsweredRows]) -> None:
    """Begins the lines of a run, as often as `PROGRESS` in the environment says; see
    `ProgressLines`.
    """
    try:
        every = 1.0 if is_for_programs() else float(os.environ[PROGRESS])
    except (KeyError, ValueError):
        every = SECONDS_BETWEEN_LINES
    if every > 0:
        _running.append(ProgressLines(jobs, answered, every, is_for_programs()))
        _running[-1].start()


def end_progress_lines() -> None:
    """Ends the lines of a run; in a notebook the process goes on."""
    while _running:
        lines = _running.pop()
        lines.ended.set()
        if lines.for_programs:
            # Their bars end where the run does.
            sys.stderr.write(lines.line())
