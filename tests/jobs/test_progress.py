"""How a job says that it is at work."""

import signal
import subprocess
import sys
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


def test_rows_of_earlier_runs_are_found_range_by_range(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    with Progress("bert", 10, seconds_without=60, file=file) as progress:
        progress.resume(2)
        progress.advance(3)
        progress.keep(3)
        progress.resume(4)
        progress.beat()
    beat = read_beat(file)
    assert beat is not None
    assert (beat.rows, beat.saved_rows) == (9, 9)
    # The rate is of the three that were computed.
    assert (progress.done, progress.before) == (9, 6)


HANGS = """
import logging, time
from biasgrid.jobs.progress import Watchdog
logging.basicConfig(filename={log!r})
def hang_here():
    time.sleep(600)
with Watchdog("bert", 0.2):
    hang_here()
"""


def test_a_hanging_process_ends_and_says_where_it_hung(tmp_path: Path):
    log = tmp_path / "log"
    process = subprocess.run(
        [sys.executable, "-c", HANGS.format(log=str(log))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 1
    assert (
        "bert: no progress for 0.00333 minutes, so the job ended itself; finished work"
        in process.stderr
    )
    assert "hang_here" in log.read_text()


FED = """
import time
from biasgrid.jobs.progress import Watchdog
with Watchdog("bert", 1) as watchdog:
    for _ in range(12):
        time.sleep(0.1)
        watchdog.feed()
assert not watchdog.thread.is_alive()
"""


def test_a_process_that_is_fed_goes_on():
    process = subprocess.run(
        [sys.executable, "-c", FED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")


def test_a_process_that_was_suspended_is_not_taken_for_one_that_hangs():
    process = subprocess.Popen([sys.executable, "-c", FED], stderr=subprocess.PIPE, text=True)
    time.sleep(0.8)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
