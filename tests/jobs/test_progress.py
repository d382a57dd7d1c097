"""How a job says that it is at work."""

import time
from pathlib import Path

import pytest

from biasgrid.jobs.progress import Progress, read_beat


def test_a_job_that_makes_no_rows_yet_still_says_that_it_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.jobs.progress.SECONDS_BETWEEN_BEATS", 0.2)
    file = tmp_path / "progress.json"
    with Progress("bert", 10, seconds_without=2, file=file) as progress:
        first = read_beat(file)
        progress.resume(4)
        time.sleep(1)
        later = read_beat(file)
    assert first is not None
    assert later is not None
    assert (first.rows, later.rows) == (0, 4)
    assert later.at > first.at
    ended = file.read_bytes()
    time.sleep(0.5)
    assert file.read_bytes() == ended
