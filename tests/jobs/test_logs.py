import re
import subprocess
import sys
from pathlib import Path

import pytest

from biasgrid.runs.failures import Failure, failure_of

ROOT = Path(__file__).parents[2]
SCRIPT = """
import logging
from biasgrid.base.faults import UserError
from biasgrid.jobs.logs import start_log
start_log("/dev/full")
logging.info("one line")
logging.info("another line")
raise UserError("what the user reads")
"""


def test_a_log_on_a_full_disk_is_no_error_of_its_own() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "/dev/full: lines of this log were lost (No space left on device)",
        "what the user reads",
    ]


FAILS = """
import logging
from pathlib import Path
from biasgrid.base.faults import UserError
from biasgrid.jobs.logs import start_log
from biasgrid.runs.failures import failure_of
start_log("log")
logging.error("what a library says and goes on")
assert failure_of("rule", Path("log")) is None
raise UserError("what the user reads")
"""


def test_a_log_shows_that_its_job_failed_until_the_next_run_begins_it_anew(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FAILS], cwd=tmp_path, capture_output=True, check=False)
    assert failure_of("rule", tmp_path / "log") == Failure(
        "rule", str(tmp_path / "log"), "what the user reads"
    )
    again = "from biasgrid.jobs.logs import start_log; start_log('log')"
    subprocess.run([sys.executable, "-c", again], cwd=tmp_path, check=True)
    assert failure_of("rule", tmp_path / "log") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "takes_all",
    ["bytearray(10**15)", "import numpy; numpy.ones(10**15)", "import torch; torch.ones(10**15)"],
)
def test_memory_that_runs_out_is_one_message_that_says_what_to_do(
    tmp_path: Path, takes_all: str
) -> None:
    log = tmp_path / "log"
    script = f"from biasgrid.jobs.logs import start_log; start_log({str(log)!r})\n{takes_all}"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    failure = failure_of("predict", log)
    assert failure is not None
    assert run.stderr == f"{failure.error}\n"
    assert failure.error.startswith("out of memory")
    for word in ("more memory", "`shards`", "`sample`", "`inference.token_budget`"):
        assert word in failure.error
    assert "memory ran out here:" in log.read_text()


@pytest.mark.parametrize(
    "script", sorted((ROOT / "workflow" / "scripts").glob("*.py")), ids=lambda path: path.stem
)
def test_every_job_begins_its_log_anew(script: Path) -> None:
    assert re.search(r"\nstart_(log|job)\(snakemake\.log\[0\][,)]", script.read_text())


def test_an_interruption_is_no_failure(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = (
        "from biasgrid.jobs.logs import start_log; "
        f"start_log({str(log)!r}); raise KeyboardInterrupt"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (run.returncode != 0, run.stderr) == (True, "interrupted\n")
    assert "CRITICAL" not in log.read_text()
    assert "interrupted" in log.read_text()
