"""What a run on a SLURM cluster needs: Snakemake's plugin, and SLURM's commands."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec

from biasgrid.base.faults import UserError

SLURM_PLUGIN = "snakemake_executor_plugin_slurm"
NEEDED_COMMANDS = ("sbatch", "sinfo")
"""The commands of SLURM that are looked for."""
SECONDS_BETWEEN_LOOKS = 5
MOST_LOOKS_IN_VAIN = 4
"""A shared disk may be away for seconds."""


def check_slurm() -> None:
    """Refuses a machine from which no job can be submitted.

    Raises:
        UserError: with a line for everything that is missing, and the command that mends it.
    """
    if problems := list(slurm_problems()):
        raise UserError("\n".join(problems))


def slurm_problems() -> Iterator[str]:
    """Yields a line for everything that is missing."""
    if find_spec(SLURM_PLUGIN) is None:
        yield (
            "SLURM: Snakemake's plugin is not installed; install it with "
            f"`{sys.executable} -m pip install 'snakemake-executor-plugin-slurm<3'`"
        )
    for command in missing_commands():
        yield (
            f"SLURM: there is no command {command} here; run this on a login node of the cluster, "
            "after `module load slurm` if SLURM is a module there"
        )


def missing_commands() -> list[str]:
    """Returns the commands of SLURM that are not there."""
    return [command for command in NEEDED_COMMANDS if shutil.which(command) is None]


def watch_commands(run_ended: threading.Event) -> None:
    """Ends this process with SIGTERM if a command of SLURM vanishes, in a thread of its own.

    Snakemake would submit and ask for ever.

    Args:
        run_ended: set when the run is over.
    """
    threading.Thread(target=_watch, args=(run_ended,), daemon=True).start()


def _watch(run_ended: threading.Event) -> None:
    """Looks for the commands until the run is over."""
    looks_in_vain = 0
    while looks_in_vain < MOST_LOOKS_IN_VAIN:
        if run_ended.wait(SECONDS_BETWEEN_LOOKS):
            return
        looks_in_vain = looks_in_vain + 1 if missing_commands() else 0
    names = " and ".join(missing_commands())
    sys.stderr.write(
        f"SLURM: {names} vanished during the run, so it ends; its jobs may go on in the queue\n"
    )
    os.kill(os.getpid(), signal.SIGTERM)
