"""What SIGTERM does to jobs; tests/workflow/test_sigterm.py sends it to a whole run."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from biasgrid.base.faults import out_of_memory
from biasgrid.jobs.interruption import LONGEST_LOG, attempt_logs, resource_factor

SNAKEMAKE = """
import subprocess, sys
from biasgrid.jobs import interruption

interruption.SECONDS_TO_UNWIND = 1
interruption.end_jobs_at_signals(None)
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
from biasgrid.jobs.interruption import interrupt_at_sigterm

interrupt_at_sigterm()
try:
    print(flush=True)
    time.sleep(600)
finally:
    open("cleaned", "w").close()
"""


LOGGING = """
import logging, os, signal, sys, time
from biasgrid.jobs import interruption

class Log(logging.Handler):
    def emit(self, record):
        # As Snakemake's own handler does.
        try:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass

interruption.end_jobs_at_signals(None)
logger = logging.getLogger("biasgrid")
logger.addHandler(Log())
try:
    logger.error("a job starts")
    print("logged", flush=True)
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def end_snakemake(folder: Path, job: str) -> str:
    """Sends SIGTERM to a process that runs a job as Snakemake does; the job has ended when it
    has.
    """
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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_comes_while_something_is_logged_is_not_lost(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", LOGGING, name], capture_output=True, text=True, timeout=60
    )
    assert shown.stdout == "logged\ninterrupted\n", shown.stderr


TIME = (
    "slurmstepd-n1: error: *** JOB 1 ON n1 CANCELLED AT 2026-11-22T14:33:49 DUE TO TIME LIMIT ***\n"
)
WATCHED = """\
slurmstepd-n1: error: StepId=2.0 exceeded memory limit (638078976 > 209715200), being killed
slurmstepd-n1: error: Exceeded job memory limit
slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED AT 2026-11-22T14:32:22 ***
"""
GROUPS = (
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3.0. Some of your processes may "
    "have been killed by the cgroup out-of-memory handler.\n"
)
LATER_GROUPS = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=3.0. Some step tasks have "
    "been OOM Killed.\n"
)
CANCELLED = "slurmstepd-n1: error: *** JOB 4 ON n1 CANCELLED AT 2026-11-22T14:21:59 ***\n"
PREEMPTED = (
    "slurmstepd-n1: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-22T14:21:59 DUE TO PREEMPTION ***\n"
)
OTHER = "the tokenizer has no [MASK] token\nsrun: error: n1: task 0: Exited with exit code 1\n"
GPU = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def write(folder: Path, *logs: str) -> list[Path]:
    """Writes logs of attempts, the first one first."""
    paths = []
    for number, text in enumerate(logs):
        path = folder / f"{9 + number}.log"
        path.write_text(text)
        os.utime(path, (number, number))
        paths.append(path)
    return paths[::-1]


@pytest.mark.parametrize(
    ("log", "memory", "time"),
    [
        (TIME, 1, 2),
        (WATCHED, 2, 1),
        (GROUPS, 2, 1),
        (LATER_GROUPS, 2, 1),
        ("MemoryError\n", 2, 1),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 TiB\n", 2, 1),
        (f"{out_of_memory(MemoryError())}\n", 2, 1),
        (f"{out_of_memory(MemoryError('Unable to allocate 8.00 TiB'))}\n", 2, 1),
        (
            f"{out_of_memory(RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB'))}\n",
            1,
            1,
        ),
        (CANCELLED, 1, 1),
        (PREEMPTED, 1, 1),
        (OTHER, 1, 1),
        (GPU, 1, 1),
        (GROUPS + "x" * LONGEST_LOG, 1, 1),
        ("x" * LONGEST_LOG + TIME, 1, 2),
    ],
)
def test_what_was_short_is_read_from_the_end_of_the_log(
    tmp_path: Path, log: str, memory: int, time: int
) -> None:
    logs = write(tmp_path, log)
    assert (resource_factor("memory", logs, 2), resource_factor("time", logs, 2)) == (memory, time)


def test_each_attempt_counts_and_earlier_runs_do_not(tmp_path: Path) -> None:
    logs = write(tmp_path, WATCHED, TIME, WATCHED, OTHER, WATCHED)
    assert [resource_factor("memory", logs, attempt) for attempt in (1, 2, 3, 4)] == [1, 2, 2, 3]
    assert [resource_factor("time", logs, attempt) for attempt in (1, 4, 5)] == [1, 1, 2]


def test_an_attempt_without_a_log_was_short_of_nothing() -> None:
    assert resource_factor("memory", [], 3) == 1


def test_logs_of_a_job_include_its_first_group(tmp_path: Path) -> None:
    job = {"dataset": "gender", "model": "bert", "shard": "1", "shards": "12"}
    own = "rule predict:\n    wildcards: dataset=gender, model=bert, shard=1, shards=12\n"
    other = "rule predict:\n    wildcards: dataset=gender, model=bert, shard=11, shards=12\n"
    contents = {
        "rule_predict/gender_bert_1_12/1.log": "",
        "rule_predict/gender_bert_11_12/2.log": "",
        "group_shards-of-bert_predict/3.log": own + other,
        "group_shards-of-bert_predict/4.log": other,
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert {log.name for log in attempt_logs(tmp_path, job)} == {"1.log", "3.log"}
