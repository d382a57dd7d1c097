"""A thread that gives a device its work while the program goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Result = TypeVar("Result")
Given = TypeVar("Given")


class StoppedError(Exception):
    """The program ends, and nobody waits for this work any more."""


class Worker:
    """Does one thing after the other beside the program; use it as a context manager."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self.stopped = threading.Event()
        self.pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Worker:
        """Takes work from now on."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Ends the work at its next step, and waits for that: a job that is killed has no time for
        more.
        """
        self.stopped.set()
        self.pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Does some work when its turn comes."""
        return self.pool.submit(work)

    def checked(self, told: Callable[[Given], None]) -> Callable[[Given], None]:
        """Returns what work calls at each of its steps, so that it ends when the program does."""

        def step(given: Given) -> None:
            if self.stopped.is_set():
                raise StoppedError
            told(given)

        return step
