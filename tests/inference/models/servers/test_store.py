"""Answers that were paid for are kept, whatever ends a job, and asked once."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disks import mounted
from model_server import ModelServer
from project import ROOT
from servers import ServerCell, questions

from biasgrid.base.faults import UserError

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]


def paid(server: ModelServer) -> int:
    """How many answers the server has given since this was asked last."""
    count = server.answered.total()
    server.answered.clear()
    return count


def test_only_what_was_never_asked_is_paid(serve: Servers, cell: Cells) -> None:
    server = serve()
    ours = cell(server, 20)
    whole = ours.ask()
    assert paid(server) == 20
    assert ours.ask().equals(whole)
    assert paid(server) == 0
    for shard in (1, 2, 3):
        ours.ask(shard, 3)
    assert paid(server) == 0
    # A larger sample, and what is asked a second time.
    cell(server, [*questions(25), *questions(5)]).ask()
    assert paid(server) == 10
    assert cell(server, 20).ask().equals(whole)
    assert paid(server) == 0


def test_another_request_is_another_answer(serve: Servers, cell: Cells) -> None:
    server = serve()
    cell(server, 5).ask()
    for change in (
        {"generation": {"temperature": 0.5}},
        {"generation": {"seed": 2}},
        {"model": "other"},
    ):
        paid(server)
        cell(server, 5, **change).ask()
        assert paid(server) == 5
    cell(server, 5, concurrency=2, timeout=9, attempts=2).ask()
    assert paid(server) == 0


def test_half_a_line_is_dropped(serve: Servers, cell: Cells) -> None:
    server = serve()
    ours = cell(server, 10)
    whole = ours.ask()
    content = ours.store.read_bytes()
    ours.store.write_bytes(content[:-20])
    paid(server)
    assert ours.ask().equals(whole)
    assert paid(server) == 1
    assert len(ours.lines) == 10


def test_a_damaged_line_is_asked_again(
    serve: Servers, cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve()
    ours = cell(server, 10)
    ours.ask()
    lines = ours.store.read_bytes().splitlines(keepends=True)
    lines[4] = b"\x00" * 30 + b"\n"
    ours.store.write_bytes(b"".join(lines))
    paid(server)
    ours.ask()
    assert paid(server) == 1
    assert "requests.jsonl, line 5: damaged; its answers are asked again" in caplog.text


@pytest.mark.parametrize("first", ['{"biasgrid_answers": 3}', "what is this", "[" * 99999])
def test_a_store_of_another_version_is_refused(serve: Servers, cell: Cells, first: str) -> None:
    server = serve()
    ours = cell(server, 3)
    ours.folder.mkdir(parents=True, exist_ok=True)
    ours.store.write_text(first + "\n")
    with pytest.raises(
        UserError,
        match=r"requests.jsonl: is not a store of answers that this version .* move the file",
    ):
        ours.ask()
    assert ours.store.read_text() == first + "\n"
    assert paid(server) == 0


ASK = """
import sys
from pathlib import Path
from servers import ServerCell
ServerCell.of(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), concurrency=16).ask()
"""


def started(cell: ServerCell, server: ModelServer, count: int) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests/helpers"), *sys.path])
    line = [sys.executable, "-c", ASK, str(cell.folder), server.url, str(count)]
    return subprocess.Popen(line, env=os.environ | {"PYTHONPATH": paths})


def test_a_killed_job_repeats_at_most_what_was_under_way(serve: Servers, cell: Cells) -> None:
    server = serve(seconds=0.05)
    ours = cell(server, 800, concurrency=16)
    process = started(ours, server, 800)
    deadline = time.monotonic() + 60
    while server.answered.total() < 100 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.2)
    before = paid(server)
    assert 100 <= before < 800
    server.seconds = 0
    assert len(ours.ask()) == 800
    again = before + paid(server) - 800
    assert 0 <= again <= 16
    assert len({line["request"] for line in ours.lines}) == len(ours.lines) == 800


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    with mounted(tmp_path / "cells", "-t", "tmpfs", "-o", "size=256k", "tmpfs"):
        yield tmp_path / "cells"


def test_a_full_disk_loses_nothing_that_was_paid(
    small_disk: Path, serve: Servers, cell: Cells
) -> None:
    server = serve()
    ours = cell(server, 200, concurrency=4, generation={"max_tokens": 10})
    filling = small_disk / "filling"
    free = os.statvfs(small_disk)
    filling.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 40_000))
    with pytest.raises(
        UserError,
        match=r"requests.jsonl: cannot be written, because the disk is full; free some space and run",
    ):
        ours.ask()
    before = paid(server)
    assert 4 < before < 200
    assert len(ours.lines) == before
    filling.unlink()
    assert len(ours.ask()) == 200
    assert paid(server) == 200 - before


def test_an_answer_that_was_not_synced_is_kept(
    serve: Servers, cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line may be written as a whole before the disk says that it is full."""
    server, syncs = serve(), []

    def sync_but_once(file: int) -> None:
        syncs.append(Path(f"/proc/self/fd/{file}").resolve().name)
        if syncs.count("requests.jsonl") == 4:
            syncs.append("requests.jsonl")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("biasgrid.inference.models.servers.store.SECONDS_BETWEEN_SYNCS", -1.0)
    monkeypatch.setattr("biasgrid.inference.models.servers.store.os.fsync", sync_but_once)
    ours = cell(server, 20, concurrency=1)
    with pytest.raises(UserError, match="the disk is full"):
        ours.ask()
    before = paid(server)
    assert 0 < before < 20
    assert b"\0" not in ours.store.read_bytes()
    assert len(ours.lines) == before
    assert len(ours.ask()) == 20
    assert paid(server) == 20 - before


def test_a_disk_without_room_for_answers_pays_nothing(
    small_disk: Path, serve: Servers, cell: Cells
) -> None:
    server = serve()
    ours = cell(server, 20, concurrency=64)
    with pytest.raises(UserError, match="the disk is full"):
        ours.ask()
    assert paid(server) == 0


def test_two_jobs_at_one_store_wait_for_each_other(serve: Servers, cell: Cells) -> None:
    server = serve(seconds=300)
    ours = cell(server, 40, concurrency=2)
    process = started(ours, server, 40)
    deadline = time.monotonic() + 60
    while not ours.store.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(
        UserError,
        match=r"requests.lock: another job has held this lock for .* minutes; end that job",
    ):
        ours.ask(seconds_without_progress=2)
    server.seconds = 0
    process.wait()
    assert len(ours.lines) == 40
    assert json.loads(ours.store.read_text().splitlines()[0]) == {"biasgrid_answers": 2}
