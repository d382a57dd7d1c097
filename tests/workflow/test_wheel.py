"""What a user has who installs a wheel: the command in an environment of its own, in an empty
folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from project import ROOT, Project
from shared import made_once


def install_wheel(folder: Path) -> None:
    """Makes an environment with the wheel, and all else from the one of the tests, so that nothing
    is downloaded.
    """
    pip = [sys.executable, "-m", "pip"]
    build = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    # A plain line of a .pth file adds a folder, but not what the .pth files in that folder name: no
    # editable biasgrid.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    target = [
        "--python",
        str(folder / "venv/bin/python"),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run([*pip, *target], check=True)


@pytest.fixture(scope="session")
def biasgrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an installed wheel."""
    return made_once(tmp_path_factory, "installed-wheel", install_in) / "venv/bin/biasgrid"


def install_in(folder: Path) -> None:
    folder.mkdir()
    install_wheel(folder)


def told(folder: Path, *line: str | Path) -> str:
    """Runs a command in a folder, as a user whose environment names no other package, and returns
    what it prints.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, line)), cwd=folder, env=environment, text=True, capture_output=True
    )
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
