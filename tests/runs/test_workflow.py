"""The workflow's files: found beside the package or in it, and copied into a folder of one's
own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

from biasgrid.base.faults import UserError
from biasgrid.runs.workflow import WORKFLOW_FILES, demo_folder, set_up, workflow_folder


def test_a_folder_gets_all_files_once(tmp_path: Path) -> None:
    assert workflow_folder() == ROOT
    set_up(tmp_path / "mine")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == set(WORKFLOW_FILES)
    (tmp_path / "mine/config/demo.yaml").write_text("mine")
    set_up(tmp_path / "mine")
    assert (tmp_path / "mine/config/demo.yaml").read_text() == "mine"


def test_the_demo_is_made_in_a_folder_of_its_own_or_in_the_workflows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo_folder() == Path("biasgrid-demo")
    # A Snakefile alone may be of anything.
    (tmp_path / "Snakefile").touch()
    assert demo_folder() == Path("biasgrid-demo")
    monkeypatch.chdir(ROOT)
    assert demo_folder() == Path()


def test_nothing_of_somebody_elses_is_touched(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    with pytest.raises(
        UserError, match="contains rules but no Snakefile; expected an empty folder"
    ):
        set_up(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rules"]


@pytest.mark.slow
@pytest.mark.family("the demo asks all five")
def test_a_wheel_has_all_that_the_demo_needs(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip"]
    wheel = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run([*pip, *wheel], check=True)
    (file,) = tmp_path.glob("*.whl")
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site"), str(file)],
        check=True,
    )
    # What is planned needs every file of the workflow and the word lists; what it makes is the
    # demo's own test.
    code = (
        "from biasgrid.runs.workflow import set_up, workflow_folder; from pathlib "
        "import Path; set_up(Path()); "
    )
    code += "print(workflow_folder())"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    folder = tmp_path / "empty"
    folder.mkdir()
    line = [sys.executable, "-c", code]
    told = subprocess.run(
        line, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout
    assert told.strip() == str(tmp_path / "site/biasgrid/shipped")
    plan = [
        sys.executable,
        "-m",
        "snakemake",
        "--dry-run",
        "--quiet",
        "rules",
        "--configfile",
        "config/demo.yaml",
    ]
    planned = subprocess.run(
        plan, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    assert "predict" in planned.stdout + planned.stderr
