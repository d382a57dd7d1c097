"""What a plain run of Snakemake says: how far it is, how to go on after Ctrl-C, and in the end what
was found.
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

from project import Project


def test_a_run_reports_progress_and_findings(small_config: dict[str, Any], tmp_path: Path) -> None:
    config = small_config | {"run": {"models": ["answering"], "datasets": ["religion"]}}
    project = Project.create(tmp_path / "project", config)
    process = project.start(environment={"BIASGRID_PROGRESS": "0.3"})
    said = ""
    for line in process.stdout or ():
        said += line
        if re.match(
            r"biasgrid: \d+:\d\d  asks the model: \d+ of \d+ jobs done; \d+ of [\d,]+ "
            r"rows \(\d+ %\)",
            line,
        ):
            os.killpg(process.pid, signal.SIGINT)
            break
    said += process.communicate()[0]
    assert process.returncode == 1, said
    command = "snakemake --configfile config/small.yaml --cores 2"
    assert f"\nStopped. Finished work is kept. To go on: {command}\n" in said
    process = project.start()
    said, _ = process.communicate()
    assert process.returncode == 0, said
    _, ending = said.split("Found:\n")
    assert "  answering\n" in ending
    assert "Report: results/report/index.html" in ending
    # A minute has not passed, or not often.
    assert said.count("\nbiasgrid: ") <= 5
