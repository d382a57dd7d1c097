"""The profile for SLURM where SLURM is not there, or vanishes during the run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from project import Project
from without_slurm import path_without_slurm, write_commands

BIASGRID = [sys.executable, "-c", "from biasgrid.cli.app import app; app()"]


@pytest.fixture
def project(small_config: dict[str, Any], tmp_path: Path) -> Project:
    small_config["run"] = {"models": ["answering"], "datasets": ["religion"]}
    return Project.create(tmp_path / "project", small_config)


def test_a_run_without_sbatch_ends_before_its_first_job(project: Project, tmp_path: Path) -> None:
    output = project.run(
        "--workflow-profile",
        "profiles/slurm",
        succeeds=False,
        environment={"PATH": path_without_slurm(tmp_path / "bin")},
    )
    assert "SLURM: there is no command sbatch here; run this on a login node" in output
    assert "Traceback" not in output
    assert not (project.folder / "results/instances").exists()


def test_a_run_ends_when_the_commands_vanish(project: Project, tmp_path: Path) -> None:
    commands = tmp_path / "slurm"
    write_commands(commands)
    path = f"{commands}{os.pathsep}{path_without_slurm(tmp_path / 'bin')}"
    line = [*BIASGRID, "run", project.file, "--profile", "profiles/slurm"]
    run = subprocess.Popen(
        line,
        cwd=project.folder,
        env=project.environment() | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    instances = project.folder / "results/instances"
    deadline = time.monotonic() + 120
    while not instances.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    for command in commands.iterdir():
        command.unlink()
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 1, output
    assert "SLURM: sbatch and sinfo vanished during the run, so it ends" in output
    assert "SLURM run ID: " in output
    assert "Traceback" not in output
    assert f"biasgrid run {project.file} --profile profiles/slurm" in output
