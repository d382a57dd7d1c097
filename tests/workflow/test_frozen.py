"""The frozen grid: stored answers of every family through the workflow, and every number that is
made of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from frozen_numbers import CONFIG, FROZEN, PAGE, TABLES, create_project, moves_of, tables_of
from parsed_page import Page
from project import Project
from shared import made_once

import biasgrid
from biasgrid.config.registry import BUILT_IN
from biasgrid.tables.claims.numbers import format_p


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run."""
    folder = made_once(tmp_path_factory, "frozen", lambda folder: create_project(folder).run())
    return Project(folder, CONFIG).results


@pytest.fixture(scope="module")
def made(results: Path) -> dict[str, pl.DataFrame]:
    """The tables and the page's data, as a run makes them now."""
    return tables_of(results)


@pytest.mark.parametrize("table", [*TABLES, PAGE])
def test_every_number_is_the_frozen_one(made: dict[str, pl.DataFrame], table: str) -> None:
    assert len(made[table]) > 0
    moves = moves_of(table, made[table])
    assert moves.count == 0, "\n".join(
        [*moves.lines(table), "`make freeze` writes them again: see CONTRIBUTING.md"]
    )


def test_every_family_is_there_with_two_models_and_most_have_something_significant(
    made: dict[str, pl.DataFrame],
) -> None:
    content = yaml.safe_load((FROZEN / "config.yaml").read_text())
    families = {
        name: section.get("family", "underspecified")
        for name, section in content["datasets"].items()
    }
    assert {*families.values()} == BUILT_IN.families.keys()
    assert not any("sample" in section for section in content["datasets"].values())
    models = dict(made["measures"].group_by("dataset").agg(pl.col("model").n_unique()).iter_rows())
    assert models.keys() == families.keys()
    assert min(models.values()) >= 2
    significant = made["measures"].filter(pl.col("q") <= 0.05)["dataset"].unique()
    assert len({families[dataset] for dataset in significant}) >= 6
    assert {families[dataset] for dataset in made["comparisons"]["dataset"].unique()} >= {
        *families.values()
    } - {"rewriting"}


def is_shown_as(value: float, shown: str) -> bool:
    """Says whether a number is written so, sizes below 0 as 0."""
    decimals = len(shown.partition(".")[2])
    number, half = float(shown.replace("\N{MINUS SIGN}", "-")), 0.501 * 10.0**-decimals
    return min(abs(value - number), abs(max(value, 0) - number)) <= half


def test_each_number_of_the_first_screen_is_a_measure_with_its_own_p(results: Path) -> None:
    tiles = Page((results / "report/index.html").read_text()).blocks["core"]["screen"]["tiles"]
    looked_up = 0
    for cell, shown in tiles.items():
        model, _, dataset = cell.partition("/")
        rows = (
            biasgrid.open(results)
            .measures(dataset, model)
            .drop_nulls("value")
            .select("value", "p")
            .rows()
        )
        for tile in shown:
            if tile["label"].startswith(("Verdict", "Coverage")) or tile["number"] == "\N{EN DASH}":
                continue
            own = [p for value, p in rows if is_shown_as(value, tile["number"])]
            assert own, (cell, tile)
            chance = re.search(r"p ([<>=]) ([0-9.]+)", tile["said"])
            assert chance is None or any(
                p is not None and f"p {format_p(p)}" in tile["said"] for p in own
            ), (
                cell,
                tile,
            )
            looked_up += 1
    assert looked_up > 20


def test_the_stored_files_are_small() -> None:
    files = [path for path in FROZEN.rglob("*") if path.is_file()]
    assert len(files) > 30
    assert sum(path.stat().st_size for path in files) < 2_500_000


def test_the_grid_is_run_from_stored_answers_alone() -> None:
    content = yaml.safe_load((FROZEN / "config.yaml").read_text())
    keys = {key for section in content["models"].values() for key in section}
    assert keys & {"checkpoint", "folder", "train", "answers", "predictions"} == {
        "answers",
        "predictions",
    }
    stored = [section["answers"] for section in content["models"].values() if "answers" in section]
    assert all((FROZEN.parent / Path(name)).is_file() for name in stored)
