"""The frozen grid: stored answers of every family through the workflow, and every number that is made of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml
from frozen_numbers import CONFIG, FROZEN, PAGE, TABLES, create_project, moves_of, tables_of
from project import Project
from shared import made_once

from biasgrid.config.registry import BUILT_IN


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """The tables and the page's data, as a run makes them now."""
    folder = made_once(tmp_path_factory, "frozen", lambda folder: create_project(folder).run())
    return tables_of(Project(folder, CONFIG).results)


@pytest.mark.parametrize("table", [*TABLES, PAGE])
def test_every_number_is_the_frozen_one(made: dict[str, pl.DataFrame], table: str) -> None:
    assert len(made[table]) > 0
    moves = moves_of(table, made[table])
    assert moves.count == 0, "\n".join([*moves.lines(table), "`make freeze` writes them again: see CONTRIBUTING.md"])


def test_every_family_is_there_with_two_models_and_most_have_something_significant(
    made: dict[str, pl.DataFrame],
) -> None:
    content = yaml.safe_load((FROZEN / "config.yaml").read_text())
    families = {name: section.get("family", "underspecified") for name, section in content["datasets"].items()}
    assert {*families.values()} == BUILT_IN.families.keys()
    assert not any("sample" in section for section in content["datasets"].values())
    models = dict(made["measures"].group_by("dataset").agg(pl.col("model").n_unique()).iter_rows())
    assert models.keys() == families.keys()
    assert min(models.values()) >= 2
    significant = made["measures"].filter(pl.col("q") <= 0.05)["dataset"].unique()
    assert len({families[dataset] for dataset in significant}) >= 6
    assert {families[dataset] for dataset in made["comparisons"]["dataset"].unique()} >= {*families.values()} - {
        "rewriting"
    }


def test_the_stored_files_are_small() -> None:
    files = [path for path in FROZEN.rglob("*") if path.is_file()]
    assert len(files) > 30
    assert sum(path.stat().st_size for path in files) < 2_500_000


def test_the_grid_is_run_from_stored_answers_alone() -> None:
    content = yaml.safe_load((FROZEN / "config.yaml").read_text())
    keys = {key for section in content["models"].values() for key in section}
    assert keys & {"checkpoint", "folder", "train", "answers", "predictions"} == {"answers", "predictions"}
    stored = [section["answers"] for section in content["models"].values() if "answers" in section]
    assert all((FROZEN.parent / Path(name)).is_file() for name in stored)
