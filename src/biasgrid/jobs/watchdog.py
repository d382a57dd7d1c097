"""Ends a process that makes no progress, so that one hanging job does not hold up a whole run; a pulse meanwhile."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger(__name__)

SECONDS_TO_TELL = 10


class Watchdog:
    """Ends this process when it is not fed for a time; use it as a context manager."""

    def __init__(self, what: str, seconds: float, pulse: Callable[[], None] = lambda: None):
        """Prepares a watch.

        Args:
            what: what is watched, for the message.
            seconds: the longest time between two feedings.
            pulse: called every second or more often while the process is watched, fed or not.
        """
        self.what, self.seconds, self.pulse = what, seconds, pulse
        self.fed = True
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
        self.fed = True

    def _watch(self) -> None:
        # Short waits are counted rather than clocks compared: a process that was suspended is not one that hangs.
        tick, silent = min(1.0, self.seconds / 10), 0.0
        while not self.ended.wait(tick):
            silent = 0.0 if self.fed else silent + tick
            self.fed = False
            self.pulse()
            if silent >= self.seconds:
                self._end_process()

    def _end_process(self) -> None:
        # The main thread hangs, perhaps in foreign code that no exception reaches, or in writing the log.
        teller = threading.Thread(target=self._tell, daemon=True)
        teller.start()
        teller.join(SECONDS_TO_TELL)
        os._exit(1)

    def _tell(self) -> None:
        message = (
            f"{self.what}: no progress for {self.seconds / 60:.3g} minutes, so the job ends itself; what it has "
            "finished is kept and the next run goes on from there (see inference.time_limit in the config)"
        )
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
        stack = traceback.format_stack(sys._current_frames()[threading.main_thread().ident or 0])
        logger.critical("%s\nIt hung at:\n%s", message, "".join(stack))
        logging.shutdown()
