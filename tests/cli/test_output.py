"""Commands print texts with all characters visible, and end with one message and an exit code,
never a traceback.
"""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rich.text import Text
from small_grid import write_general_grid
from typer.testing import CliRunner

from biasgrid.base.faults import InputError, UserError
from biasgrid.base.names import visible_text
from biasgrid.cli.app import app
from biasgrid.cli.commands.explain import OutputFormat, print_units
from biasgrid.cli.output import PlainConsole
from biasgrid.cli.tables import frame_table

COMMAND = "from biasgrid.cli.app import app; app()"
NO_MEMORY = """
import biasgrid.config, biasgrid.cli.app
biasgrid.config.load_config = lambda *given: bytearray(10**15)
biasgrid.cli.app.app()
"""


OF_UNQOVER = pytest.mark.family("UnQover's files are of underspecified questions")
NOT_UTF_8 = "is not UTF-8; expected names in UTF-8: rename the file or folder"


def write_dump() -> None:
    """Writes a file of UnQover."""
    from unqover_entries import source_entries

    Path("dump.json").write_text(json.dumps(source_entries()))


def run(*arguments: str | bytes) -> tuple[int, str]:
    """What a command prints here, where the output takes UTF-8 alone, and its exit code."""
    ended = CliRunner().invoke(
        app, [os.fsdecode(argument) for argument in arguments], env={"COLUMNS": "1000"}
    )
    assert isinstance(ended.exception, SystemExit), ended.exception
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    return ended.exit_code, ended.stderr


def run_process(folder: Path, *arguments: str | bytes, code: str = COMMAND) -> tuple[int, str]:
    """What a process prints, as a terminal would show it that takes UTF-8 alone, and its exit
    code.
    """
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict", "COLUMNS": "1000"}
    line = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", b"\xff.yaml"),
        ("plan", "config.yaml", "--word-lists", b"\xff"),
        ("summary", b"\xff"),
        ("import", "unqover", b"\xff.json", "--out", "x"),
        (
            "export",
            "unqover",
            "config.yaml",
            "--dataset",
            "people",
            "--variant",
            "qa",
            b"--out=\xff",
        ),
    ],
)
def test_arguments_that_are_not_utf_8_are_refused(arguments: tuple[str | bytes, ...]) -> None:
    code, message = run(*arguments)
    assert code == 2
    assert NOT_UTF_8 in message


@pytest.mark.slow
def test_a_process_gets_the_same_message(tmp_path: Path) -> None:
    code, message = run_process(tmp_path, "validate", b"\xff.yaml")
    assert code == 2
    assert NOT_UTF_8 in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("validate", "a" * 300), "cannot be read (File name too long)"),
        (
            ("summary", "a" * 300),
            "aaa: File name too long; expected a file or folder that can be used",
        ),
        (
            ("audit", "a" * 300),
            "aaa: File name too long; expected a file or folder that can be used",
        ),
        (
            ("audit", "config.yaml"),
            "config.yaml: was not run yet; to run it: biasgrid run config.yaml",
        ),
        (
            ("provenance", "a" * 300 + ".parquet"),
            "aaa.parquet: File name too long; expected a file or folder",
        ),
        (
            ("schema", "--write", "a" * 300),
            "workflow/schemas: File name too long; expected a file or folder",
        ),
        pytest.param(
            ("import", "unqover", "dump.json", "--out", "config.yaml"),
            "config.yaml: cannot be written (File exists)",
            marks=OF_UNQOVER,
        ),
        pytest.param(
            ("import", "unqover", "pipe", "--out", "x"), "is a pipe or a device", marks=OF_UNQOVER
        ),
    ],
)
def test_paths_of_no_use_are_named(
    tmp_path: Path, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_general_grid(tmp_path)
    (tmp_path / "config.yaml").touch()
    if "dump.json" in arguments:
        write_dump()
    os.mkfifo(tmp_path / "pipe")
    code, told = run(*arguments)
    assert (code, message in told) == (2, True), told


@pytest.mark.slow
def test_memory_that_runs_out_is_one_message(tmp_path: Path) -> None:
    code, message = run_process(tmp_path, "validate", "config.yaml", code=NO_MEMORY)
    assert (
        code,
        message.startswith("out of memory; give it more memory, or let it do less at once"),
    ) == (1, True), message


HOSTILE = "a\x1b[31mb\x07c\x00d\u202ee\u200bf\rg\x9bh\U000e0041"
SHOWN = r"a\u001b[31mb\u0007c\u0000d\u202ee\u200bf\u000dg\u009bh\udb40\udc41"
NAMES = ["o[/x]", "results[red]x", ":smile:", "[link=http://a]b[/link]", r"a\[b]"]


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert visible_text(HOSTILE) == SHOWN
    assert json.loads(f'"{visible_text(HOSTILE)}"') == HOSTILE
    assert visible_text(SHOWN) == SHOWN
    for text in ("plain", "two\nlines\tand\r\nmore", "שלום, नमस्\u200dते, \u00e9"):
        assert visible_text(text) == text


@pytest.mark.parametrize("error", [UserError(HOSTILE), InputError([])])
def test_messages_of_errors_are_visible(error: UserError) -> None:
    assert "\x1b" not in str(error)


@pytest.mark.parametrize("name", [HOSTILE, *NAMES])
def test_a_console_prints_texts_unchanged(name: str) -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=200, markup=False, emoji=False)
    console.print(name)
    console.print(Text(name))
    console.print(frame_table(name, pl.DataFrame({name: [name]})))
    shown = visible_text(name)
    # Text takes some control characters out itself.
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert [lines[0], *lines[2:]] == [shown] * 4
    assert not any(character in out.getvalue() for character in "\x1b\x07\x00\u202e\u200b\r\x9b")


@OF_UNQOVER
@pytest.mark.parametrize("name", NAMES)
def test_commands_print_file_names_unchanged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = name.replace("/", "-")
    write_dump()
    result = CliRunner().invoke(
        app, ["import", "unqover", "dump.json", "--out", name], env={"COLUMNS": "1000"}
    )
    assert result.exit_code == 0, result.output
    assert f"{name}/" in result.output


@OF_UNQOVER
def test_a_folder_that_closes_markup_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_dump()
    result = CliRunner().invoke(app, ["import", "unqover", "dump.json", "--out", "o[/x]"])
    assert result.exit_code == 0, result.output
    assert "o[/x]/" in result.output


@pytest.mark.slow
def test_data_are_exact_for_programs_and_visible_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = pl.DataFrame({"said": [HOSTILE.replace("\r", "")]})
    print_units(rows, OutputFormat.csv)
    assert pl.read_csv(capsys.readouterr().out.encode())["said"].to_list() == rows["said"].to_list()
    print_units(rows, OutputFormat.jsonl)
    assert json.loads(capsys.readouterr().out)["said"] == rows["said"][0]
    code = "import polars as pl; from biasgrid.cli.commands.explain import *; "
    code += "print_units(pl.DataFrame({'a': ['\\x1b[31m']}), OutputFormat.csv)"
    told, end = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stdout=end, check=True)
    os.close(end)
    assert b"\x1b" not in os.read(told, 1000)
    os.close(told)
