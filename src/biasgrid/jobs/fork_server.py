"""The fork server: a process beside Snakemake that starts jobs as copies (forks) of itself.

It imports the modules that jobs need, so torch and transformers are imported once in a run. A job's
script hands itself over (see `start`) and waits until the copy that runs it ends, so every job is
still a process of its own, with its own log, outputs and exit code.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.files import LAUNCHER_VARIABLE, refuse_if_abandoned
from biasgrid.jobs.start import EXIT_CODE, FORK_SERVER_ADDRESS, import_modules

ENVIRONMENT = {
    # Jobs that need the hub are not handed over; all others work offline.
    "HF_HUB_OFFLINE": "1",
    # A copy lacks the threads of the fork server, so it must have none. Each job sets its number in
    # torch.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Threads that wait for work sleep. By default they spin, on a processor that others need.
    "OMP_WAIT_POLICY": "PASSIVE",
    # Torch must look for a GPU without initialising CUDA, which no copy could use then.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
"""The variables with which the fork server imports; each copy has the variables of its own job."""
FOLDER_PREFIX = "biasgrid-fork-server-"
"""The beginning of the name of a fork server's folder in the temporary folder."""
SOCKET = "socket"
SECONDS_TO_LISTEN = 60
"""A younger folder without a listener may still be in the making, and is not removed."""


def start_fork_server() -> None:
    """Starts the fork server of this Snakemake, with its address in the environment of jobs.

    It ends with Snakemake and its last job. If the environment has a fork server already, as in a
    notebook that runs one config after another, that one is used. If no socket can be made, for
    example because the path of the temporary folder is too long, jobs import for themselves.
    """
    if FORK_SERVER_ADDRESS in os.environ:
        return
    remove_left_folders()
    # Only this user can enter the folder, and thus send jobs.
    folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
    address = str(Path(folder, SOCKET))
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(address)
        except OSError:
            Path(folder).rmdir()
            return
        listener.listen(128)
        module = "biasgrid.jobs.fork_server"
        command = [sys.executable, "-m", module, str(listener.fileno()), folder]
        server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            env=os.environ | ENVIRONMENT,
        )
    os.environ[FORK_SERVER_ADDRESS] = f"{sys.executable}:{address}"
    # Closes the server's standard input, at whose end it ends. So it also ends if Snakemake is
    # killed.
    atexit.register(server.communicate)


def remove_left_folders() -> None:
    """Removes the folders of fork servers that were killed and so could not remove them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        # Another process may remove the folder meanwhile.
        with suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as client:
            if time.time() - folder.stat().st_mtime < SECONDS_TO_LISTEN:
                continue
            client.setblocking(False)
            try:
                client.connect(str(folder / SOCKET))
            except (ConnectionRefusedError, FileNotFoundError):
                shutil.rmtree(folder, ignore_errors=True)
            except OSError:
                # A server that is busy, or the folder of another user.
                continue


def forget_fork_server() -> None:
    """Removes the fork server's address, so that jobs import for themselves.

    A job that was submitted to a cluster must not run outside of its allocation.
    """
    os.environ.pop(FORK_SERVER_ADDRESS, None)


class Job(NamedTuple):
    """A job that a script has handed over.

    Attributes:
        script: the file to run.
        folder: its working folder.
        environment: its environment variables.
        needs: the modules to import before the copy is made.
        streams: the file descriptors of its standard input, output and error.
    """

    script: str
    folder: str
    environment: dict[str, str]
    needs: list[str]
    streams: list[int]


class ForkServer:
    """Starts jobs as copies of this process.

    Attributes:
        listener: the socket where scripts hand over their jobs.
        lifeline: the reading end of a pipe whose other end Snakemake holds as long as it lives.
        clients: the connections to waiting scripts, by the process ids of the copies that run them.
        selector: waits for the listener, the lifeline, clients and signals.
        signals: the reading end of a pipe that has something to read after a signal, such as
            SIGCHLD when a copy has ended.
    """

    def __init__(self, listener: socket.socket, lifeline: int):
        """Handles signals from now on, and starts no job yet."""
        self.listener, self.lifeline = listener, lifeline
        self.clients: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.signals = wake_at_signals()
        self._wait_for(listener, self._start)
        self._wait_for(lifeline, self._close)
        self._wait_for(self.signals, self._report_endings)

    def serve(self) -> Job | None:
        """Starts jobs until Snakemake and all jobs have ended.

        Returns:
            In each copy its job, as soon as it is made; in the server None, in the end.
        """
        while self.lifeline in self.selector.get_map() or self.clients:
            for key, _ in self.selector.select():
                respond: Callable[[], Job | None] = key.data
                job = respond()
                if job is not None:
                    return job
        return None

    def close_in_copy(self) -> None:
        """Closes the server's sockets in a copy, which would otherwise keep them open.

        The lifeline is standard input, which `run_job` replaces.
        """
        # Not `unregister`, which would change the server too: both share the set of sources.
        self.selector.close()
        for connection in (self.listener, *self.clients.values()):
            connection.close()

    def _wait_for(self, source: socket.socket | int, respond: Callable[[], Job | None]) -> None:
        """Calls a function whenever a source has something to read.

        Args:
            source: a socket or file descriptor.
            respond: the function. It must return None in the server and a job in a copy, at which
                `serve` ends.
        """
        self.selector.register(source, selectors.EVENT_READ, respond)

    def _close(self) -> None:
        """Notes that Snakemake has ended."""
        self.selector.unregister(self.lifeline)

    def _start(self) -> Job | None:
        """Makes a copy for the job of a script; returns the job in the copy, None in the server."""
        client, _ = self.listener.accept()
        try:
            job = receive_job(client)
        except (OSError, ValueError):
            client.close()
            return None
        # Also exempts all objects from garbage collection, which would copy their memory in a copy.
        import_modules(job.needs)
        pid = os.fork()
        if pid == 0:
            # `close_in_copy` does not know it: it is in `clients` of the server only.
            client.close()
            return job
        for stream in job.streams:
            os.close(stream)
        self.clients[pid] = client
        self._wait_for(client, lambda: self._pass_on(pid))
        return None

    def _pass_on(self, pid: int) -> None:
        """Sends the copy the signal that its script got, or SIGKILL if the script was killed."""
        message = self.clients[pid].recv(1)
        is_script_gone = not message
        os.kill(pid, signal.SIGKILL if is_script_gone else message[0])
        if is_script_gone:
            self.selector.unregister(self.clients[pid])

    def _report_endings(self) -> None:
        """Sends scripts the exit codes of their copies that have ended."""
        with suppress(BlockingIOError):
            os.read(self.signals, 4096)
        for pid, client in list(self.clients.items()):
            ended_pid, status = os.waitpid(pid, os.WNOHANG)
            if ended_pid == pid:
                with suppress(OSError):
                    client.sendall(EXIT_CODE.pack(os.waitstatus_to_exitcode(status)))
                with suppress(KeyError):
                    self.selector.unregister(client)
                client.close()
                del self.clients[pid]


def wake_at_signals() -> int:
    """Makes this process survive SIGINT and SIGTERM, and wakes it at these and when a copy ends.

    The two signals are meant for the jobs of a run, after which the fork server ends by itself. A
    copy inherits all this: `run_job` undoes it there.

    Returns:
        The reading end of a pipe, which has something to read after a signal.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reading


def receive_job(client: socket.socket) -> Job:
    """Receives the job of a script.

    Raises:
        OSError: the script has ended meanwhile.
        ValueError: the message is no job.
    """
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    with client.makefile("rb") as lines:
        return Job(**json.loads(lines.readline()), streams=streams)


def end_with_parent(parent: int) -> None:
    """Makes this copy end with the fork server, so that no abandoned job continues.

    Args:
        parent: the process id of the fork server.
    """
    if sys.platform == "linux":
        # prctl(PR_SET_PDEATHSIG). SIGTERM, so that the job can remove its temporary files.
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    # On other systems the job at least puts no output in place, see `files.each_file_whole`.
    os.environ[LAUNCHER_VARIABLE] = f"{os.getpid()}:{parent}"
    refuse_if_abandoned("a job")


def run_job(job: Job, parent: int) -> None:
    """Runs a job in this copy of a fork server, as if Python had been started with its script.

    Undoes the fork server's settings of signals, streams, variables and modules.

    Args:
        job: the job.
        parent: the process id of the fork server.
    """
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for standard_stream, stream in enumerate(job.streams):
        os.dup2(stream, standard_stream)
        os.close(stream)
    os.chdir(job.folder)
    os.environ.clear()
    os.environ.update(job.environment)
    end_with_parent(parent)
    # An import may have cached it, and this job may have another temporary folder.
    tempfile.tempdir = None
    sys.argv = [job.script]
    python_path = job.environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [str(Path(job.script).parent), *(folder for folder in python_path if folder)]
    # The job may be of another run, with biasgrid in another place.
    for name in list(sys.modules):
        if name.partition(".")[0] == "biasgrid":
            del sys.modules[name]
    run_and_leave(job.script)


def run_and_leave(script: str) -> None:
    """Runs a script, and ends this process right after the exit handlers of the script.

    Otherwise Python would tear down all modules that the fork server has imported, and copy its
    whole memory for that. This takes half a second, longer than many jobs. After an exception it
    does so all the same, so that the exception is reported.
    """
    status: int | None = None

    def leave() -> None:
        if status is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    # Exit handlers run in reverse order: those of the script before it, the fork server's never.
    atexit.register(leave)
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else None
        raise


def serve_jobs(listener: int, folder: str) -> None:
    """Starts jobs until Snakemake and all jobs have ended.

    In a copy, runs the copy's job, and the process ends with it.

    Args:
        listener: the file descriptor of the socket where scripts hand over their jobs.
        folder: the folder of the socket's file, which is removed in the end.
    """
    server_pid = os.getpid()
    server = ForkServer(socket.socket(fileno=listener), sys.stdin.fileno())
    job = server.serve()
    # From here on run both the server (None) and each copy (its job).
    if job is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    server.close_in_copy()
    run_job(job, server_pid)


if __name__ == "__main__":
    serve_jobs(int(sys.argv[1]), sys.argv[2])
