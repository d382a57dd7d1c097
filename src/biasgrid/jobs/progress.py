"""The progress of a job: a bar, lines in its log, and a file for `biasgrid status`.

A job without progress is ended (`Watchdog`).
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tqdm import tqdm

from biasgrid.base.faults import UserError
from biasgrid.base.files import write_text

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30
SECONDS_BETWEEN_BEATS = 5
SECONDS_TO_REPORT = 10


class Beat(NamedTuple):
    """A report of a job on itself while it runs.

    Attributes:
        rows: number of finished rows, those of earlier runs included.
        saved_rows: number of rows that the next job finds if this one is killed.
        all_rows: number of rows of the shard.
        rows_per_second: the rate of this run; 0.0 until it has computed a row.
        at: the time when it was written, in seconds since 1970.
        host: the machine's name.
        pid: the process's number.
    """

    rows: int
    saved_rows: int
    all_rows: int
    rows_per_second: float
    at: float
    host: str
    pid: int


class Watchdog:
    """Ends this process when it is not fed for a time; use it as a context manager.

    Attributes:
        what: the task that is watched, for the message.
        seconds: the maximum time between two feedings.
        pulse: called every second or more often while the process is watched, fed or not. Runs in
            the thread of the watchdog.
        is_fed: whether there was progress since the last tick.
        ended: set when the watch ends.
        thread: the thread that watches.
    """

    def __init__(self, what: str, seconds: float, pulse: Callable[[], None] = lambda: None):
        """Prepares a watch."""
        self.what, self.seconds, self.pulse = what, seconds, pulse
        self.is_fed = True
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchdog:
        """Starts watching."""
        self.feed()
        self.thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Ends the watch."""
        self.ended.set()
        self.thread.join()

    def feed(self) -> None:
        """Notes that there was progress."""
        self.is_fed = True

    def _watch(self) -> None:
        """Adds up the time without progress, and ends the process when it is too long."""
        # Ticks are counted in place of reading a clock, because a suspended process does not hang.
        tick = min(1.0, self.seconds / 10)
        silent = 0.0
        while not self.ended.wait(tick):
            silent = 0.0 if self.is_fed else silent + tick
            self.is_fed = False
            self.pulse()
            if silent >= self.seconds:
                self._end_process()

    def _end_process(self) -> None:
        """Ends the process after `SECONDS_TO_REPORT` at the latest."""
        # The main thread may hang in foreign code, which no exception reaches, or while it holds
        # the lock of the log. So the report is made in a thread that may hang as well.
        reporter = threading.Thread(target=self._report, daemon=True)
        reporter.start()
        reporter.join(SECONDS_TO_REPORT)
        os._exit(1)

    def _report(self) -> None:
        """Reports on the terminal and in the log that the process hung, and where."""
        message = (
            f"{self.what}: no progress for {self.seconds / 60:.3g} minutes, so the job ended "
            "itself; finished work is kept, and the next run continues from there (see "
            "`inference.time_limit` in the config)"
        )
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
        main_thread = threading.main_thread().ident or 0
        stack = traceback.format_stack(sys._current_frames()[main_thread])
        logger.critical("%s\nIt hung at:\n%s", message, "".join(stack))
        logging.shutdown()


class Progress:
    """Counts rows; use it as a context manager.

    Rows are finished (`resume` and `advance`) before they are saved (`keep`); `resume` counts them
    as both.
    """

    def __init__(self, what: str, total: int, seconds_without: float, file: Path | None = None):
        """Starts counting.

        Args:
            what: a description of the rows, for the bar and the log.
            total: number of rows.
            seconds_without: the maximum time without progress, after which the process is ended.
            file: the file of `Beat`s; None writes none.
        """
        self.what, self.total, self.file = what, total, file
        self.done = self.before = self.saved_rows = 0
        # A job also writes beats while it loads its model or computes a long batch.
        self.watchdog = Watchdog(what, seconds_without, self.beat_in_time)
        self.bar = tqdm(total=total, desc=what, unit="rows", disable=not sys.stderr.isatty())
        self.started = self.last_line = self.last_beat = time.monotonic()

    def __enter__(self) -> Progress:
        """Starts the watchdog."""
        self.watchdog.__enter__()
        self.beat()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the bar and, if the job has not failed, logs the last line."""
        self.watchdog.__exit__(kind, error, trace)
        self.bar.close()
        if kind is None:
            self.log_line()

    def resume(self, rows: int) -> None:
        """Counts rows that an earlier run has saved."""
        # The rate of this run starts after them, if it has computed none yet.
        if self.done == self.before:
            self.started = time.monotonic()
        self.done += rows
        self.before += rows
        self.saved_rows += rows
        self.bar.update(rows)

    def advance(self, rows: int) -> None:
        """Counts rows that were just computed, and feeds the watchdog."""
        self.watchdog.feed()
        self.done += rows
        self.bar.update(rows)
        if time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.log_line()

    def keep(self, rows: int) -> None:
        """Counts rows that were just saved, after `advance` has counted them."""
        self.saved_rows += rows
        self.beat()

    @property
    def rate(self) -> float:
        """Rows per second of this run, without rows of earlier runs; 0.0 before the first row."""
        return (self.done - self.before) / max(time.monotonic() - self.started, 1e-9)

    def log_line(self) -> None:
        """Logs rows done, rows per second and the time that is left."""
        self.last_line = time.monotonic()
        seconds_left = (self.total - self.done) / self.rate if self.rate else float("inf")
        logger.info(
            "%s: %s of %s rows, %.0f rows/s, %.0f s left",
            self.what,
            self.done,
            self.total,
            self.rate,
            seconds_left,
        )

    def beat_in_time(self) -> None:
        """Writes a beat if the last one is older than `SECONDS_BETWEEN_BEATS`."""
        if time.monotonic() - self.last_beat > SECONDS_BETWEEN_BEATS:
            self.beat()

    def beat(self) -> None:
        """Writes a beat now; the job and the thread of the watchdog both call it."""
        self.last_beat = time.monotonic()
        if self.file is None:
            return
        beat = Beat(
            rows=self.done,
            saved_rows=self.saved_rows,
            all_rows=self.total,
            rows_per_second=self.rate,
            at=time.time(),
            host=socket.gethostname(),
            pid=os.getpid(),
        )
        # A job must not fail for a beat. If the disk is full, its output will fail.
        with suppress(UserError):
            write_text(self.file, json.dumps(beat._asdict()))


def read_beat(file: Path) -> Beat | None:
    """Reads the last beat of a job; None without one, or if it cannot be read."""
    try:
        return Beat(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None
