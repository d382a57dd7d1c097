"""How far a job is: a bar on a terminal, sparse lines in the log."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

from tqdm import tqdm

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30


class Progress:
    """Counts rows; use it as a context manager."""

    def __init__(self, what: str, total: int, done: int = 0):
        """Starts counting.

        Args:
            what: what the rows are, for the bar and the log.
            total: how many rows there are.
            done: how many of them an earlier run has made.
        """
        self.what, self.total, self.done, self.before = what, total, done, done
        self.bar = tqdm(total=total, initial=done, desc=what, unit="rows", disable=not sys.stderr.isatty())
        self.started = self.last_line = time.monotonic()

    def __enter__(self) -> Progress:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Closes the bar and logs the last line."""
        self.bar.close()
        if kind is None:
            self.log_line()

    def advance(self, rows: int) -> None:
        """Counts rows that were just made."""
        self.done += rows
        self.bar.update(rows)
        if time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.log_line()

    def log_line(self) -> None:
        """Logs rows done, rows per second and the time that is left."""
        self.last_line = time.monotonic()
        rate = (self.done - self.before) / max(self.last_line - self.started, 1e-9)
        left = (self.total - self.done) / rate if rate else float("inf")
        logger.info("%s: %s of %s rows, %.0f rows/s, %.0f s left", self.what, self.done, self.total, rate, left)
