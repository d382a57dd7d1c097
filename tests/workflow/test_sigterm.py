"""SIGTERM to Snakemake alone ends its jobs, and the next run goes on from their parts."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
from project import Project
from slurm_cluster import (
    SlurmCluster,
    SlurmProject,
    has_parts,
    hold_shards,
    log_of,
    name_of_job,
    wait_until,
)
from small_tables import check_alike

SHARDS = ["1-of-2", "2-of-2"]
MEASURES = "results/measures/gender/answering.parquet"


def held_project(kind: type[Project], config: dict[str, Any], folder: Path) -> Project:
    """A project of one cell whose shards wait behind their first part."""
    project = kind.create(
        folder, config | {"run": {"models": ["answering"], "datasets": ["gender"]}}
    )
    hold_shards(project)
    return project


def half_done(project: Project) -> bool:
    return all(has_parts(project, shard) for shard in SHARDS)


def processes_in(folder: Path) -> list[psutil.Process]:
    """The processes that were started in a folder."""
    return [
        process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(folder)
    ]


def temporary_files(project: Project) -> list[Path]:
    """What a file or folder is called until it is whole."""
    found = (project.folder / "results").rglob(".*")
    return [path for path in found if re.fullmatch(r"\..+\.[0-9a-f]{8}|\.partial", path.name)]


def states(project: SlurmProject) -> set[str]:
    """What SLURM says of the jobs that were submitted."""
    return {job["JobState"] for [job] in project.jobs().values()}


def check_goes_on(project: Project, finished: Project) -> None:
    """The next run finds the parts that were made, and ends with the measures of an undisturbed
    one.
    """
    (project.folder / "hold").unlink()
    project.run(MEASURES)
    for shard in SHARDS:
        assert "rows come from an earlier run" in log_of(project, shard)
    check_alike(
        pl.read_parquet(project.folder / MEASURES), pl.read_parquet(finished.folder / MEASURES)
    )


def test_local_jobs_end_with_snakemake(
    finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    project = held_project(Project, small_config, tmp_path / "project")
    run = project.start(MEASURES)
    wait_until(lambda: half_done(project), "both shards have made a part")
    os.kill(run.pid, signal.SIGTERM)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "Traceback" not in output
    assert processes_in(project.folder) == []
    assert temporary_files(project) == []
    assert not list((project.folder / "results/predictions").rglob("*.parquet"))
    assert all("interrupted" in log_of(project, shard) for shard in SHARDS)
    check_goes_on(project, finished)


@pytest.mark.parametrize("running", [True, pytest.param(False, marks=pytest.mark.long)])
def test_jobs_of_slurm_are_cancelled(
    cluster: SlurmCluster,
    finished: Project,
    small_config: dict[str, Any],
    running: bool,
    tmp_path: Path,
):
    """Also those that are just being submitted, of which Snakemake knows nothing when it cancels
    its jobs.
    """
    project = held_project(SlurmProject, small_config, tmp_path / "project")
    assert isinstance(project, SlurmProject)
    project.submit_shards_alone()
    run = project.start(MEASURES)
    if running:
        wait_until(lambda: half_done(project), "both shards have made a part")
    else:
        wait_until(project.jobs, "a job is submitted")
    os.kill(run.pid, signal.SIGTERM)
    run.communicate(timeout=120)
    assert run.returncode == 1
    wait_until(lambda: states(project) == {"CANCELLED"}, "the jobs have ended")
    assert {*project.jobs()} == {name_of_job("gender", "answering", shard) for shard in SHARDS}
    if running:
        check_goes_on(project, finished)
