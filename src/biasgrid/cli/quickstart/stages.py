"""A run of Snakemake whose progress is reported in stages, a line each."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import join

from biasgrid.base.faults import UserError

STAGE_LINES = {
    "synthetic": "plants bias in texts",
    "train": "trains models on them",
    "fetch": "looks at the model",
    "capabilities": "looks at what the server can do",
    "expand": "writes the questions",
    "predict": "asks the model",
    "measure": "measures",
    "statistics": "computes intervals",
    "compare": "compares models",
    "plot": "draws",
    "report": "writes the report",
}
"""The stages, by the rules that begin them, in their order."""
STARTED = re.compile(r"^(?:local)?rule (\w+):")
LAST_LINES = 15


def run_in_stages(config: Path, snakefile: Path, cores: int, report: Callable[[str], None]) -> None:
    """Runs a grid to its end.

    Args:
        config: its config.
        snakefile: the workflow.
        cores: how many processors it may have.
        report: called with each stage as it begins, and the seconds since the start.

    Raises:
        UserError: the run failed; with its last lines.
    """
    command = ["snakemake", "--snakefile", str(snakefile), "--cores", str(cores), "--configfile", str(config)]
    started, lines = time.monotonic(), list[str]()
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        for line, stage in stages_in(process):
            lines = [*lines[-LAST_LINES:], line]
            if stage:
                report(f"{time.monotonic() - started:5.0f} s  {stage}")
    except KeyboardInterrupt:
        # Snakemake has had it from the terminal, too, and ends its jobs.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        process.wait()
        raise
    if process.wait():
        raise UserError(
            f"{''.join(lines)}the run failed; what is done is kept: fix that, and go on with {join(command)}"
        )


def stages_in(process: subprocess.Popen[str]) -> Iterator[tuple[str, str | None]]:
    """Yields the lines of a run, each with the stage that begins there for the first time."""
    seen = set()
    for line in process.stdout or ():
        rule = STARTED.match(line)
        # Of some families what is observed is kept, by a rule of its own.
        name = rule[1].split("_")[0] if rule else ""
        stage = None if name in seen else STAGE_LINES.get(name)
        seen.add(name)
        yield line, stage
