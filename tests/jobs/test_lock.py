"""Locks on shards: a job that a killed Snakemake left behind is waited for."""

import subprocess
import sys
from pathlib import Path

import pytest

from biasgrid.base.faults import UserError
from biasgrid.jobs.lock import one_job

HOLDS = """
import sys, time
from pathlib import Path
from biasgrid.jobs.lock import one_job
with one_job(Path(sys.argv[1]), 1):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    job = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "held\n"
    return job


def test_a_job_waits_for_the_one_that_is_at_work(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "new" / "1-of-1.lock"
    job = hold(path, 0.5)
    with caplog.at_level("INFO"), one_job(path, 60):
        assert job.wait(timeout=10) == 0
    assert "another job that is working on the same" in caplog.text


def test_a_job_that_does_not_end_is_named(tmp_path: Path):
    job = hold(tmp_path / "1-of-1.lock", 600)
    with pytest.raises(
        UserError, match=r"1-of-1.lock: another job has held this lock for .* minutes; end that job"
    ):
        one_job(tmp_path / "1-of-1.lock", 0.2).__enter__()
    job.kill()
    job.wait()
    with one_job(tmp_path / "1-of-1.lock", 0.2):
        pass
