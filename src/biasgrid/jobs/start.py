"""The start of a job's script, which a copy of the run's fork server runs, if there is one.

See `fork_server`.

Imports nothing that takes time, because most scripts do no more than this.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

FORK_SERVER_ADDRESS = "BIASGRID_FORK_SERVER"
"""The environment variable that holds the Python of the fork server and the address where it
listens.
"""

TABLE_MODULES = ("pandas", "pyarrow", "pandera", "pandera.strategies.base_strategies")
STATISTICS_MODULES = (*TABLE_MODULES, "scipy.special")
FIGURE_MODULES = (*TABLE_MODULES, "plotnine", "matplotlib.pyplot")
MODEL_MODULES = (
    *TABLE_MODULES,
    "torch",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
)
TRAINING_MODULES = (*MODEL_MODULES, "transformers.trainer")
"""Imports of jobs that take time and start no threads; polars starts some, which a copy of a
process would lack.

pandera imports its strategies at the first check of a table; where there is hypothesis, these
import it.
"""


def start_job(log: str, needs: Sequence[str]) -> None:
    """Begins a job with its log, in a copy of the run's fork server if there is one; see
    `logs.start_log`.

    Args:
        log: the rule's log file.
        needs: the modules that the fork server imports before it makes the copy, such as
            `TABLE_MODULES`; without a fork server they are imported here.
    """
    hand_over(needs)
    from biasgrid.jobs.logs import start_log

    start_log(log)
    # As in the fork server: what a job needs of the hub was fetched before, and its library asks
    # when it is imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    import_modules(needs)


def import_modules(names: Sequence[str]) -> None:
    """Imports modules that exist, and takes all objects out of garbage collection.

    Modules make many objects that stay, at which each collection would look again: a third of the
    time of an import.
    """
    gc.disable()
    for name in names:
        # A module that cannot be imported fails in the script, which reports it.
        with suppress(Exception):
            import_module(name)
    gc.freeze()
    gc.enable()


def hand_over(needs: Sequence[str]) -> None:
    """Lets a copy of the fork server run this script, and ends this process as the copy ends.

    It returns only if there is no fork server.
    """
    python, _, address = os.environ.pop(FORK_SERVER_ADDRESS, "").partition(":")
    # A rule's conda environment has another Python, with other packages.
    if python != sys.executable:
        return
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
        except OSError:
            return
        # Ctrl-C on a terminal reaches the copy by itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: server.sendall(bytes([number])))
        job = {
            "script": sys.argv[0],
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
            "needs": needs,
        }
        status = run_in_copy(server, job, [0, 1, 2])
    end_as(status)


def run_in_copy(server: socket.socket, job: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Lets a copy of a fork server run a script, and waits for its end.

    Args:
        server: a connection to the fork server.
        job: `script`, `folder`, `environment` and `needs`, see `fork_server.Job`.
        streams: file descriptors that the copy has as its standard input, output and error.

    Returns:
        The exit status, or less than 0 the signal that killed the copy; 1 if the fork server has
        ended before.
    """
    socket.send_fds(server, [b"\n"], streams)
    server.sendall(json.dumps(job).encode() + b"\n")
    ending = server.recv(4)
    return int(struct.unpack("!i", ending)[0]) if ending else 1


def end_as(code: int) -> None:
    """Ends this process as another one has ended.

    Args:
        code: its exit status, or less than 0 the signal that killed it.
    """
    if code < 0:
        # SIGKILL and SIGSTOP refuse to be set; nobody can have handled them.
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
