"""What a user has who installs a wheel: the command in an environment of its own, in an empty
folder.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from installed import run_installed
from project import ROOT, Project


def told(folder: Path, *line: str | Path) -> str:
    """Runs a command in a folder, and returns what it prints."""
    done = run_installed(folder, *line)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_package_and_its_workflow_match_the_wheel(biasgrid: Path, tmp_path: Path) -> None:
    code = (
        "import biasgrid; from biasgrid.config.paths import WORKFLOW; print(biasgrid.__file__, "
        "WORKFLOW, sep='\\n')"
    )
    package, workflow = told(tmp_path, biasgrid.with_name("python"), "-c", code).split()
    assert Path(package).is_relative_to(biasgrid.parents[1])
    assert Path(workflow) == Path(package).parent / "shipped"
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert told(tmp_path, biasgrid, "--version") == f"biasgrid {written}\n"
    shipped = {path.name for path in Path(workflow).iterdir()}
    assert {
        "Snakefile",
        "config",
        "envs",
        "profiles",
        "reference",
        "rules",
        "word_lists",
        "workflow",
    } <= shipped


def test_a_grid_runs_in_an_empty_folder_to_the_same_numbers(
    biasgrid: Path, small_config: dict[str, Any], finished: Project, tmp_path: Path
) -> None:
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(small_config))
    assert "no faults" in told(tmp_path, biasgrid, "validate", "grid.yaml")
    told(tmp_path, biasgrid, "run", "grid.yaml", "--cores", "2")
    Project(tmp_path, "grid.yaml").check_same_tables(finished)
    assert {path.name for path in tmp_path.iterdir()} == {".snakemake", "grid.yaml", "results"}


@pytest.mark.long
def test_the_demo_is_made_in_an_empty_folder(biasgrid: Path, tmp_path: Path) -> None:
    output = told(tmp_path, biasgrid, "demo")
    made = tmp_path / "biasgrid-demo/results/demo"
    assert (made / "report/index.html").is_file()
    assert pl.read_parquet(made / "summary.parquet").height > 0
    assert "Report: biasgrid-demo/results/demo/report/index.html" in output
