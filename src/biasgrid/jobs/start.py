"""The start of a job's script, which hands itself over to the fork server of the run.

See `fork_server`. Nothing that takes time is imported here, because a script that is handed over
does no more than this.
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
"""The environment variable with `PYTHON:ADDRESS`, the Python of the fork server and its socket."""
EXIT_CODE = struct.Struct("!i")
"""A message of the fork server: how a copy ended.

As in `subprocess`, an exit code below 0 is the number of the signal that ended a process, negated.
"""

# Modules for `start_job`: imports of jobs that take time and start no threads, since a copy of a
# process lacks its threads. So polars, which starts some, is not among them. pandera imports its
# strategies, and these hypothesis if it is installed, only when it checks the first table.
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


def start_job(log: str, needs: Sequence[str]) -> None:
    """Begins a job's script; call it before any import that takes time.

    If the run has a fork server, the script runs from its beginning once more, in a copy of the
    server; this process only waits for the copy and never returns from here. In the copy, and
    without a fork server, it opens the log and imports `needs`.

    Not for jobs that need the hub, which the fork server's processes cannot reach: these call
    `logs.start_log`.

    Args:
        log: the rule's log file.
        needs: one of the tuples `TABLE_MODULES`, `MODEL_MODULES` and so on. In a copy they are
            imported already.
    """
    hand_over(needs)
    from biasgrid.jobs.logs import start_log

    start_log(log)
    # Must be set before the hub's library is imported. Everything was fetched before.
    os.environ["HF_HUB_OFFLINE"] = "1"
    import_modules(needs)


def import_modules(module_names: Sequence[str]) -> None:
    """Imports modules, and exempts all objects so far from garbage collection.

    The objects of modules stay until the end. Each collection would look at them again, which is a
    third of the time of an import.
    """
    gc.disable()
    for name in module_names:
        # A module that cannot be imported fails in the script, which reports it.
        with suppress(Exception):
            import_module(name)
    gc.freeze()
    gc.enable()


def hand_over(needs: Sequence[str]) -> None:
    """Lets a copy of the fork server run this script, and ends this process as the copy ends.

    It returns only if there is no fork server of this Python. The variable of its address is
    removed, so that a copy does not hand itself over again.
    """
    server_name = os.environ.pop(FORK_SERVER_ADDRESS, "")
    # A rule's conda environment has another Python, with other packages. Not split at the colon,
    # since both paths may contain one.
    own_python = f"{sys.executable}:"
    if not server_name.startswith(own_python):
        return
    address = server_name.removeprefix(own_python)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
        except OSError:
            return
        # Ctrl-C in a terminal reaches the copy without this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: server.sendall(bytes([number])))
        job = {
            "script": sys.argv[0],
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
            "needs": needs,
        }
        exit_code = run_in_copy(server, job, [0, 1, 2])
    end_as(exit_code)


def run_in_copy(server: socket.socket, job: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Lets a copy of a fork server run a script, and returns its `EXIT_CODE` at its end.

    1 if the fork server ended first.

    Args:
        server: a connection to the fork server.
        job: `script`, `folder`, `environment` and `needs`, see `fork_server.Job`.
        streams: the file descriptors for the standard input, output and error of the copy.
    """
    socket.send_fds(server, [b"\n"], streams)
    server.sendall(json.dumps(job).encode() + b"\n")
    message = server.recv(EXIT_CODE.size)
    is_server_gone = not message
    return 1 if is_server_gone else int(EXIT_CODE.unpack(message)[0])


def end_as(exit_code: int) -> None:
    """Ends this process as another one ended: with the same `EXIT_CODE`, or by the same signal."""
    if exit_code < 0:
        # SIGKILL and SIGSTOP have no handlers, and an attempt to set one fails.
        with suppress(OSError):
            signal.signal(-exit_code, signal.SIG_DFL)
        os.kill(os.getpid(), -exit_code)
    os._exit(exit_code)
