"""What SIGTERM does to jobs; tests/workflow/test_sigterm.py sends it to a whole run."""

import subprocess
import sys
from pathlib import Path

import psutil

SNAKEMAKE = """
import subprocess, sys
from biasgrid.jobs import interruption

interruption.SECONDS_TO_UNWIND = 1
interruption.end_jobs_at_sigterm(None)
job = subprocess.Popen([sys.executable, sys.argv[1]], stdout=subprocess.PIPE, text=True)
job.stdout.readline()
try:
    print(job.pid, flush=True)
    job.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
STUBBORN = """
import signal, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(flush=True)
time.sleep(600)
"""
CAREFUL = """
import time
from biasgrid.jobs.interruption import interrupted_by_sigterm

interrupted_by_sigterm()
try:
    print(flush=True)
    time.sleep(600)
finally:
    open("cleaned", "w").close()
"""


def end_snakemake(folder: Path, job: str) -> str:
    """Sends SIGTERM to a process that runs a job as Snakemake does; the job has ended when it has."""
    script = folder / ".snakemake/scripts/job.py"
    script.parent.mkdir(parents=True)
    script.write_text(job)
    command = [sys.executable, "-c", SNAKEMAKE, str(script)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.terminate()
        output, _ = process.communicate(timeout=60)
    assert not psutil.pid_exists(pid)
    return output


def test_a_job_cleans_up_before_it_ends(tmp_path: Path) -> None:
    assert end_snakemake(tmp_path, CAREFUL) == "interrupted\n"
    assert (tmp_path / "cleaned").exists()


def test_a_job_that_does_not_end_is_killed(tmp_path: Path) -> None:
    assert end_snakemake(tmp_path, STUBBORN) == "interrupted\n"
