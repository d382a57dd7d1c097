"""A server that a job starts, waits for and ends, however the job ends."""

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
    """Starts a server, and ends it with the context; if the job is killed, the system ends it.

    Args:
        serve: its section of the config.
        folder: the folder of the checkpoint.
        log: the file for its output.

    Yields:
        The address of the protocol, such as `http://127.0.0.1:PORT/v1`.

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


def free_port(fixed_port: int | None) -> int:
    """Returns the fixed port if it is free, or any free port if it is None.

    Another program may take the port before the server does.

    Raises:
        ModelError: the fixed port is in use.
    """
    with socket.socket() as listener:
        # As servers do: connections of one that has just ended do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOCAL_HOST, fixed_port or 0))
        except OSError as error:
            raise ModelError(
                f"port {fixed_port} is not available ({os.strerror(error.errno or 0)}); expected a "
                "free port: end the process that uses it, or leave out `serve.port` and write "
                "{port} in `serve.command`"
            ) from None
        return int(listener.getsockname()[1])


def start_command(words: list[str], output: int) -> subprocess.Popen[bytes]:
    """Starts a command without a shell, as the leader of its own process group.

    Args:
        words: the command and its arguments.
        output: the file descriptor for its output.

    Raises:
        ModelError: the command cannot be started.
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
    """Has the kernel end this process when its parent ends, even if that is killed."""
    LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until_ready(
    process: subprocess.Popen[bytes], address: str, minutes: float, log: Path
) -> None:
    """Waits until a server answers at its health address.

    Args:
        process: the server.
        address: its health address.
        minutes: the longest wait.
        log: the file of its output, whose last lines go into the error.

    Raises:
        ModelError: the server ends before, or the time is over.
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
    """Whether an address on this machine answers with 200; proxies are ignored."""
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=5) as response:
            return bool(response.status == 200)
    # The port may be another program's, which is no web server.
    except (OSError, HTTPException, ValueError):
        return False


def last_lines(log: Path) -> str:
    """Returns the last lines of a server's output for a message, "" if it has none."""
    output = log.read_text(errors="replace").splitlines()
    lines = [f"  {line[:300]}" for line in output if line.strip()][-SHOWN_LINES:]
    return "; its last lines:\n" + "\n".join(lines) if lines else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server and the processes that it has started: SIGTERM first, then SIGKILL."""
    for end_signal in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, end_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
            break
    # The server has ended, but its workers may not have.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
