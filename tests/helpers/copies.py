"""Runs of Snakemake as copies of a process that has imported it; their jobs are copies of another
one.

In most runs of tests imports would take longer than all else. What a Snakemake of its own does at
Ctrl-C or a kill, with a fork server of its own, is tried with `Project.start`.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from biasgrid.jobs.fork_server import start_fork_server
from biasgrid.jobs.start import FORK_SERVER_ADDRESS, run_in_copy

SCRIPT = Path(__file__).with_name("run_snakemake.py")
NEEDS = (
    "snakemake.cli",
    "snakemake.report.html_reporter",
    "jinja2",
    "jsonschema",
    "nbformat",
    "requests",
    "pydantic",
)
"""What a Snakemake imports that takes time."""
PATIENCE = 1800
"""Seconds that a run may take."""


@cache
def fork_server_for(purpose: str) -> str:
    """Starts a fork server of this process, one for each purpose; returns what tells jobs where it
    is.
    """
    start_fork_server()
    return os.environ.pop(FORK_SERVER_ADDRESS)


def shared_fork_server() -> dict[str, str]:
    """What lets the runs of tests share a fork server, in the environment of each."""
    return {FORK_SERVER_ADDRESS: fork_server_for("jobs")}


def copy_of_snakemake(
    arguments: Sequence[str], folder: Path, environment: dict[str, str]
) -> tuple[str, int]:
    """Runs Snakemake to its end.

    Args:
        arguments: those of its command line.
        folder: its working folder.
        environment: its variables; see `shared_fork_server`.

    Returns:
        What it printed, and how it ended: its exit status.

    Raises:
        TimeoutError: it took longer than `PATIENCE`, and was killed.
    """
    job = {
        "script": str(SCRIPT),
        "folder": str(folder),
        "environment": environment | {"ARGUMENTS": json.dumps(arguments)},
        "needs": NEEDS,
    }
    _, _, address = fork_server_for("Snakemake").partition(":")
    with (
        tempfile.TemporaryFile("w+") as output,
        Path(os.devnull).open() as nothing,
        socket.socket(socket.AF_UNIX) as fork_server,
    ):
        fork_server.settimeout(PATIENCE)
        fork_server.connect(address)
        ending = run_in_copy(fork_server, job, [nothing.fileno(), output.fileno(), output.fileno()])
        output.seek(0)
        return output.read(), ending
