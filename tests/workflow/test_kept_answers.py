"""What a server has answered, and what was found out of it, is kept under its address, and stands
for no other.
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

MODEL = {"task": "text-generation", "kind": "API"}
STATEMENTS = {
    "family": "statement",
    "domains": "statements/domains",
    "templates": "statements/gender.csv",
}
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
            "parsed": {
                **MODEL,
                "label": "Parsed",
                "generation": writes,
                "endpoint": {**at, "model": "small"},
            },
        },
        "datasets": {
            "scored": {
                **STATEMENTS,
                "title": "Scored",
                "sample": {"units": 8},
                "sample_by": "rows",
                "shards": 2,
            }
        },
        "run": {"models": ["top", "parsed"], "datasets": ["scored"]},
    }


def questions(server: ModelServer) -> list[str]:
    """The requests about statements, without those that find out what a server can do."""
    return [text for text in map(str, server.bodies) if "Yes or No?" in text]


def test_answers_are_kept_for_their_server_only(server: ModelServer, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", config(server.url))
    project.run(*TABLES)
    count = len(questions(server))
    # Sixteen statements of each of two models.
    assert count == 32
    with serving(knows={"logprobs", "echo"}) as other:
        project.write_config(config(other.url))
        project.run(*TABLES)
        assert len(questions(other)) == count
    project.write_config(config(server.url))
    project.run(*TABLES)
    assert len(questions(server)) == count
    assert {pl.read_parquet(project.folder / table).height > 0 for table in TABLES} == {True}


def test_capabilities_of_a_server_are_not_used_for_another(
    server: ModelServer, tmp_path: Path
) -> None:
    project, capabilities = (
        Project.create(tmp_path / "project", config(server.url)),
        "results/capabilities/top.json",
    )
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
