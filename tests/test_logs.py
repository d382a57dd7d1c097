import subprocess
import sys
from pathlib import Path

SCRIPT = """
import logging
from biasgrid.faults import UserError
from biasgrid.logs import start_log
start_log("/dev/full")
logging.info("one line")
logging.info("another line")
raise UserError("what the user reads")
"""


def test_a_log_on_a_full_disk_is_no_error_of_its_own() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "/dev/full: lines of the log are lost (No space left on device)",
        "what the user reads",
    ]


def test_an_interruption_is_no_failure(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = f"from biasgrid.logs import start_log; start_log({str(log)!r}); raise KeyboardInterrupt"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode != 0, run.stderr) == (True, "interrupted\n")
    assert "ERROR" not in log.read_text()
    assert "interrupted" in log.read_text()
