"""The fork server: a process beside Snakemake that starts jobs as copies of itself.

It has imported the modules that jobs need.

A job's script hands itself over (see `start`), and waits until the copy that runs it ends. So every
job stays a process of its own, with its own log, outputs and end, but torch and transformers are
imported once in a run.
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
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.files import PARENT, refuse_without_parent
from biasgrid.jobs.start import FORK_SERVER_ADDRESS, import_modules

ENVIRONMENT = {
    # Jobs that need the hub do not come here; all others do without.
    "HF_HUB_OFFLINE": "1",
    # Threads of the fork server would be missing in its copies; each job tells torch how many it
    # has.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # A second thread that waits for work sleeps: by default it spins, on a processor that another
    # process needs.
    "OMP_WAIT_POLICY": "PASSIVE",
    # When torch asks whether there is a GPU, it must not begin with CUDA, which no copy could use
    # then.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
"""The environment in which the fork server imports; each copy has the variables of its own job."""
FOLDER_PREFIX = "biasgrid-fork-server-"
"""Beginning of the name of a fork server's folder, in the temporary folder."""
SOCKET = "socket"
SECONDS_TO_LISTEN = 60
"""Age of a folder without a listener from which on it was left behind, and is not being made."""


def start_fork_server() -> None:
    """Starts the fork server of this Snakemake, and tells jobs its address.

    It ends with Snakemake and its last job. If the environment names one already, as in a notebook
    that runs config after config, that one does the jobs. If there can be no socket, as in a
    temporary folder with a long name, jobs import for themselves.
    """
    if FORK_SERVER_ADDRESS in os.environ:
        return
    remove_left_folders()
    # Only this user can enter the folder, and so send jobs.
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
    # It ends when its standard input does, also if Snakemake is killed.
    atexit.register(server.communicate)


def remove_left_folders() -> None:
    """Removes the folders of fork servers that were killed, and so could not do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        # Folders of other users cannot be entered, and a server that is busy is there.
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            if time.time() - folder.stat().st_mtime < SECONDS_TO_LISTEN:
                continue
            client.setblocking(False)
            try:
                client.connect(str(folder / SOCKET))
            except (ConnectionRefusedError, FileNotFoundError):
                shutil.rmtree(folder, ignore_errors=True)


def forget_fork_server() -> None:
    """Lets jobs import for themselves.

    A job that was submitted to a cluster must not leave its allocation.
    """
    os.environ.pop(FORK_SERVER_ADDRESS, None)


class Job(NamedTuple):
    """A job that a script has handed over.

    Attributes:
        script: the file to run.
        folder: its working folder.
        environment: its variables.
        needs: the modules to import before.
        streams: its standard input, output and error.
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
        jobs: the connections to scripts, by the processes of the copies that run them.
        selector: waits for the listener, the lifeline, scripts and ends of copies.
        endings: the reading end of a pipe that has something to read when a copy has ended.
    """

    def __init__(self, listener: socket.socket, lifeline: int):
        """Starts nothing yet."""
        self.listener, self.lifeline = listener, lifeline
        self.jobs: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.endings = self._endings_of_copies()
        self._wait_for(listener, self._start)
        self._wait_for(lifeline, self._close)
        self._wait_for(self.endings, self._report_endings)

    def serve(self) -> Job | None:
        """Starts jobs until Snakemake and all jobs end.

        Returns:
            In each copy its job, and None in the fork server in the end.
        """
        while self.lifeline in self.selector.get_map() or self.jobs:
            for key, _ in self.selector.select():
                respond: Callable[[], Job | None] = key.data
                job = respond()
                if job is not None:
                    return job
        return None

    def close_in_copy(self) -> None:
        """Closes in a copy the connections of the fork server."""
        self.selector.close()
        for connection in (self.listener, *self.jobs.values()):
            connection.close()

    def _wait_for(self, source: socket.socket | int, respond: Callable[[], Job | None]) -> None:
        """Calls a function whenever a source has something to read."""
        self.selector.register(source, selectors.EVENT_READ, respond)

    def _endings_of_copies(self) -> int:
        """Returns the reading end of a pipe that has something to read when a copy has ended."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # These signals are meant for the jobs of a run; the fork server ends after them.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: None)
        return reading

    def _close(self) -> None:
        """Notes that Snakemake has ended."""
        self.selector.unregister(self.lifeline)

    def _start(self) -> Job | None:
        """Starts a job; returns it in the copy."""
        client, _ = self.listener.accept()
        try:
            job = receive_job(client)
        except (OSError, ValueError):
            client.close()
            return None
        # The copy's garbage collector does not look at objects that are here by then; it would copy
        # their memory.
        import_modules(job.needs)
        pid = os.fork()
        if pid == 0:
            return job
        for stream in job.streams:
            os.close(stream)
        self.jobs[pid] = client
        self._wait_for(client, lambda: self._pass_on(pid))
        return None

    def _pass_on(self, pid: int) -> None:
        """Passes a signal on that a script has got.

        The copy of a script that was killed is killed, too.
        """
        number = self.jobs[pid].recv(1)
        os.kill(pid, number[0] if number else signal.SIGKILL)
        if not number:
            self.selector.unregister(self.jobs[pid])

    def _report_endings(self) -> None:
        """Reports to scripts how the copies that ran them have ended."""
        with suppress(BlockingIOError):
            os.read(self.endings, 4096)
        for pid, client in list(self.jobs.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with suppress(OSError):
                    client.sendall(struct.pack("!i", os.waitstatus_to_exitcode(status)))
                with suppress(KeyError):
                    self.selector.unregister(client)
                client.close()
                del self.jobs[pid]


def receive_job(client: socket.socket) -> Job:
    """Receives a job.

    Raises:
        OSError: the script has ended meanwhile.
        ValueError: the message of the script is no job.
    """
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    with client.makefile("rb") as lines:
        return Job(**json.loads(lines.readline()), streams=streams)


def end_with_parent(parent: int) -> None:
    """Makes this copy end when the fork server does, so that no abandoned job goes on.

    Args:
        parent: the fork server's process.
    """
    if sys.platform == "linux":
        # prctl(PR_SET_PDEATHSIG): this job's own handlers may unwind it.
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    # Elsewhere its outputs are at least not put in place, see `files.whole_files`.
    os.environ[PARENT] = f"{os.getpid()}:{parent}"
    refuse_without_parent("a job")


def run_job(job: Job, parent: int) -> None:
    """Runs a job in this copy of a fork server, as if Python had been started with its script."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number, stream in enumerate(job.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(job.folder)
    os.environ.clear()
    os.environ.update(job.environment)
    end_with_parent(parent)
    # An import may have determined it; this job may have another temporary folder.
    tempfile.tempdir = None
    sys.argv = [job.script]
    python_path = job.environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [str(Path(job.script).parent), *(folder for folder in python_path if folder)]
    # A job may be of another run, which has its biasgrid elsewhere.
    for name in list(sys.modules):
        if name.partition(".")[0] == "biasgrid":
            del sys.modules[name]
    run_and_leave(job.script)


def run_and_leave(script: str) -> None:
    """Runs a script; if it ends by itself, this process ends right after its exit handlers.

    Python would end all modules that the fork server has imported, one after the other, and for
    that copy its whole memory: half a second, longer than many jobs take.
    """
    status: int | None = None

    def leave() -> None:
        if status is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    # Runs behind handlers that the script registers, and before those of the fork server.
    atexit.register(leave)
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else None
        raise


def serve_jobs(listener: int, folder: str) -> None:
    """Serves until Snakemake ends; in a copy, runs its job.

    Args:
        listener: the file descriptor of the socket where scripts hand over their jobs.
        folder: the folder of the socket's file, which is removed in the end.
    """
    own_pid = os.getpid()
    server = ForkServer(socket.socket(fileno=listener), sys.stdin.fileno())
    job = server.serve()
    if job is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    server.close_in_copy()
    run_job(job, own_pid)


if __name__ == "__main__":
    serve_jobs(int(sys.argv[1]), sys.argv[2])
