"""Runs that are interrupted or killed go on when they are started again, and end with the same bytes."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from project import Project


@pytest.mark.parametrize(("kind", "seed"), [(signal.SIGKILL, 1), (signal.SIGINT, 3)])
def test_the_next_run_completes_an_interrupted_one(
    finished: Project, small_config: dict[str, Any], tmp_path: Path, kind: signal.Signals, seed: int
):
    project = Project.create(tmp_path / "project", small_config)
    generator = random.Random(seed)
    for _ in range(2):
        process = project.start("results/summary.csv")
        time.sleep(generator.uniform(3, 12))
        os.killpg(process.pid, kind)
        process.communicate(timeout=120)
    project.run("results/summary.csv")
    assert project.tables() == finished.tables()


def test_two_runs_at_once_are_refused(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    first = project.start("results/summary.csv")
    lock = project.folder / "results" / ".lock"
    deadline = time.monotonic() + 60
    while not lock.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    output = project.run("results/summary.csv", succeeds=False)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=60)
    assert "another run is at work there" in output
