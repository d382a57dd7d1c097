"""What of a run is kept as a reference: its models of the hub, and what these were asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_measures import measures_of, table_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.cli.quickstart.commands import print_references, references_and_models
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURES, SUMMARY

RECORD = {"checkpoint": "org/name", "revision": "3e47969"}
NUMBER = {
    "dataset": "gender",
    "kind": "LM",
    "measure": "mu",
    "options": "",
    "n": 8,
    "left_out": 0,
    "headline": True,
}
NUMBER |= {"verdict": "nothing found"}


def results_of(folder: Path, dropped: dict[str, list[str]]) -> Path:
    """A run of some models of the hub, by the subjects that their tokenizers dropped, and of one
    that reads texts.
    """
    rows = [{"model": name, "label": name, "value": 0.1} for name in dropped]
    write_table(
        table_of(SUMMARY, rows, **NUMBER),
        folder / "summary.parquet",
        SUMMARY,
        {"statistics": {"level": 0.9}},
    )
    for name, subjects in dropped.items():
        path = folder / "measures" / "gender" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = {
            "instances": {"word_lists": "aa", "dropped_subjects": subjects},
            "precision": "float32",
        }
        write_table(
            measures_of([{"model": name, "value": 0.1}], dataset="gender"),
            path,
            MEASURES,
            {"predictions": said},
        )
    manifest = {
        "title": "A run",
        "config": "cc",
        "biasgrid": "1.0",
        "models": dict.fromkeys([*dropped, "reader"], RECORD),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def kept(folder: Path, dropped: dict[str, list[str]]) -> dict[str, Any]:
    """What is kept of the run's cells, by model."""
    references = folder / "references"
    arguments = [
        "reference",
        "add",
        str(results_of(folder, dropped)),
        "--folder",
        str(references),
        "--name",
        "mine",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return {
        cell["label"]: cell for cell in json.loads((references / "mine.json").read_text())["cells"]
    }


def test_models_that_only_read_texts_of_others_are_no_references(tmp_path: Path) -> None:
    (cell,) = kept(tmp_path, {"one": []}).values()
    assert (cell["label"], cell["model"], cell["level"]) == ("one", "org/name at 3e47969", 0.9)


def test_models_whose_tokenizers_drop_other_subjects_are_asked_other_texts(tmp_path: Path) -> None:
    asked = {
        name: cell["asked"]
        for name, cell in kept(tmp_path, {"a": [], "b": ["Ann"], "c": ["Bob"]}).items()
    }
    assert asked["a"] == "aa"
    assert len(set(asked.values())) == 3


def test_a_run_without_models_of_the_hub_says_how_to_keep_others(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"one": []})
    manifest = json.loads((results / "manifest.json").read_text())
    manifest["models"]["one"] = {"folder": "one"}
    (results / "manifest.json").write_text(json.dumps(manifest))
    refused = CliRunner().invoke(
        app, ["reference", "add", str(results), "--folder", str(tmp_path / "references")]
    )
    assert refused.exit_code == 2
    assert "to save one of its other models, expected --model with one of one" in refused.stderr
    assert not (tmp_path / "references").exists()


def test_a_trial_whose_references_are_of_other_datasets_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = results_of(tmp_path, {"one": []})
    monkeypatch.chdir(tmp_path)
    figure = {"dataset": "other", "kind": "LM", "label": "mine", "measure": "mu", "value": 0.1}
    Path("references").mkdir()
    Path("references/own.json").write_text(json.dumps({"figures": [figure]}))
    print_references(results, ["mine"])
    assert "no reference has a dataset and a measure in common with" in capsys.readouterr().out


def test_labels_of_references_may_hold_commas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    figure = {
        "dataset": "gender",
        "kind": "LM",
        "label": "mine, of May",
        "measure": "mu",
        "value": 0.1,
    }
    Path("references").mkdir()
    Path("references/own.json").write_text(
        json.dumps({"figures": [figure, figure | {"label": "mine"}]})
    )
    Path("mine").mkdir()
    references, models = references_and_models(["mine, of May", "BERT base, mine", "org/model"])
    assert references == ["mine, of May", "BERT base"]
    assert models == ["mine", "org/model"]
