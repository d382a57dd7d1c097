import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.base.faults import UserError
from biasgrid.base.files import bring_to_present, explain_refusal, whole_file, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_there_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.txt"
    with whole_file(path) as partial:
        partial.write_text("first")
        assert not path.exists()
    assert path.read_text() == "first"
    write_text(path, "Zoë\n")
    assert path.read_bytes() == "Zoë\n".encode()
    assert names(path.parent) == ["file.txt"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as partial:
        partial.write_text(str(1 / 0))
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_not_replaced_by_one(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "taken"
    make(path)
    before = path.stat().st_mode
    with pytest.raises(
        UserError, match="taken: is a folder, pipe or device; expected a file that can be written"
    ):
        write_text(path, "new")
    assert path.stat().st_mode == before
    assert names(tmp_path) == ["taken"]


KILLED = """
import os, signal, sys
from biasgrid.base.files import whole_file
with whole_file(sys.argv[1]) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    other = tmp_path / ".file.txt.parquet.01234567"
    other.touch()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file.txt")], check=False)
    assert len(names(tmp_path)) == 2
    write_text(tmp_path / "file.txt", "whole")
    assert names(tmp_path) == [other.name, "file.txt"]


def test_a_writer_keeps_the_temporary_file_of_another_that_still_runs(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with whole_file(path) as partial:
        partial.write_text("last")
        write_text(path, "first")
        assert path.read_text() == "first"
    assert path.read_text() == "last"
    assert names(tmp_path) == ["file.txt"]


def test_temporary_files_of_other_machines_are_removed_once_they_are_old(tmp_path: Path) -> None:
    fresh, old = (tmp_path / f".file.txt.0000-1-{digit * 8}" for digit in "12")
    for partial in (fresh, old):
        partial.touch()
    os.utime(old, (0, 0))
    write_text(tmp_path / "file.txt", "whole")
    assert names(tmp_path) == [fresh.name, "file.txt"]


TOO_LARGE = """
import resource, signal, sys
import polars as pl
from biasgrid.base.faults import UserError
from biasgrid.base.files import whole_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
rows = pl.DataFrame({"number": pl.int_range(100_000, eager=True)})
write = {"parquet": rows.write_parquet, "csv": rows.write_csv, "txt": lambda path: path.write_text("long" * 10_000)}
try:
    with whole_file(sys.argv[1]) as partial:
        write[sys.argv[1].rpartition(".")[2]](partial)
except UserError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["table.parquet", "table.csv", "file.txt"])
def test_a_write_that_the_system_breaks_off_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, name: str
) -> None:
    """A limit on the size of files stands for a full disk, which test_faults.py fills in
    earnest.
    """
    path = tmp_path / name
    write_text(path, "old")
    run = subprocess.run(
        [sys.executable, "-c", TOO_LARGE, str(path)], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"{path}: cannot be written (File too large); fix that and run again\n"
    assert path.read_text() == "old"
    assert names(tmp_path) == [name]


def test_a_full_disk_is_reported_as_such() -> None:
    message = "out.txt: cannot be written, because the disk is full; free some space and run again"
    with pytest.raises(UserError, match=message), explain_refusal("out.txt"):
        Path("/dev/full").write_text("text")


def test_other_refusals_of_the_system_are_reported_with_their_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/below: cannot be written \(File exists\); fix that"):
        write_text(tmp_path / "file" / "below", "text")
    with pytest.raises(ValueError, match="no refusal"), explain_refusal(tmp_path):
        raise ValueError("no refusal")


def test_files_from_the_future_get_the_present_time(tmp_path: Path) -> None:
    now = time.time()
    times = {"past": now - 100, "tomorrow": now + 86_400, "later": now + 90_000}
    for name, second in times.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (second, second))
    bring_to_present([*tmp_path.iterdir(), tmp_path / "missing"])
    past, tomorrow, later = ((tmp_path / name).stat().st_mtime for name in times)
    assert past == pytest.approx(now - 100)
    assert now <= tomorrow == later <= time.time()
