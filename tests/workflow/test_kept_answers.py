"""Answers that version 0.1.0 kept, which knew no addresses: they stand for their own server, and for no other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from model_server import ModelServer, serving
from project import Project

KEPT = Path(__file__).parent / "kept_0_1_0"
"""Made by commit 093850b: what two models behind a server had said of eight statements, and the manifest's models."""
MODEL = {"task": "text-generation", "kind": "API"}
STATEMENTS = {"family": "statement", "domains": "statements/domains", "templates": "statements/gender.csv"}
TABLES = ["results/measures/scored/top.parquet", "results/measures/scored/parsed.parquet"]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(knows={"logprobs", "echo"}) as running:
        yield running


def config(url: str) -> dict[str, Any]:
    at = {"url": url, "price": {"input": 1, "output": 2}}
    writes = {"options": "parsed", "temperature": 0.7}
    return {
        "results": "results",
        "inference": {"device": "cpu"},
        "models": {
            "top": {**MODEL, "label": "Top", "endpoint": {**at, "model": "large"}},
            "parsed": {**MODEL, "label": "Parsed", "generation": writes, "endpoint": {**at, "model": "small"}},
        },
        "datasets": {
            "scored": {**STATEMENTS, "title": "Scored", "sample": {"units": 8}, "sample_by": "rows", "shards": 2}
        },
        "run": {"models": ["top", "parsed"], "datasets": ["scored"]},
    }


def project_with_answers(folder: Path, url: str, of: str | None) -> Project:
    """Gives a project that asks a server, and has kept answers; the manifest beside them names another, or none."""
    project = Project.create(folder, config(url))
    shutil.copytree(KEPT, folder / "results", dirs_exist_ok=True)
    manifest = folder / "results/manifest.json"
    if of is None:
        manifest.unlink()
    else:
        manifest.write_text(manifest.read_text().replace("URL", of))
    return project


def warnings_of(project: Project) -> str:
    return "".join(path.read_text() for path in (project.folder / "results/logs/predict").rglob("*.log"))


@pytest.mark.parametrize("has_manifest", [True, False])
def test_a_grid_is_answered_without_a_request(server: ModelServer, tmp_path: Path, has_manifest: bool) -> None:
    project = project_with_answers(tmp_path / "project", server.url, server.url if has_manifest else None)
    project.run(*TABLES)
    assert server.bodies == []
    said = warnings_of(project)
    named = "manifest" if has_manifest else "config"
    assert said.count(f"from now on they count as answers of {server.url}, the address in the {named}") == 2
    assert {pl.read_parquet(project.folder / table).height > 0 for table in TABLES} == {True}
    # Another port, another path or another name is another server, which is asked everything.
    with serving(knows={"logprobs", "echo"}) as other:
        project.write_config(config(other.url))
        project.run(*TABLES)
        # Sixteen statements of each of two models, and what each can do.
        assert len([body for body in other.bodies if "Reply with one letter" not in str(body)]) >= 32
    assert server.bodies == []


def test_a_manifest_that_names_another_server_is_believed(server: ModelServer, tmp_path: Path) -> None:
    project = project_with_answers(tmp_path / "project", server.url, "http://127.0.0.1:9/v1")
    project.run(*TABLES)
    assert server.answered.total() >= 32
    assert "count as answers of http://127.0.0.1:9/v1, the address in the manifest" in warnings_of(project)
    stores = [json.loads(line) for line in (project.folder / "results/.answers/scored/top/requests.jsonl").open()]
    assert stores[0] == {"biasgrid_answers": 1}
    assert len([line for line in stores if "text" in line]) == 32


def test_what_was_found_out_of_a_server_stands_for_no_other(server: ModelServer, tmp_path: Path) -> None:
    project, capabilities = Project.create(tmp_path / "project", config(server.url)), "results/capabilities/top.json"
    project.run(capabilities)
    count = len(server.bodies)
    # The code that looks may change; the server is the same.
    project.run("--forcerun", "capabilities", "--", capabilities)
    assert len(server.bodies) == count
    with serving(knows=set()) as other:
        project.write_config(config(other.url))
        project.run(capabilities)
        assert json.loads((project.folder / capabilities).read_text())["scored_by"] == "parsed"
    # A look that fails leaves nothing behind, and is made up for by the next run.
    project.run("--retries", "0", "--forcerun", "capabilities", "--", capabilities)
    project.write_config(config("http://127.0.0.1:9/v1"))
    project.run("--retries", "0", capabilities, succeeds=False)
    assert project.planned(capabilities)["capabilities"] == 1
    # Removed, it is found out anew.
    project.write_config(config(server.url))
    project.run(capabilities)
    (project.folder / capabilities).unlink()
    before = len(server.bodies)
    project.run(capabilities)
    assert len(server.bodies) > before
