"""A test that hangs on a bad input is ended, and counts as failed."""

import signal
from collections.abc import Iterator

import pytest

SECONDS = 60


@pytest.fixture
def in_time() -> Iterator[None]:
    """Ends a test that hangs."""

    def give_up(*_: object) -> None:
        # Nothing catches it, as it would an OSError such as TimeoutError.
        pytest.fail(f"not told in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
