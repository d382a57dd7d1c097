"""Models behind servers through Snakemake: asked once, in their turns, and labelled by how they
were scored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from model_server import ModelServer, serving
from project import Project

from biasgrid.tables.files import read_provenance

KEY = "sk-a-secret-of-the-tests"
MODEL = {"task": "text-generation", "kind": "API"}
STATEMENTS = {
    "family": "statement",
    "domains": "statements/domains",
    "templates": "statements/gender.csv",
}


def config(server: ModelServer, **endpoint: Any) -> dict[str, Any]:
    at = {"url": server.url, "key": "${KEY_OF_TESTS}", "attempts": 3, "timeout": 10, **endpoint}
    at["price"] = {"input": 1, "output": 2}
    return {
        "results": "results",
        "inference": {"device": "cpu"},
        "validity": {"one_answer": 1, "equal_scores": 1, "improbable": 1, "unanswered": 1},
        "models": {
            "top": {**MODEL, "label": "Top", "endpoint": {**at, "model": "large"}},
            "told": {
                **MODEL,
                "label": "Told",
                "endpoint": {**at, "model": "small", "api": "completions"},
            },
            "chance": {**MODEL, "label": "Chance", "random": {"seed": 1}},
        },
        "datasets": {
            "scored": {
                **STATEMENTS,
                "title": "Scored",
                "sample": {"units": 30},
                "sample_by": "rows",
                "shards": 2,
            },
        },
        "run": {"models": ["top", "told", "chance"], "datasets": ["scored"]},
    }


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(key=KEY, knows={"logprobs", "echo"}, seconds=0.002) as running:
        yield running


@pytest.fixture(scope="module")
def asked(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose models are behind a server, run to the end."""
    project = Project.create(tmp_path_factory.mktemp("servers"), config(server))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEY_OF_TESTS", KEY)
        project.run()
    return project


def manifest_of(project: Project) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((project.folder / "results/manifest.json").read_text())
    return told


def test_each_is_asked_in_the_way_that_was_found(asked: Project) -> None:
    results = asked.folder / "results"
    capabilities = {
        name: json.loads((results / f"capabilities/{name}.json").read_text())
        for name in ("top", "told")
    }
    assert {name: each["scored_by"] for name, each in capabilities.items()} == {
        "top": "top",
        "told": "echo",
    }
    for model, way in {"top": "top", "told": "echo", "chance": "random"}.items():
        table = results / f"predictions/scored/{model}/2-of-2.parquet"
        assert set(pl.read_parquet(table)["scored_by"]) == {way}
        assert read_provenance(table)["scored_by"] == way
    assert not (results / "capabilities/chance.json").exists()


def test_jobs_of_an_endpoint_take_turns(asked: Project, server: ModelServer) -> None:
    # 32 requests are under way at a time, however many jobs there are.
    assert 8 < server.most <= 32


def test_the_plan_shows_what_it_costs(asked: Project) -> None:
    told = asked.told("plan", "config/small.yaml", "--json")
    assert told.exit_code == 0, told.stderr
    cells = {cell["model"]: cell for cell in json.loads(told.stdout)["cells"]}
    assert cells["chance"]["cost"] == cells["chance"]["requests"] == 0
    # Of what is listed or read back one token is written; every spelling of an option is read back
    # on its own.
    spent = {cell["model"]: cell.get("spent") for cell in manifest_of(asked)["cells"]}
    for model in ("top", "told"):
        cell = cells[model]
        assert cell["requests"] == cell["tokens_out"] == spent[model]["held"]
        assert cell["cost"] == pytest.approx(
            (cell["tokens"] + 2 * cell["tokens_out"]) / 1e6, abs=1e-3
        )
        assert cell["spent"] > 0
    assert cells["told"]["requests"] > cells["top"]["requests"] == 60


def test_nothing_is_paid_twice(
    asked: Project, server: ModelServer, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    project = asked.clone(tmp_path / "clone")
    assert project.planned() == {}
    changed = project.read_config()
    changed["datasets"]["scored"]["shards"] = 1
    changed["datasets"]["scored"]["sample"] = {"units": 32}
    project.write_config(changed)
    server.answered.clear()
    project.run("results/measures/scored/top.parquet")
    assert server.answered.total() == 4


def test_what_was_spent_is_reported(asked: Project) -> None:
    manifest = manifest_of(asked)
    spent = {cell["model"]: cell.get("spent") for cell in manifest["cells"]}
    assert spent["chance"] is None
    assert (spent["top"]["held"], spent["top"]["used"]) == (60, 60)
    assert spent["top"]["cost"] == pytest.approx(
        spent["top"]["tokens_in"] / 1e6 + 2 * spent["top"]["tokens_out"] / 1e6
    )
    assert {cell["model"]: cell["scored_by"] for cell in manifest["cells"]} == {
        "top": "top", "told": "echo", "chance": "random",
    }  # fmt: skip
    summary = pl.read_parquet(asked.folder / "results/summary.parquet")
    assert dict(summary.select("model", "scoring").unique().iter_rows()) == {
        "top": "top", "told": "echo", "chance": "random",
    }  # fmt: skip
    audited = asked.audited()
    assert "scored/top: 60 answers were paid for, and 60 of them are used." in audited.stdout


def test_the_key_is_nowhere(asked: Project) -> None:
    files = [path for path in asked.folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) > 100
    assert (asked.folder / "results/manifest.json") in files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_server_that_is_gone_ends_a_run_before_its_first_job_unless_answers_are_kept(
    asked: Project, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    project = Project.create(tmp_path / "new", config(server))
    gone = project.read_config()
    for name in ("top", "told"):
        gone["models"][name]["endpoint"]["url"] = "http://127.0.0.1:9/v1"
    project.write_config(gone)
    refused = project.run(succeeds=False)
    problem = (
        "There is no answer from http://127.0.0.1:9/v1 (connection refused). Is the server running?"
    )
    assert f"told: {problem}\ntop: {problem}" in refused
    assert "Traceback" not in refused
    assert not (project.folder / "results/models").exists()
    # What is kept may be all that is asked.
    kept = asked.clone(tmp_path / "kept")
    again = kept.read_config()
    again["datasets"]["scored"]["shards"] = 1
    kept.write_config(again)
    server.listed_models = ["small"]
    server.only = "small"
    try:
        output = kept.run()
    finally:
        server.listed_models = server.only = None
    assert "top: " + server.url + ": no model 'large' there" in output


def test_a_cell_that_another_model_answered_is_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", KEY)

    def says(body: dict[str, Any], prompt: str, attempt: int) -> dict[str, Any]:
        return body | {"model": "large" if server.answered.total() < 20 else "large-mini"}

    with serving(key=KEY, knows={"logprobs"}, says=says) as server:
        small = config(server)
        small["run"]["models"] = ["top"]
        project = Project.create(tmp_path, small)
        output = project.run()
    told = "asked for large, but answered as large and as large-mini"
    logs = [file.read_text() for file in project.folder.glob("results/logs/predict/**/*.log")]
    assert any(told in log for log in logs)
    (cell,) = manifest_of(project)["cells"]
    assert cell["answered_as"] == ["large", "large-mini"]
    assert told in project.told("summary", "results").stdout
    assert "Traceback" not in output
