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
"""Asks for a line a second for `RunProgress.of_line`: commands draw a bar of their own."""
SECONDS_BETWEEN_LINES = 60.0
STOPPED = "Stopped. Finished work is kept. To go on"
RUN_FAILED = "The run failed. Finished work is kept. Fix the problem above, then continue with"
LINE_BEGINNING = "biasgrid: "
SHARE_OF_TIME = 0.05
"""Share of the time that counting may take: a large grid is counted less often."""


class AnsweredRows(NamedTuple):
    """The rows that models have answered.

    Attributes:
        rows: their number.
        of: the number of all rows, None if it is unknown.
        rows_per_second: the rate, None while nothing runs.
        seconds_left: the time that the other rows take, None if it is unknown.
    """

    rows: int
    of: float | None
    rows_per_second: float | None
    seconds_left: float | None

    @property
    def text(self) -> str:
        """The rows in words."""
        if self.of:
            share = 100 * self.rows / self.of
            parts = [f"{self.rows:,} of {self.of:,.0f} rows ({share:.0f} %)"]
        else:
            parts = [f"{self.rows:,} rows"]
        if self.rows_per_second:
            decimals = 0 if self.rows_per_second >= 10 else 1
            parts.append(f"{self.rows_per_second:,.{decimals}f} rows/s")
        if self.seconds_left is not None:
            parts.append(f"{time_text(self.seconds_left)} left")
        return ", ".join(parts)


class RunProgress(NamedTuple):
    """The progress of a run.

    Attributes:
        seconds: the time since it began.
        jobs: the number of its jobs that are done.
        of: the number of all its jobs.
        stages: the stages of running jobs, in the order of `STAGES`.
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
        """Reads a line that a run writes for programs; None if it is another one."""
        if not line.startswith(f"{LINE_BEGINNING}{{"):
            return None
        content = json.loads(line.removeprefix(LINE_BEGINNING))
        answered = content.pop("answered")
        return cls(**content, answered=AnsweredRows(*answered) if answered else None)


def stage_of(rule: str) -> str | None:
    """Returns the stage of a rule, None of rules that take no time."""
    # `predict_scorer` and `fetch_predictions` belong to the stages of `predict` and `fetch`.
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
"""Returns the number of jobs that are done, of all jobs, and the rules of those that run."""


class ProgressLines(threading.Thread):
    """Writes the progress of a run to the standard error, line by line, until the run ends.

    Attributes:
        jobs: counts jobs.
        answered: counts the rows that models have answered.
        every: seconds between two lines.
        for_programs: whether the lines are for `RunProgress.of_line`.
        began: the time when the run began.
        parent: the process that started the run.
        ended: set when the run ends.
    """

    def __init__(
        self,
        jobs: JobCounts,
        answered: Callable[[], AnsweredRows],
        every: float,
        for_programs: bool,
    ):
        """Prepares the lines."""
        super().__init__(daemon=True)
        self.jobs = jobs
        self.answered = answered
        self.every = every
        self.for_programs = for_programs
        self.began = time.monotonic()
        self.parent = os.getppid()
        self.ended = threading.Event()

    def run(self) -> None:
        """Writes lines until the run ends."""
        wait = self.every
        while not self.ended.wait(wait):
            before = time.monotonic()
            # Counting may meet files that a job is just writing; a line is worth no failure.
            try:
                line = self.line()
                if not self.ended.is_set():
                    sys.stderr.write(line)
            except Exception:
                wait = SECONDS_BETWEEN_LINES
            else:
                seconds_to_count = time.monotonic() - before
                wait = max(self.every, seconds_to_count / SHARE_OF_TIME)
            # Nobody else ends a run whose command was killed: it has a process group of its own.
            if self.for_programs and os.getppid() != self.parent:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    def line(self) -> str:
        """Returns the progress in a line."""
        jobs, of, rules = self.jobs()
        running = {stage_of(rule) for rule in rules}
        stages = [stage for stage in STAGES.values() if stage in running]
        answered = self.answered() if ANSWERS in stages else None
        progress = RunProgress(time.monotonic() - self.began, jobs, of, stages, answered)
        text = json.dumps(progress._asdict()) if self.for_programs else progress.text
        return f"{LINE_BEGINNING}{text}\n"


def is_for_programs() -> bool:
    """Whether a command runs Snakemake, and reports its progress itself."""
    return os.environ.get(PROGRESS) == FOR_PROGRAMS


_running: list[ProgressLines] = []


def start_progress_lines(jobs: JobCounts, answered: Callable[[], AnsweredRows]) -> None:
    """Begins the lines of a run, as often as `PROGRESS` in the environment says.

    See `ProgressLines`.
    """
    try:
        every = 1.0 if is_for_programs() else float(os.environ[PROGRESS])
    except (KeyError, ValueError):
        every = SECONDS_BETWEEN_LINES
    if every > 0:
        lines = ProgressLines(jobs, answered, every, is_for_programs())
        _running.append(lines)
        lines.start()


def end_progress_lines() -> None:
    """Ends the lines of a run; in a notebook the process goes on."""
    while _running:
        lines = _running.pop()
        lines.ended.set()
        if lines.for_programs:
            # The bar of the command ends where the run does.
            sys.stderr.write(lines.line())
