"""The help: commands in groups, each with an example, in words for people; and the list of
datasets.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from project import ROOT
from typer.testing import CliRunner

from biasgrid.cli.app import COMMANDS, app
from biasgrid.cli.commands.list import shipped_datasets
from biasgrid.cli.quickstart.config import SHIPPED_CONFIGS, built_in_datasets
from biasgrid.runs.forecast import Forecast, ForecastShare
from biasgrid.runs.plan import CellPlan, Plan, Totals
from biasgrid.runs.status import CellStatus, Status, StatusTotals

RUNNER = CliRunner()


def said(*arguments: str) -> str:
    """What a command prints on a wide terminal, which breaks no lines."""
    result = RUNNER.invoke(app, arguments, env={"COLUMNS": "500", "TERMINAL_WIDTH": "500"})
    assert result.exit_code == 0, result.output
    return result.output


def lines_of_commands() -> Iterator[list[str]]:
    """Yields how each command is called, those of `import`, `export` and `reference` too."""
    for commands in COMMANDS.values():
        for name, (command, _) in commands.items():
            yield [name]
            if isinstance(command, typer.Typer):
                yield from ([name, one.name] for one in command.registered_commands if one.name)


def test_commands_are_in_groups() -> None:
    told = said("--help")
    assert re.findall(r"╭─ (.*?) ─", told) == ["Options", *COMMANDS]
    assert "Exit codes: 0 done; 1 failed" in told


@pytest.mark.family("the formats of files are theirs")
@pytest.mark.parametrize("line", [*lines_of_commands()], ids=" ".join)
def test_help_has_an_example_that_can_be_parsed_and_no_python(line: list[str]) -> None:
    told = said(*line, "-h")
    assert told == said(*line, "--help")
    (example,) = re.findall(r"Example: biasgrid (.*)", told)
    assert example.split()[: len(line)] == line or len(line) == 1
    # Nothing is run: parsing alone fails for what a command does not know.
    parsed = RUNNER.invoke(app, [*shlex.split(example), "--help"])
    assert parsed.exit_code == 0, parsed.output
    assert not re.search(
        r"<(str|bool|list\[str\]|int range|float range)> *[a-z]", told.partition("─ Options")[2]
    )
    assert not re.search(r"\b[A-Z][a-z]+[A-Z]\w+`|biasgrid\.\w+\.", told)


@pytest.mark.family("the shipped datasets are theirs")
def test_shipped_datasets_are_listed_with_what_they_ask_of_whom() -> None:
    listed = shipped_datasets(ROOT)
    shipped = {
        name
        for name, section in built_in_datasets(ROOT, SHIPPED_CONFIGS).items()
        if "control_of" not in section
    }
    assert set(listed) == shipped
    gender = listed["gender"]
    assert (gender.family, gender.rows) == ("underspecified", 5_488_000)
    assert sorted(gender.tasks) == ["fill-mask", "question-answering", "text-generation"]
    told = said("list")
    assert all(f"\n{name} " in told for name in shipped)
    assert "underspecified: which of two people or groups did something" in told


@pytest.mark.slow
def test_ask_imports_nothing_that_draws(folders: Path) -> None:
    code = (
        "import sys; from biasgrid.cli.app import "
        "app; app(standalone_mode=False); print([*sys.modules])"
    )
    line = [
        sys.executable,
        "-c",
        code,
        "ask",
        str(folders / "lm"),
        "Mary met John. [MASK] cooked. | Mary | John",
    ]
    output = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    modules = output.splitlines()[-1]
    assert "'torch'" in modules
    assert not any(
        f"'{name}'" in modules for name in ("plotnine", "matplotlib", "statsmodels", "snakemake")
    )


def test_keys_of_json_are_documented() -> None:
    _, page = (ROOT / "docs/outputs.md").read_text().split("## The JSON of `plan` and `status`")
    section = page.split("\n## ")[0]
    kinds = (Plan, CellPlan, Totals, Status, CellStatus, StatusTotals, Forecast, ForecastShare)
    names = {field.name for kind in kinds for field in fields(kind)}
    assert {name for name in names if f"`{name}`" not in section} == set()
