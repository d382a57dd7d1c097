"""Cells whose answers are imported from kept logs of other harnesses."""

from __future__ import annotations

from pathlib import Path

from pipeline import Pipeline
from real_logs import CONFIG
from typer.testing import CliRunner

from biasgrid.cli.app import app

runner = CliRunner()


def imported(config: Path, name: str, log: Path, dataset: str, *more: str) -> tuple[int, str]:
    """Runs the command as a user does; returns its exit code and what it prints, on one line and
    without the folder.
    """
    out = config.parent / f"{dataset}.jsonl"
    command = [
        "import",
        name,
        str(log),
        "--config",
        str(config),
        "--dataset",
        dataset,
        "--out",
        str(out),
        *more,
    ]
    result = runner.invoke(app, command)
    return result.exit_code, " ".join(result.output.split()).replace(f"{config.parents[1]}/", "")


def cell_of(config: Path, name: str, log: Path, dataset: str) -> Pipeline:
    """Imports a log and runs all stages on its answers."""
    code, output = imported(config, name, log, dataset)
    assert code == 0, output
    section = {"task": "text-generation", "answers": str(config.parent / f"{dataset}.jsonl")}
    return Pipeline(config.parent, section, CONFIG["datasets"][dataset])
