"""What others wrote is shown as it stands: a terminal obeys no sequence in it, and Rich reads no markup."""

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
from typer.testing import CliRunner
from unqover_entries import source_entries

from biasgrid.base.faults import InputError, UserError
from biasgrid.base.names import visible_text
from biasgrid.cli.app import app
from biasgrid.cli.commands.explain import OutputFormat, print_units
from biasgrid.cli.output import PlainConsole
from biasgrid.cli.tables import frame_table

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
def test_a_console_prints_texts_as_they_stand(name: str) -> None:
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


@pytest.mark.parametrize("name", NAMES)
def test_commands_tell_names_of_files_as_they_are(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = name.replace("/", "-")
    Path("dump.json").write_text(json.dumps(source_entries()))
    result = CliRunner().invoke(app, ["import", "unqover", "dump.json", "--out", name], env={"COLUMNS": "1000"})
    assert result.exit_code == 0, result.output
    assert f"{name}/" in result.output


def test_a_folder_that_closes_markup_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dump.json").write_text(json.dumps(source_entries()))
    result = CliRunner().invoke(app, ["import", "unqover", "dump.json", "--out", "o[/x]"])
    assert result.exit_code == 0, result.output
    assert "o[/x]/" in result.output


def test_data_are_exact_for_programs_and_visible_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
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
