"""Another engine for encoders: what runs again, and what is kept."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from project import Project

from biasgrid.tables.files import read_provenance

PREDICTIONS = [f"results/predictions/gender/answering/{shard}-of-2.parquet" for shard in (1, 2)]


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    return finished.clone(tmp_path / "clone")


def set_engine(project: Project, engine: str) -> None:
    config = project.read_config()
    config["inference"]["engine"] = engine
    project.write_config(config)


def facts(project: Project, name: str) -> list[Any]:
    return [read_provenance(project.folder / path).get(name) for path in PREDICTIONS]


def engines(project: Project) -> list[str | None]:
    return [engine and engine.split()[0] for engine in facts(project, "engine")]


def rows_found(project: Project) -> list[bool]:
    """Says of each shard whether all its rows were answered by an earlier run."""
    files = (project.results / f"timings/gender/answering/{shard}-of-2.json" for shard in (1, 2))
    timings = [json.loads(file.read_text()) for file in files]
    return [timing["found"] == timing["rows"] for timing in timings]


def test_another_engine_answers_anew_and_answers_of_torch_are_kept(project: Project) -> None:
    by_torch = facts(project, "store")
    set_engine(project, "openvino")
    again = Counter(
        predict=6, measure=4, statistics=4, compare=2, plot=3, summary=1, report=1, manifest=1
    )
    assert project.planned() == again
    project.run(*PREDICTIONS)
    assert engines(project) == ["openvino"] * 2
    assert rows_found(project) == [False, False]
    set_engine(project, "torch")
    project.run(*PREDICTIONS)
    assert engines(project) == [None, None]
    assert facts(project, "store") == by_torch
    assert rows_found(project) == [True, True]


def test_auto_is_found_once_a_model_and_kept_with_the_answers(project: Project) -> None:
    set_engine(project, "auto")
    project.run(*PREDICTIONS)
    (file,) = (project.results / ".answers/.engines/answering").glob("*.json")
    found = json.loads(file.read_text())
    assert found["drift"]["largest_drift"] < 1e-5
    assert {engine or "torch" for engine in engines(project)} == {found["engine"]}
    # Whatever it says is taken, and nothing is timed again.
    file.write_text(json.dumps(found | {"engine": "openvino"}))
    for path in PREDICTIONS:
        (project.folder / path).unlink()
    project.run(*PREDICTIONS)
    assert engines(project) == ["openvino"] * 2
    assert json.loads(file.read_text())["milliseconds"] == found["milliseconds"]
