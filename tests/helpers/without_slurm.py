"""A machine without SLURM, and one with commands that only look like SLURM's."""

from __future__ import annotations

import os
from pathlib import Path

COMMANDS = {
    "sbatch": "echo 17",
    "sinfo": "exit 0",
    "squeue": "exit 0",
    "sacct": "exit 0",
    "sacctmgr": "exit 0",
    "scontrol": "exit 0",
    "scancel": "exit 0",
}
"""The commands of SLURM that the plugin calls, and what stands in for them: jobs that stay queued."""


def path_without_slurm(folder: Path) -> str:
    """Returns a search path with all commands of this machine but SLURM's; the folder is filled."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for file in Path(place).glob("*"):
            if file.name not in COMMANDS and not (folder / file.name).exists():
                (folder / file.name).symlink_to(file)
    return str(folder)


def write_commands(folder: Path) -> None:
    """Writes the commands that stand in for SLURM's into a folder."""
    folder.mkdir()
    for name, does in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)
