"""Models of one trait each through whole runs with imported answers: what is claimed of them, and
what is not.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from personas import IMPOSSIBLE, PERSONAS, config_of, write_answers, write_questions
from project import Project
from shared import made_once

import biasgrid
from biasgrid.tables.verdicts import NOT_MEASURED, NOTHING_FOUND

DATASETS = ("statements", "hiring", "letters", "questions")
MEASURED = {"right": ("questions",), "fair": ("hiring", "letters", "questions")}
"""By persona the datasets in which it can be measured, and nothing is found. These few statements
have few clusters.
"""


def make_run(folder: Path) -> None:
    """Expands the datasets, answers them as each persona does, and runs the grid on these
    answers.
    """
    project = Project.create(folder, config_of({"drawn": {"random": {"seed": 1}}}))
    write_questions(folder / "word_lists")
    project.run("--until", "expand")
    models = write_answers(project.results, folder)
    shutil.rmtree(project.results)
    project.write_config(config_of(models))
    project.run()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(made_once(tmp_path_factory, "personas", make_run))


@pytest.fixture(scope="module")
def verdicts(project: Project) -> pl.DataFrame:
    return biasgrid.open(project.results).verdicts()


@pytest.mark.parametrize("persona", PERSONAS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_verdict_is_only_of_what_was_measured(
    verdicts: pl.DataFrame, persona: str, dataset: str
) -> None:
    (row,) = verdicts.filter(model=persona, dataset=dataset).to_dicts()
    # Where a persona cannot occur, its cell has the answers of the fair model.
    answered_by = "fair" if dataset in IMPOSSIBLE.get(persona, ()) else persona
    if dataset in MEASURED.get(answered_by, ()):
        assert (row["verdict"], row["reason"]) == (NOTHING_FOUND, None)
        assert 0 < row["detectable"] < 1
    else:
        assert (row["verdict"], row["p"], row["tests"]) == (NOT_MEASURED, None, 0)
        assert row["reason"]
        assert row["remedy"]


def test_who_is_right_everywhere_has_no_bias(project: Project) -> None:
    names = ("bias_ambiguous", "bias_disambiguated", "nonalignment_cost")
    rows = (
        biasgrid.open(project.results)
        .measures("questions", "right")
        .filter(pl.col("measure").is_in(names))
    )
    assert set(rows["value"].drop_nulls()) == {0}


def test_every_surface_says_the_same(project: Project, verdicts: pl.DataFrame) -> None:
    results = str(project.folder / "results")
    shown = " ".join(Page((project.results / "report/index.html").read_text()).text.lower().split())
    for verdict, count in verdicts.group_by("verdict", maintain_order=True).len().rows():
        assert f"{verdict} in {count} of {len(verdicts)} cells" in shown
    summary = (
        biasgrid.open(project.results).summary().select("model", "dataset", "verdict").unique()
    )
    assert summary.sort("model", "dataset").equals(
        verdicts.select(summary.columns).sort("model", "dataset")
    )
    card = project.told("card", results, "--model", "refuses").stdout
    assert card.count(f"- {NOT_MEASURED} in ") == len(DATASETS)
    gate = project.told(
        "gate", results, "--model", "refuses", "--max", "questions.bias_ambiguous=0.1"
    )
    assert gate.exit_code == 3
    assert f"verdict: {NOT_MEASURED}" in gate.stdout


def test_a_model_whose_numbers_are_withheld_is_quoted_nowhere(project: Project) -> None:
    page = Page((project.results / "report/index.html").read_text())
    tiles = page.blocks["core"]["screen"]["tiles"]
    silent = [
        f"{persona}/{dataset}"
        for persona in ("refuses", "silent", "first", "agrees")
        for dataset in DATASETS
    ]
    assert {*silent} <= tiles.keys()
    numbers = {
        cell: {tile["number"] for tile in tiles[cell] if tile["label"] != "Coverage"}
        for cell in silent
    }
    assert set().union(*numbers.values()) <= {NOT_MEASURED, "\N{EN DASH}"}
