"""What `biasgrid preview` shows before anything was run, and `--version`."""

from pathlib import Path

import pytest
from small_grid import write_general_grid
from typer.testing import CliRunner

from biasgrid.base.renamed import __version__
from biasgrid.cli.app import app

runner = CliRunner()


def test_the_version_is_told() -> None:
    assert runner.invoke(app, ["--version"]).output == f"biasgrid {__version__}\n"


def test_the_first_instances_are_shown_as_a_model_gets_them(tmp_path: Path) -> None:
    result = runner.invoke(app, ["preview", str(write_general_grid(tmp_path)), "--dataset", "people", "--rows", "4"])
    assert result.exit_code == 0, result.output
    title, header, *rows = result.output.splitlines()
    assert title.strip() == "asked"
    assert header.split()[:2] == ["instance", "text"]
    # Texts that do not fit go on in the next line.
    assert [row.split()[0] for row in rows if row[:1].isdigit()] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "peple"], "--dataset: unknown name 'peple' (did you mean 'people'?); expected one of"),
        (["--dataset", "people", "--model", "on"], "--model: unknown name 'on' (did you mean 'one'?); expected one of"),
        (["--dataset", "people", "--model", "one"], "one has not answered people; run snakemake first"),
    ],
)
def test_what_cannot_be_shown_is_one_message(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = runner.invoke(app, ["preview", str(write_general_grid(tmp_path)), *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
