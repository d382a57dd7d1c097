"""The progress of a run while Snakemake works: its activities, jobs and answered rows."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

ACTIVITIES = {
    "synthetic": "writes texts with a known bias",
    "train": "trains models",
    "fetch": "inspects the model",
    "capabilities": "tests what the model can do",
    "expand": "writes the questions",
    "predict": "asks the model",
    "measure": "measures",
    "statistics": "computes intervals",
    "compare": "compares models",
    "plot": "draws",
    "report": "writes the report",
}
"""The activities of a run in their order, by the names of their rules up to the first `_`."""
ASKS = ACTIVITIES["predict"]
PROGRESS = "BIASGRID_PROGRESS"
"""The environment variable with the seconds between lines, 0 for no lines, or `FOR_PROGRAMS`."""
FOR_PROGRAMS = "json"
"""Requests a line a second for `RunProgress.from_line`, from which commands draw a bar."""
SECONDS_BETWEEN_LINES = 60.0
TYPED = "BIASGRID_TYPED"
"""The variable of the environment with the command of biasgrid that runs Snakemake, if one does."""
STOPPED = "Stopped. Finished work is kept. To go on"
RUN_FAILED = "The run failed. Finished work is kept. Fix the problem above, then continue with"
LINE_BEGINNING = "biasgrid: "
SHARE_OF_TIME = 0.05
"""The maximum share of time for counting; a large grid is counted less often."""


class AnsweredRows(NamedTuple):
    """The rows that models have answered.

    Attributes:
        rows: their number.
        all_rows: the number of rows of the run, None if it is unknown.
        rows_per_second: the rate, None while nothing runs.
        seconds_left: the time for the remaining rows, None if it is unknown.
    """

    rows: int
    all_rows: float | None
    rows_per_second: float | None
    seconds_left: float | None

    @property
    def text(self) -> str:
        """The rows in words."""
        if self.all_rows:
            share = 100 * self.rows / self.all_rows
            parts = [f"{self.rows:,} of {self.all_rows:,.0f} rows ({share:.0f} %)"]
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
        jobs: the number of its finished jobs.
        all_jobs: the number of all its jobs.
        activities: the activities of running jobs, in the order of `ACTIVITIES`.
        answers: the rows that models have answered, None while no model is asked.
    """

    seconds: float
    jobs: int
    all_jobs: int
    activities: list[str]
    answers: AnsweredRows | None

    @property
    def text(self) -> str:
        """The progress in a line."""
        work = ", ".join(self.activities) or "waits for jobs"
        rows = f"; {self.answers.text}" if self.answers else ""
        minutes, seconds = divmod(int(self.seconds), 60)
        return f"{minutes}:{seconds:02}  {work}: {self.jobs} of {self.all_jobs} jobs done{rows}"

    @classmethod
    def from_line(cls, line: str) -> RunProgress | None:
        """Reads a line that a run has written for programs; None if it is another line."""
        if not line.startswith(f"{LINE_BEGINNING}{{"):
            return None
        content = json.loads(line.removeprefix(LINE_BEGINNING))
        answers = content.pop("answers")
        return cls(**content, answers=AnsweredRows(*answers) if answers else None)


class RecentRate:
    """The rate of answers over the last seconds of a run."""

    def __init__(self, seconds: float):
        """Begins without answers.

        Args:
            seconds: over how many seconds the rate is.
        """
        self.seconds = seconds
        self.counts: deque[tuple[float, int]] = deque()

    def applied(self, progress: RunProgress) -> RunProgress:
        """Returns a progress with the recent rate, and with the time left at this rate.

        Both are None until some rows were answered in this time. The first count says nothing of
        the rate: its rows may be of an earlier run. Progress must come in its order.
        """
        answers = progress.answers
        if answers is None:
            return progress
        if not answers.rows:
            return progress._replace(
                answers=answers._replace(rows_per_second=None, seconds_left=None)
            )
        self.counts.append((progress.seconds, answers.rows))
        while progress.seconds - self.counts[0][0] > self.seconds:
            self.counts.popleft()
        began, rows_before = self.counts[0]
        new_rows = answers.rows - rows_before
        rate = new_rows / (progress.seconds - began) if new_rows > 0 else None
        seconds_left = None
        if rate and answers.all_rows is not None:
            seconds_left = max(answers.all_rows - answers.rows, 0) / rate
        return progress._replace(
            answers=answers._replace(rows_per_second=rate, seconds_left=seconds_left)
        )


def rule_activity(rule: str) -> str | None:
    """Returns the activity of a rule, None for rules that take no time."""
    # `predict_scorer` and `fetch_predictions` are named like `predict` and `fetch`.
    return ACTIVITIES.get(rule.split("_")[0])


def time_text(seconds: float) -> str:
    """Returns a time in its largest unit, from an hour on in its two largest.

    Examples: `0 s`, `45 s`, `12 min`, `2 h 10 min`, `3 d 4 h`.
    """
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
"""Returns the number of finished jobs, the number of all jobs, and the rules of running jobs."""


class ProgressLines(threading.Thread):
    """Writes the progress of a run to the standard error, line by line, until the run ends.

    Attributes:
        count_jobs: counts jobs.
        count_answers: counts the rows that models have answered.
        interval: seconds between two lines.
        for_programs: whether the lines are for `RunProgress.from_line`.
        began: the time when the run began.
        parent: the process that started the run.
        ended: set when the run ends.
    """

    def __init__(
        self,
        count_jobs: JobCounts,
        count_answers: Callable[[], AnsweredRows],
        *,
        interval: float,
        for_programs: bool,
    ):
        """Prepares the lines."""
        super().__init__(daemon=True)
        self.count_jobs = count_jobs
        self.count_answers = count_answers
        self.interval = interval
        self.for_programs = for_programs
        self.began = time.monotonic()
        self.parent = os.getppid()
        self.ended = threading.Event()

    def run(self) -> None:
        """Writes lines until the run ends."""
        wait = self.interval
        while not self.ended.wait(wait):
            before = time.monotonic()
            # A job may be writing a file that is read here. Skip it: a line is not worth an error.
            try:
                line = self.line()
                if not self.ended.is_set():
                    sys.stderr.write(line)
            except Exception:
                wait = SECONDS_BETWEEN_LINES
            else:
                seconds_to_count = time.monotonic() - before
                wait = max(self.interval, seconds_to_count / SHARE_OF_TIME)
            # Another parent: the command that started the run was killed. Nobody else ends the run,
            # because it has a process group of its own.
            if self.for_programs and os.getppid() != self.parent:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    def line(self) -> str:
        """Returns the progress in a line."""
        jobs, all_jobs, rules = self.count_jobs()
        running = {rule_activity(rule) for rule in rules}
        activities = [activity for activity in ACTIVITIES.values() if activity in running]
        answers = self.count_answers() if ASKS in activities else None
        seconds = time.monotonic() - self.began
        progress = RunProgress(seconds, jobs, all_jobs, activities, answers)
        text = json.dumps(progress._asdict()) if self.for_programs else progress.text
        return f"{LINE_BEGINNING}{text}\n"


def is_for_programs() -> bool:
    """Whether a command runs this Snakemake and reports its progress itself."""
    return os.environ.get(PROGRESS) == FOR_PROGRAMS


# Lines of this process for `end_progress_lines`: a notebook runs one config after another.
_running: list[ProgressLines] = []


def start_progress_lines(count_jobs: JobCounts, count_answers: Callable[[], AnsweredRows]) -> None:
    """Begins to write the lines of a run at the interval in `PROGRESS`; see `ProgressLines`.

    Without the variable, or with a value that is no number, at `SECONDS_BETWEEN_LINES`.
    """
    try:
        interval = 1.0 if is_for_programs() else float(os.environ[PROGRESS])
    except (KeyError, ValueError):
        interval = SECONDS_BETWEEN_LINES
    if interval > 0:
        lines = ProgressLines(
            count_jobs, count_answers, interval=interval, for_programs=is_for_programs()
        )
        _running.append(lines)
        lines.start()


def end_progress_lines() -> None:
    """Ends the lines of a run, for programs with a last one."""
    while _running:
        lines = _running.pop()
        lines.ended.set()
        if lines.for_programs:
            # Without it the command's bar would not reach its end.
            sys.stderr.write(lines.line())
