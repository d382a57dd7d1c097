"""Jobs that are done by copies of a process which has imported what they need; tests/workflow runs
whole grids so.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from project import ROOT

from biasgrid.jobs.fork_server import ENVIRONMENT, FOLDER_PREFIX, SECONDS_TO_LISTEN, SOCKET
from biasgrid.jobs.start import (
    FIGURE_MODULES,
    FORK_SERVER_ADDRESS,
    MODEL_MODULES,
    STATISTICS_MODULES,
    TABLE_MODULES,
    TRAINING_MODULES,
)

pytestmark = pytest.mark.slow

SNAKEMAKE = """
import os, sys, time
from biasgrid.jobs.fork_server import start_fork_server

start_fork_server()
print(os.environ["BIASGRID_FORK_SERVER"], flush=True)
sys.stdin.read()
"""
BEGIN = """
import sys
import tempfile
from biasgrid.jobs.start import hand_over

hand_over(["colorsys", "logging"])
"""
TELL = """
import json, os

facts = {"pid": os.getpid(), "parent": os.getppid(), "folder": os.getcwd(), "argv": sys.argv, "path": sys.path[0]}
print(json.dumps(facts | {"imported": "colorsys" in sys.modules, "told": os.environ.get("TOLD"), "name": __name__}))
"""
WAIT = """
import os, time

try:
    print(os.getpid(), flush=True)
    time.sleep(600)
finally:
    open("unwound", "w").close()
"""
REGISTER = """
import atexit, threading, time

threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
atexit.register(print, "at its end", end="")
"""
TAKEN_APART = """
import logging

class Handler(logging.Handler):
    def close(self):
        print("taken apart")

handler = Handler()
"""
WRITE = """
import os, time
from biasgrid.base.files import whole_file

with whole_file("output") as partial:
    print(os.getpid(), flush=True)
    partial.write_text("made")
    time.sleep(3)
"""
SLOW = """
import os, time

print(os.getpid(), flush=True)
time.sleep(1)
open("done", "w").close()
"""


@pytest.fixture
def snakemake() -> Iterator[subprocess.Popen[str]]:
    """A process that has a fork server, as Snakemake has."""
    with subprocess.Popen(
        [sys.executable, "-c", SNAKEMAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


@pytest.fixture
def start(snakemake: subprocess.Popen[str], tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts a script that hands itself over."""
    assert snakemake.stdout is not None
    address = snakemake.stdout.readline().strip()

    def started(code: str, **environment: str) -> subprocess.Popen[str]:
        script = tmp_path / "scripts" / "job.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(BEGIN + code)
        return subprocess.Popen(
            [sys.executable, str(script)],
            cwd=tmp_path,
            env=os.environ | {FORK_SERVER_ADDRESS: address} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def told(script: subprocess.Popen[str]) -> dict[str, Any]:
    """What a script that ends well tells of itself."""
    output, errors = script.communicate(timeout=60)
    assert (script.returncode, errors) == (0, "")
    return json.loads(output)


def first_line(script: subprocess.Popen[str]) -> int:
    """The number of the process that runs a script, which is the first that it prints."""
    assert script.stdout is not None
    return int(script.stdout.readline())


def ends(pid: int) -> bool:
    """Whether a process ends within a minute."""
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not psutil.pid_exists(pid)


def test_a_copy_runs_the_script_as_it_would_run(
    snakemake: subprocess.Popen[str], start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    script = start(TELL, TOLD="of this job")
    facts = told(script)
    assert facts["pid"] != script.pid
    assert psutil.Process(facts["parent"]).ppid() == snakemake.pid
    assert facts["imported"]
    assert facts["folder"] == str(tmp_path)
    assert facts["argv"] == [str(tmp_path / "scripts/job.py")]
    assert facts["path"] == str(tmp_path / "scripts")
    assert (facts["told"], facts["name"]) == ("of this job", "__main__")
    assert told(start(TELL))["told"] is None


def test_a_copy_has_the_package_of_its_own_run(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    """Runs that share a fork server may each have a biasgrid of their own."""
    package = tmp_path / "src/biasgrid/jobs"
    shutil.copytree(ROOT / "src/biasgrid/jobs", package)
    (package.parent / "__init__.py").write_text("")
    script = start("import biasgrid\nprint(biasgrid.__file__)", PYTHONPATH=str(package.parents[1]))
    output, _ = script.communicate(timeout=60)
    assert output.strip() == str(package.parent / "__init__.py")


def test_a_run_uses_the_given_fork_server(snakemake: subprocess.Popen[str]):
    assert snakemake.stdout is not None
    address = snakemake.stdout.readline().strip()
    again = subprocess.run(
        [sys.executable, "-c", SNAKEMAKE],
        env=os.environ | {FORK_SERVER_ADDRESS: address},
        input="",
        capture_output=True,
        text=True,
    )
    assert again.stdout.strip() == address


@pytest.mark.parametrize(
    "address", ["", f"{sys.executable}:/no/socket", "/another/python:/no/socket"]
)
def test_without_a_fork_server_a_script_runs_by_itself(
    start: Callable[..., subprocess.Popen[str]], address: str
):
    script = start(TELL, **{FORK_SERVER_ADDRESS: address})
    facts = told(script)
    assert facts["pid"] == script.pid
    assert not facts["imported"]


@pytest.mark.parametrize(
    ("code", "ending", "message"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('not so')", 1, "not so\n"),
        ("raise ValueError('wrong')", 1, "ValueError: wrong\n"),
        ("import os\nos.kill(os.getpid(), 9)", -9, ""),
    ],
)
def test_a_script_ends_as_its_copy_does(
    start: Callable[..., subprocess.Popen[str]], code: str, ending: int, message: str
):
    script = start(code)
    _, errors = script.communicate(timeout=60)
    assert script.returncode == ending
    assert errors.endswith(message)
    assert bool(errors) == bool(message)


@pytest.mark.parametrize("ending", ["", "sys.exit(2)"])
def test_what_a_script_wants_done_at_its_end_is_done(
    start: Callable[..., subprocess.Popen[str]], ending: str
):
    """Its threads end, its own functions are called, and what it has printed is there; see
    `run_and_leave`.
    """
    script = start(REGISTER + ending)
    assert script.communicate(timeout=60) == ("thread\nat its end", "")
    assert script.returncode == (2 if ending else 0)


def test_a_copy_that_ends_well_takes_nothing_apart_that_the_fork_server_imported(
    start: Callable[..., subprocess.Popen[str]],
):
    """Such as `logging`, which closes its handlers at Python's end: of torch that takes longer than
    many jobs.
    """
    assert start(TAKEN_APART).communicate(timeout=60) == ("", "")
    failed, _ = start(TAKEN_APART + "raise ValueError").communicate(timeout=60)
    assert failed == "taken apart\n"


def test_a_terminated_copy_unwinds_before_its_script_ends(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    script = start(
        "from biasgrid.jobs.interruption import interrupt_at_sigterm\n\ninterrupt_at_sigterm()\n"
        + WAIT
    )
    first_line(script)
    script.terminate()
    script.communicate(timeout=60)
    assert script.returncode == -signal.SIGINT
    assert (tmp_path / "unwound").exists()


def test_a_script_that_is_killed_takes_its_copy_along(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    script = start(WAIT)
    pid = first_line(script)
    script.kill()
    assert ends(pid)
    assert not (tmp_path / "unwound").exists()
    script.communicate(timeout=60)
    assert told(start(TELL))


@pytest.mark.parametrize("killed", [False, True])
def test_the_fork_server_ends_with_snakemake_and_the_last_job(
    snakemake: subprocess.Popen[str],
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    killed: bool,
):
    script = start(SLOW)
    fork_server = psutil.Process(first_line(script)).ppid()
    if killed:
        snakemake.kill()
    snakemake.communicate(timeout=60)
    script.communicate(timeout=60)
    assert script.returncode == 0
    assert (tmp_path / "done").exists()
    assert ends(fork_server)


@pytest.mark.parametrize("handles", [False, True])
def test_a_copy_ends_with_a_fork_server_that_is_killed_and_puts_nothing_in_place(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, handles: bool
):
    """Its script has told by then that the job failed."""
    interrupted = (
        "from biasgrid.jobs.interruption import interrupt_at_sigterm\n\ninterrupt_at_sigterm()\n"
    )
    script = start((interrupted if handles else "") + WRITE)
    pid = first_line(script)
    psutil.Process(psutil.Process(pid).ppid()).kill()
    script.communicate(timeout=60)
    assert script.returncode == 1
    assert ends(pid)
    assert not (tmp_path / "output").exists()


def test_a_job_that_cannot_be_ended_writes_nothing_without_its_fork_server(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    script = start("import signal\n\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WRITE)
    pid = first_line(script)
    psutil.Process(psutil.Process(pid).ppid()).kill()
    script.communicate(timeout=60)
    assert ends(pid)
    assert not (tmp_path / "output").exists()


def test_processes_that_a_job_starts_write_as_they_like(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
):
    code = "from biasgrid.base.files import write_text; write_text('output', '')"
    told(
        start(
            (
                "import subprocess, sys\n"
                "\n"
                f"subprocess.run([sys.executable, '-c', {code!r}], check=True)\n"
            )
            + TELL
        )
    )
    assert (tmp_path / "output").exists()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for that of a socket, of which Linux takes 108 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_folder_of_a_server_that_was_killed_is_removed_by_the_next_one(short_folder: Path):
    folders = {
        name: short_folder / f"{FOLDER_PREFIX}{name}"
        for name in ("killed", "empty", "new", "at work")
    }
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as at_work:
        for name in ("killed", "new"):
            with socket.socket(socket.AF_UNIX) as gone:
                gone.bind(str(folders[name] / SOCKET))
        at_work.bind(str(folders["at work"] / SOCKET))
        at_work.listen()
        before = time.time() - 2 * SECONDS_TO_LISTEN
        for name in ("killed", "empty", "at work"):
            os.utime(folders[name], (before, before))
        command = [sys.executable, "-c", SNAKEMAKE]
        environment = os.environ | {"TMPDIR": str(short_folder)}
        environment.pop(FORK_SERVER_ADDRESS, None)
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as started:
            assert started.stdout is not None
            own = Path(started.stdout.readline().strip().partition(":")[2]).parent
            left = {folder for folder in folders.values() if folder.exists()}
            started.communicate()
    assert own.name.startswith(FOLDER_PREFIX)
    assert left == {folders["new"], folders["at work"]}
    assert not own.exists()


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "as a copy"])
def test_a_job_looks_for_garbage_but_not_in_what_it_needs_and_imports_offline(
    tmp_path: Path, alone: bool
) -> None:
    needed, script = tmp_path / "needed_by_job.py", tmp_path / "job.py"
    needed.write_text(
        "import gc, os\nduring, offline = gc.isenabled(), os.environ['HF_HUB_OFFLINE']\n"
    )
    script.write_text(
        f"""
from biasgrid.jobs.start import start_job
start_job({str(tmp_path / "log")!r}, ["needed_by_job", "of_no_such_module"])
import gc, pathlib, needed_by_job
found = needed_by_job.during, needed_by_job.offline, gc.isenabled(), gc.get_freeze_count() > 1000
pathlib.Path({str(tmp_path / "found")!r}).write_text(repr(found))
"""
    )
    code = f"""
import subprocess, sys
from biasgrid.jobs.fork_server import start_fork_server
{"" if alone else "start_fork_server()"}
subprocess.run([sys.executable, {str(script)!r}], check=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("HF_HUB_OFFLINE", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert (tmp_path / "found").read_text() == repr((False, "1", True, True))


def test_what_is_imported_beforehand_starts_no_threads():
    """A copy would lack them, and might wait for what they hold. Of jemalloc's own each copy gets a
    new one.
    """
    code = f"""
import sys
import tempfile
from importlib import import_module
from pathlib import Path

for name in {sorted({*TABLE_MODULES, *FIGURE_MODULES, *MODEL_MODULES, *STATISTICS_MODULES, *TRAINING_MODULES})}:
    import_module(name)
print(*sorted({{(task / "comm").read_text().strip() for task in list(Path("/proc/self/task").iterdir())[1:]}}))
print("polars" in sys.modules, sys.modules["torch"].cuda.is_initialized())
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split("\n")[0] in ("", "jemalloc_bg_thd")
    assert run.stdout.split("\n")[1] == "False False"
