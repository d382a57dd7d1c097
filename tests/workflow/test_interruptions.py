"""Runs that are interrupted or killed go on when they are started again, and end with the same
bytes.
"""

import os
import random
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import Project
from shared import made_once

KILLS = 20
TARGET = "results/summary.csv"


def stop_after(project: Project, seconds: float, kind: signal.Signals) -> None:
    """Starts a run and sends a signal to all its processes after some time, unless it has ended by
    then.
    """
    process = project.start(TARGET)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, kind)
        process.communicate(timeout=120)


def check_same(project: Project, expected: Project) -> None:
    """A project has the tables of another, its other files too, and no temporary ones."""
    project.check_same_tables(expected)
    assert files_of(project) == files_of(expected)
    hidden = {file for file in files_of(project) if "/." in f"/{file}"} - {
        ".lock",
        ".made_with.json",
    }
    answers, digest = r"\.answers/gender/answering", r"\w{16}"
    # What fits the processor is kept for all shards of the cell.
    processor = rf"{answers}/{digest}/processor-\w+\.json"
    expected_names = [
        rf"{answers}/1-of-1\.lock",
        rf"{answers}/{digest}/{digest}\.parquet",
        rf"{answers}/{digest}/{digest}\.keys",
        processor,
        rf"{processor}\.lock",
    ]
    assert len(hidden) == len(expected_names)
    assert all(any(re.fullmatch(name, file) for file in hidden) for name in expected_names)


def files_of(project: Project) -> set[str]:
    results = project.folder / "results"
    return {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def fresh(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One cell that has not been run, with nine parts in its shard."""
    return Project(made_once(tmp_path_factory, "fresh", partial(make_fresh, small_config)))


def make_fresh(small_config: dict[str, Any], folder: Path) -> None:
    config = small_config | {"run": {"models": ["answering"], "datasets": ["gender"]}}
    config["datasets"] = {"gender": small_config["datasets"]["gender"] | {"shards": 1}}
    config["inference"] = {"device": "cpu", "token_budget": 1}
    project = Project.create(folder, config)
    project.make_parts_small()


@pytest.fixture(scope="session")
def undisturbed(fresh: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, float]:
    """The cell run to the end, and how many seconds that took."""
    folder = made_once(tmp_path_factory, "undisturbed", partial(run_undisturbed, fresh))
    return Project(folder / "first"), float((folder / "seconds").read_text())


def run_undisturbed(fresh: Project, folder: Path) -> None:
    """Runs the cell to the end, twice at a time: while tests run side by side, so do the runs that
    are killed.
    """

    def run(name: str) -> tuple[Project, float]:
        project, before = fresh.clone(folder / name), time.monotonic()
        process = project.start(TARGET)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        return project, time.monotonic() - before

    with ThreadPoolExecutor(2) as pool:
        (first, seconds), (second, _) = pool.map(run, ["first", "second"])
    first.check_same_tables(second)
    (folder / "seconds").write_text(str(seconds))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))]
)
def test_the_next_run_completes_one_that_was_killed_again_and_again(
    fresh: Project, undisturbed: tuple[Project, float], seed: int, tmp_path: Path
):
    project, (expected, seconds), draw = (
        fresh.clone(tmp_path / "project"),
        undisturbed,
        random.Random(seed),
    )
    for _ in range(KILLS // 4):
        # Snakemake needs a fifth of a run until there is something to kill.
        stop_after(project, draw.uniform(0.2, 0.7) * seconds, signal.SIGKILL)
    project.run(TARGET)
    check_same(project, expected)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(KILLS))
def test_the_next_run_completes_a_killed_one(
    fresh: Project, undisturbed: tuple[Project, float], seed: int, tmp_path: Path
):
    project, (expected, seconds) = fresh.clone(tmp_path / "project"), undisturbed
    # One moment in each twentieth of a run.
    stop_after(project, seconds * (seed + random.Random(seed).random()) / KILLS, signal.SIGKILL)
    project.run(TARGET)
    check_same(project, expected)


def test_the_next_run_completes_an_interrupted_one(
    fresh: Project, undisturbed: tuple[Project, float], tmp_path: Path
):
    project, (expected, seconds) = fresh.clone(tmp_path / "project"), undisturbed
    for _ in range(2):
        stop_after(project, random.Random(1).uniform(0.3, 0.8) * seconds, signal.SIGINT)
    project.run(TARGET)
    check_same(project, expected)


def test_other_runs_in_the_folder_are_refused_and_do_not_disturb(
    fresh: Project, undisturbed: tuple[Project, float], tmp_path: Path
):
    project = fresh.clone(tmp_path / "project")
    other = project.read_config() | {
        "title": "Another grid in the same folder",
        "scoring": "unqover",
    }
    (project.folder / "config/other.yaml").write_text(yaml.safe_dump(other))
    first = project.start(TARGET)
    deadline = time.monotonic() + 60
    while not (project.folder / "results/.lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    for config in ("config/small.yaml", "config/other.yaml"):
        output = project.run(TARGET, "--configfile", config, succeeds=False)
        assert "results: another run is using this folder; wait for it" in output
        assert "Traceback" not in output
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
    check_same(project, undisturbed[0])
