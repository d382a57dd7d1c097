"""Shards of the cell answering x gender that wait behind their first part until they are told to go on."""

from __future__ import annotations

from pathlib import Path

from project import Project

from biasgrid.jobs.progress import read_beat

# Put at the end of a copy's engine: small parts, and whoever has made one waits as long as there is a file `hold`.
HOLD = """
import time

ROWS_A_PART = 20


def held(self, rows, keep=Progress.keep):
    keep(self, rows)
    while Path("hold").exists():
        time.sleep(0.05)


Progress.keep = held
"""


def hold_shards(project: Project) -> Path:
    """Makes the shards of a project wait; gives the file for which they wait to be removed."""
    with (project.folder / "src/biasgrid/inference/models/predict.py").open("a") as engine:
        engine.write(HOLD)
    hold = project.folder / "hold"
    hold.touch()
    return hold


def has_parts(project: Project, shard: str) -> bool:
    """Whether a shard that is not done has made a part."""
    beat = read_beat(project.folder / f"results/.answers/gender/answering/{shard}.json")
    return beat is not None and beat.kept > 0


def log_of(project: Project, shard: str) -> str:
    return (project.folder / f"results/logs/predict/gender/answering/{shard}.log").read_text()
