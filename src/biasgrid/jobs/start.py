"""How a job's script begins: where its run has a starter (see `starter`) the job is done by a copy of that.

Imports nothing that takes time, because most scripts do no more than this.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

FORK_SERVER_ADDRESS = "BIASGRID_STARTER"
"""The variable of the environment that says where the starter listens, and which Python it is."""

TABLE_MODULES = ("pandas", "pyarrow", "pandera", "pandera.strategies.base_strategies")
STATISTICS_MODULES = (*TABLE_MODULES, "scipy.special")
FIGURE_MODULES = (*TABLE_MODULES, "plotnine", "matplotlib.pyplot")
MODEL_MODULES = (*TABLE_MODULES, "torch", "transformers.modeling_utils", "transformers.models.auto.modeling_auto")
TRAINING_MODULES = (*MODEL_MODULES, "transformers.trainer")
"""What jobs import that takes time and starts no threads: polars does, which a copy of a process would lack.

pandera imports its strategies at the first check of a table; where there is hypothesis, these import it.
"""


def start_job(log: str, needs: Sequence[str]) -> None:
    """Begins a job with its log, in a copy of the run's starter where there is one; see `logs.start_log`.

    Args:
        log: the rule's log file.
        needs: the modules that the starter shall have imported, such as `TABLES`.
    """
    hand_over(needs)
    from biasgrid.jobs.logs import start_log

    start_log(log)


def hand_over(needs: Sequence[str]) -> None:
    """Lets a copy of the starter run this script, and ends as it ends; returns where there is no starter."""
    python, _, address = os.environ.pop(FORK_SERVER_ADDRESS, "").partition(":")
    # A rule's conda environment has another Python, with other packages.
    if python != sys.executable:
        return
    with socket.socket(socket.AF_UNIX) as starter:
        try:
            starter.connect(address)
        except OSError:
            return
        # Ctrl-C on a terminal reaches the copy by itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: starter.sendall(bytes([number])))
        job = {"script": sys.argv[0], "folder": str(Path.cwd()), "environment": dict(os.environ), "needs": needs}
        ending = ending_of(starter, job, [0, 1, 2])
    end_as(ending)


def ending_of(starter: socket.socket, job: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Lets a copy of a starter run a script, and waits for its end.

    Args:
        starter: a connection to the starter.
        job: `script`, `folder`, `environment` and `needs`, see `starter.Job`.
        streams: file descriptors that the copy has as its standard input, output and error.

    Returns:
        The exit status, or less than 0 the signal that killed the copy; 1 where the starter has ended before.
    """
    socket.send_fds(starter, [b"\n"], streams)
    starter.sendall(json.dumps(job).encode() + b"\n")
    ending = starter.recv(4)
    return int(struct.unpack("!i", ending)[0]) if ending else 1


def end_as(code: int) -> None:
    """Ends this process as another one has ended.

    Args:
        code: its exit status, or less than 0 the signal that killed it.
    """
    if code < 0:
        # What nobody may handle refuses to be set.
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
