"""Every bad dump ends with one message and exit code 2, in time, and no table is written of it."""

import os
from pathlib import Path

import pytest
from dumps import DUMPS, FILES, BadDump
from in_time import in_time
from typer.testing import CliRunner

from biasgrid.cli.app import app

pytestmark = pytest.mark.usefixtures(in_time.__name__)


def import_dump(folder: Path, name: str = "dump.json", out: str = "tables") -> tuple[int, str, str]:
    """Runs `biasgrid import unqover` in a folder; gives exit code and what was printed."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, ["import", "unqover", name, "--out", out])
    finally:
        os.chdir(before)
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, result.stdout, result.stderr


def told(folder: Path, name: str = "dump.json", out: str = "tables") -> str:
    """What is printed of a fault; nothing else may happen."""
    before = sorted(folder.rglob("*"))
    code, printed, message = import_dump(folder, name, out)
    assert (code, printed) == (2, "")
    assert "Traceback" not in message
    assert sorted(folder.rglob("*")) == before
    return message


@pytest.mark.parametrize("of", FILES)
def test_the_dumps_that_are_changed_have_no_faults(of: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(BadDump(of, "", str, ()).content())
    assert import_dump(tmp_path)[0] == 0


@pytest.mark.parametrize("row", DUMPS, ids=lambda row: f"{row.of}-{row.at}-{str(row.put)[:20]!a}")
def test_a_bad_dump_is_reported_in_one_message(row: BadDump, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(row.content())
    message = told(tmp_path)
    assert message.startswith("1 fault in the input:\n  dump.json")
    assert "; expected " in message
    assert [words for words in row.says if words not in message] == [], message


def test_what_a_model_has_answered_is_not_refused(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(BadDump("spans", "q0.pred", "Bea\0\u200b", ()).content())
    assert import_dump(tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing.json", "cannot be read"), (".", "is a directory"), ("pipe", "is a pipe or a device"),
     ("endless", "is a pipe or a device"), ("dump.json/x", "cannot be read")],
)  # fmt: skip
def test_what_is_no_file_is_not_read(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    assert message in told(tmp_path, name).lower()


@pytest.mark.parametrize("out", ["dump.json", "dump.json/tables", "/dev/null/x"])
def test_a_folder_that_cannot_be_made_is_reported(out: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(BadDump("spans", "", str, ()).content())
    assert "cannot be written" in told(tmp_path, out=out)
