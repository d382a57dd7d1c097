"""Mistakes of newcomers with folders of results: commands say what there is to choose from."""

from __future__ import annotations

from pathlib import Path

import base
import pytest
from small_measures import table_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.config import load_config
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import SUMMARY

ROW = {
    "dataset": "moods",
    "measure": "distance",
    "kind": "LM",
    "label": "a",
    "options": "",
    "left_out": 0,
    "n": 32,
    "headline": True,
    "verdict": "nothing found",
    "value": 0.1,
}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of `mine.yaml`: two models on a dataset; only the summary has rows."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("title: Mine\nresults: results/mine\n")
    folder = Path("results/mine")
    for table in ("measures", "sums"):
        (folder / table / "moods").mkdir(parents=True)
        for model in ("one", "other"):
            (folder / table / "moods" / f"{model}.parquet").touch()
    (folder / "comparisons").mkdir()
    (folder / "comparisons/moods.parquet").touch()
    (folder / "manifest.json").write_text("{}")
    rows = [{"model": model} for model in ("one", "other")]
    write_table(table_of(SUMMARY, rows, **ROW), folder / "summary.parquet", SUMMARY, {})
    return folder


def told(*arguments: object) -> str:
    """What a command says that cannot do its work."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "compare results/mine one",
            "'one' is one model; expected another folder of results, or two models, as in `biasgrid "
            "compare results/mine one other`: one of one, other",
        ),
        ("compare results/mine", "no models are given; expected another folder of results, or two"),
        (
            "compare results/mine othr",
            "there is no folder and no model 'othr' (did you mean 'other'?); expected another",
        ),
        (
            "card results/mine",
            "--model is missing; expected one of one, other, as in `biasgrid card results/mine "
            "--model one`",
        ),
        ("explain results/mine", "results/mine, --model: missing; expected one of one, other"),
        (
            "explain results/mine --model oter",
            "results/mine, --model: unknown name 'oter' (did you mean 'other'?); expected one of",
        ),
        (
            "gate results/mine --max moods.distance=0,05",
            "expected a point in place of the comma: moods.distance=0.05",
        ),
        (
            "gate results/mine --max moods.Distnce=0.05",
            "unknown measure 'Distnce' (did you mean 'distance'?)",
        ),
        # Nobody has told of these yet.
        ("summary results", "results: contains folders of results; expected one of results/mine"),
        ("summary results/mne", "there is no folder results/mne (did you mean 'mine'?); expected"),
        ("summary min.yaml", "there is no folder min.yaml (did you mean 'mine.yaml'?); expected"),
        ("run min.yaml", "cannot be read (No such file or directory) (did you mean 'mine.yaml'?)"),
    ],
)
def test_a_command_says_what_there_is(results: Path, command: str, message: str) -> None:
    assert message in told(*command.split())


def test_a_config_can_replace_its_results_folder(results: Path) -> None:
    assert told("compare", "mine.yaml", "one") == (
        "mine.yaml: its results are in results/mine\n" + told("compare", results, "one")
    )
    results.rename("elsewhere")
    assert "mine.yaml: was not run yet; to run it: biasgrid run mine.yaml" in told(
        "summary", "mine.yaml"
    )


# Where a run must not write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without faults, within the home folder."""
    folder = tmp_path / "home/project"
    folder.mkdir(parents=True)
    base.write(folder)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.chdir(folder)
    return folder


def write_to(results: str) -> None:
    """Sets the folder of results in the project that is the current folder."""
    config = base.config() | {"results": results}
    base.write_config(Path(), config)


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        (".", "is the current folder, among whose files a run would write its own"),
        ("models/..", "is the current folder"),
        ("/", "is the whole disk"),
        ("~", "is the home folder"),
        ("../..", "is a folder around the current one"),
        ("config.yaml", "is a file"),
        ("word_lists", "is the folder of word lists"),
    ],
)
def test_a_run_does_not_write_among_other_things(project: Path, results: str, reason: str) -> None:
    write_to(results)
    message = told("validate", "config.yaml")
    assert "config.yaml, line 2, results: " in message
    assert reason in message
    assert "; expected a different folder, such as results/config" in message


def test_a_folder_with_files_of_others_is_no_folder_of_results(project: Path) -> None:
    Path("thesis").mkdir()
    write_to("thesis")
    run = ["validate", "config.yaml"]
    Path("thesis/.hidden").touch()
    assert CliRunner().invoke(app, run).exit_code == 0
    Path("thesis/chapter.tex").touch()
    assert told(*run) == (
        "thesis: has files that no run has made (chapter.tex); expected a folder of its own for "
        "`results`, such as thesis/results\n"
    )
    # A run has been here, and its user keeps a note of it.
    Path("thesis/.made_with.json").write_text('["../config.yaml"]')
    assert CliRunner().invoke(app, run).exit_code == 0


def test_a_home_folder_in_results_is_taken_as_in_a_shell(project: Path) -> None:
    write_to("~/results")
    assert load_config("config.yaml").results == str(project.parent / "results")
