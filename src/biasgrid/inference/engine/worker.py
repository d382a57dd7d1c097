"""A thread that works while the program does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Result = TypeVar("Result")
Step = TypeVar("Step")


class StoppedError(Exception):
    """Ends work in a `Worker` at its next step, because the program ends."""


class Worker:
    """Does work in a thread of its own, one piece after the other; a context manager."""

    def __init__(self) -> None:
        """Starts the thread at the first `submit`."""
        self.stopped = threading.Event()
        self.pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Worker:
        """Returns itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Ends the work at its next `stoppable` step and waits for that; drops waiting work.

        A job that is told to end has no time to finish its work.
        """
        self.stopped.set()
        self.pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Queues work; the Future has its result or error."""
        return self.pool.submit(work)

    def stoppable(self, report: Callable[[Step], None]) -> Callable[[Step], None]:
        """Returns a function for work to call at each of its steps: `report`, or a StoppedError.

        The error is raised once the worker was left, so that the work ends.
        """

        def report_or_stop(step: Step) -> None:
            if self.stopped.is_set():
                raise StoppedError
            report(step)

        return report_or_stop
