"""What docs/guide/extending.md adds to biasgrid works as it stands there, and changes nothing of
biasgrid.
"""

import subprocess
import sys
from pathlib import Path

import extending
import numpy as np
import polars as pl
import pytest
from frozen_numbers import create_project
from project import ROOT, Project
from scipy.special import stdtrit
from shared import made_once

import biasgrid
from biasgrid.tables.measures import MEASURES


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the page's plugins, run to the end."""

    def make(folder: Path) -> None:
        project = Project.create(folder, extending.config() | {"results": "results"})
        extending.write_plugins(folder)
        project.run()

    return Project(made_once(tmp_path_factory, "extended", make))


def told(project: Project, *arguments: str) -> str:
    """What the command line prints."""
    line = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", *arguments]
    run = subprocess.run(
        line,
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_page_is_short() -> None:
    assert sum(len(text.splitlines()) for text in extending.code().values()) < 215


@pytest.mark.parametrize("folder", ["src/biasgrid", "rules", "workflow"])
def test_nothing_of_biasgrid_is_changed(extended: Project, folder: str) -> None:
    ours, theirs = (contents(root / folder) for root in (ROOT, extended.folder))
    assert len(ours) > 5
    assert theirs == ours


def contents(folder: Path) -> dict[str, bytes]:
    """All files in a folder but compiled ones."""
    files = [
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_its_names_are_listed_with_the_built_in_ones(extended: Project) -> None:
    config = "config/small.yaml"
    assert "2 cells" in told(extended, "validate", config)
    assert "greetings" in told(extended, "plan", config)
    assert "2/2 done" in told(extended, "status", config)
    assert "0.094" in told(extended, "summary", "results")
    preview = told(extended, "preview", config, "--dataset", "greetings", "--model", "warm")
    assert all(word in preview for word in ("Welcome, strangers.", "0.5", "warmth"))
    page = (extended.folder / "results/report/index.html").read_text()
    assert all(
        text in page
        for text in ("Greetings", "Largest warmth less the smallest", "with other words")
    )


CHOICES = {"agree": {}, "tone": {}, "questions": {}, "decisions": {}}
"""Datasets of the frozen grid that can ask any task for a choice, and their keys for that."""


def test_its_back_end_answers_every_family_that_asks_its_task_for_a_choice(tmp_path: Path) -> None:
    project = create_project(tmp_path / "project")
    extending.write_plugins(project.folder)
    frozen = project.read_config()
    content = {key: frozen[key] for key in ("title", "results", "inference", "report")}
    content["word_lists"] = str(project.folder / frozen["word_lists"])
    content |= {"plugins": ["plugins/lexicon.py"], "models": extending.config()["models"]}
    datasets = {name: frozen["datasets"][name] | {"task": "lexicon"} for name in CHOICES}
    for section in datasets.values():
        if section.get("answers") == "written":
            section["answers"] = "scored"
    content["datasets"] = datasets
    content["run"] = {"models": ["warm", "cold"], "datasets": [*CHOICES]}
    project.write_config(content)
    project.run()
    results = biasgrid.open(project.results)
    for dataset in CHOICES:
        files = (project.results / "predictions" / dataset / "warm").glob("*.parquet")
        sums = pl.concat(map(pl.read_parquet, files))["probabilities"].list.sum()
        assert sums.min() == pytest.approx(1, abs=1e-6)
        assert results.measures(dataset, "warm")["value"].is_not_null().any()
    # Texts without a warm word have no odds: no question has any, and nothing breaks.
    slope = results.measures("decisions", "cold").row(
        by_predicate=pl.col("measure") == "age_slope", named=True
    )
    assert (slope["value"], slope["clusters"]) == (None, 0)
    assert slope["reason"].startswith("not measurable: in 100% of the instances")


def test_its_measures_are_right(extended: Project) -> None:
    results = biasgrid.open(extended.folder / "results")
    warmth = results.measures("greetings", "warm").filter(measure="warmth")
    assert list(warmth.columns) == list(MEASURES.columns)
    assert dict(warmth.select("group", "value").iter_rows()) == {
        "neighbours": pytest.approx((3 / 9 + 1 / 4 + 1 / 5) / 3),
        "strangers": pytest.approx((1 / 2 + 0 + 0) / 3),
    }


def test_its_measures_get_intervals_because_it_declares_what_they_are_of(extended: Project) -> None:
    results = biasgrid.open(extended.folder / "results")
    rows = results.measures("greetings", "warm")
    warmth = rows.filter(measure="warmth", group="strangers").row(0, named=True)
    values = np.array([1 / 2, 0, 0])
    half = stdtrit(2, 0.975) * values.std(ddof=1) / np.sqrt(3)
    ends = max(0, values.mean() - half), values.mean() + half
    assert (warmth["low"], warmth["high"]) == pytest.approx(ends)
    assert (warmth["generalises_to"], warmth["clusters"], warmth["method"]) == (
        "clusters",
        3,
        "jackknife t",
    )
    gap = rows.filter(measure="gap").row(0, named=True)
    assert (gap["low"], gap["high"], gap["method"]) == (None, None, None)
    assert gap["reason"]


def test_another_level_runs_statistics_alone_and_a_list_of_clusters_measures_again(
    extended: Project, tmp_path: Path
) -> None:
    project = extended.clone(tmp_path / "clone")
    config = project.read_config()
    changes = [{"statistics": {"level": 0.9}}, {"statistics": {"fdr": "by"}}]
    for change in changes:
        project.write_config(config | change)
        planned = project.planned()
        assert planned["statistics"] == 2
        assert not {"expand", "fetch", "predict", "measure"} & set(planned)
    config["datasets"]["greetings"]["template_clusters"] = [[0, 1], [2]]
    project.write_config(config)
    planned = project.planned()
    # Its `measure` returns a table, which is made again without each cluster.
    assert (planned["measure"], planned["statistics"]) == (2, 2)
    assert not {"expand", "fetch", "predict"} & set(planned)


@pytest.mark.parametrize(
    ("plugin", "old", "new", "rules"),
    [
        (
            "greetings",
            "largest warmth less",
            "the largest warmth less",
            {"summary", "report", "plot"},
        ),
        ("lexicon", "text.lower()", "text.casefold()", {"predict"}),
        ("warmth", "CAPTION =", "WIDTH = 1\nCAPTION =", {"plot", "report"}),
    ],
)
def test_a_plugins_code_runs_again_what_is_made_with_it(
    extended: Project, tmp_path: Path, plugin: str, old: str, new: str, rules: set[str]
) -> None:
    project = extended.clone(tmp_path / "clone")
    file = project.folder / "plugins" / f"{plugin}.py"
    file.write_text(file.read_text().replace(old, new))
    planned = project.planned()
    assert rules <= set(planned)
    assert "expand" not in planned or plugin == "greetings"
    assert "predict" not in planned or plugin != "warmth"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'pl.lit("gap")',
            'pl.lit("spread")',
            "measured 'spread', which its `measures` does not declare",
        ),
        (
            "left_out=pl.lit(0)",
            'left_out=pl.lit("none")',
            "made a table that does not match its schema (",
        ),
    ],
)
def test_measures_that_are_not_as_declared_are_refused(
    extended: Project, tmp_path: Path, old: str, new: str, message: str
) -> None:
    project = extended.clone(tmp_path / "clone")
    file = project.folder / "plugins/greetings.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    output = project.run("results/measures/greetings/warm.parquet", succeeds=False)
    assert message in output
    assert "the family plugins/greetings.py" in output
