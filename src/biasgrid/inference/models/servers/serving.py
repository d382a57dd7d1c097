"""A server of ours for the time of a job: started, waited for, asked, and ended however the job
ends.
"""

from __future__ import annotations

import ctypes
import logging
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from biasgrid.base.files import explain_refusal
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.section import Serve

logger = logging.getLogger(__name__)

LOCAL_HOST = "127.0.0.1"
SECONDS_BETWEEN_CHECKS = 0.2
SECONDS_TO_END = 20
SHOWN_LINES = 5
PR_SET_PDEATHSIG = 1
LIBRARY = ctypes.CDLL(None)


@contextmanager
def run_server(serve: Serve, folder: str, log: Path) -> Iterator[str]:
    """Starts a server, and ends it with the context; the system ends it where the job is killed.

    Args:
        serve: how it is started.
        folder: the checkpoint.
        log: where its output goes.

    Yields:
        Its address.

    Raises:
        ModelError: it cannot be started, ends, or is not ready in time; or its port is in use.
    """
    port = free_port(serve.port)
    words = [
        word.format(folder=folder, port=port, gpus=serve.gpus)
        for word in shlex.split(serve.command)
    ]
    logger.info("starting %s (its output: %s)", shlex.join(words), log)
    with explain_refusal(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("wb")
    with output:
        process = start_command(words, output.fileno())
        try:
            wait_until_ready(
                process, f"http://{LOCAL_HOST}:{port}{serve.health}", serve.minutes, log
            )
            yield f"http://{LOCAL_HOST}:{port}{serve.path}"
        finally:
            end(process)


def free_port(wanted: int | None) -> int:
    """Returns the port that is wanted, or any that is free.

    Raises:
        ModelError: it is in use.
    """
    with socket.socket() as tried:
        # As servers do: connections of one that has just ended do not count.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((LOCAL_HOST, wanted or 0))
        except OSError as error:
            raise ModelError(
                f"port {wanted} is not available ({os.strerror(error.errno or 0)}); expected a "
                "free port: end the process that uses it, or leave out `serve.port` and write "
                "{port} in `serve.command`"
            ) from None
        return int(tried.getsockname()[1])


def start_command(words: list[str], output: int) -> subprocess.Popen[bytes]:
    """Starts a command without a shell, as the leader of a group of its own.

    Raises:
        ModelError: there is no such command.
    """
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    except OSError as error:
        problem = f"serve.command: {words[0]!r} cannot be started ({os.strerror(error.errno or 0)})"
        raise ModelError(
            f"{problem}; expected a command that is installed where the jobs run"
        ) from None


def end_with_parent() -> None:
    """Has the system end this process when the one that has started it ends, however it does."""
    LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until_ready(
    process: subprocess.Popen[bytes], address: str, minutes: float, log: Path
) -> None:
    """Waits until a server says that it is well.

    Raises:
        ModelError: it ends before, or the time is over.
    """
    deadline = time.monotonic() + 60 * minutes
    while not is_well(address):
        if process.poll() is not None:
            raise ModelError(
                f"the server ended with {process.returncode} before it was ready{last_lines(log)}\n"
                f"expected a server that answers at {address}: read {log}, and try `serve.command` "
                "in a shell"
            )
        if time.monotonic() > deadline:
            raise ModelError(
                f"the server was not ready after {minutes:g} minutes{last_lines(log)}\n"
                f"expected an answer at {address}: read {log}, and check that `serve.health` is "
                "right and `serve.minutes` is long enough"
            )
        time.sleep(SECONDS_BETWEEN_CHECKS)
    logger.info("the server is ready")


def is_well(address: str) -> bool:
    """Says whether a server answers with 200; no proxy is asked, as it is on this machine."""
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=5) as response:
            return bool(response.status == 200)
    # Something else than a web server may answer at the port.
    except (OSError, HTTPException, ValueError):
        return False


def last_lines(log: Path) -> str:
    """Returns the last lines of a server's output, to stand in a message."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][
        -SHOWN_LINES:
    ]
    return "; its last lines:\n" + "\n".join(f"  {line[:300]}" for line in lines) if lines else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server and what it has started: first with a request, then by force."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, way)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
            break
    # The leader may have left others behind.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
