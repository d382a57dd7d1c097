"""Ends a process that makes no progress, so that one hanging job does not hold up a whole run."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from types import TracebackType

logger = logging.getLogger(__name__)


class Watchdog:
    """Ends this process when it is not fed for a time; use it as a context manager."""

    def __init__(self, what: str, seconds: float):
        """Prepares a watch.

        Args:
            what: what is watched, for the message.
            seconds: the longest time between two feedings.
        """
        self.what, self.seconds = what, seconds
        self.fed = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchdog:
        """Starts watching."""
        self.feed()
        self.thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Ends the watch."""
        self.ended.set()
        self.thread.join()

    def feed(self) -> None:
        """Says that there was progress."""
        self.fed = time.monotonic()

    def _watch(self) -> None:
        while not self.ended.wait(max(0.0, self.fed + self.seconds - time.monotonic())):
            if time.monotonic() - self.fed >= self.seconds:
                self._end_process()

    def _end_process(self) -> None:
        # The main thread hangs, perhaps in foreign code that no exception reaches.
        message = (
            f"{self.what}: no progress for {self.seconds / 60:.3g} minutes, so the job ends itself; what it has "
            "finished is kept and the next run goes on from there (see inference.time_limit in the config)"
        )
        stack = traceback.format_stack(sys._current_frames()[threading.main_thread().ident or 0])
        logger.error("%s\nIt hung at:\n%s", message, "".join(stack))
        logging.shutdown()
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
        os._exit(1)
