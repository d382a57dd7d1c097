"""A whole run of a config that is in another folder, with everything that it names beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from project import Project
from small_probes import HIRING
from tiny_writers import save_writer

from biasgrid.families.probe.ask import expand
from biasgrid.families.probe.read import WRITTEN, ProbeFiles, read

pytestmark = pytest.mark.family("a probe is asked")
PROBE: dict[str, Any] = {
    "family": "probe",
    "title": "Hiring",
    "probe": "hiring.yaml",
    "answers": "written",
}
MODEL = {"task": "text-generation", "kind": "LLM"}
CONFIG = {
    "results": "results",
    "word_lists": "lists",
    "models": {
        "writer": MODEL | {"label": "writer", "folder": "model"},
        "answered": MODEL | {"label": "answered", "answers": "answers.jsonl"},
    },
    "datasets": {"hiring": PROBE},
    "run": {"models": ["writer", "answered"], "datasets": ["hiring"]},
}


def write_beside(folder: Path) -> Path:
    """Writes a config with its word list, its model and its answers, and returns its path."""
    (folder / "lists").mkdir(parents=True)
    (folder / "lists/hiring.yaml").write_text(HIRING)
    save_writer(folder / "model", ends=10)
    requests, _ = read(ProbeFiles(folder / "lists/hiring.yaml", WRITTEN, 1, None, "en"))
    assert requests is not None
    (part,) = expand(requests).parts
    asked = part.select(pl.col("text", "group").cast(pl.String)).rows()
    rows = [
        json.dumps({"prompt": text, "group": group, "repetition": 0, "response": "Yes."})
        for text, group in asked
    ]
    (folder / "answers.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "own.yaml").write_text(yaml.safe_dump(CONFIG))
    return folder / "own.yaml"


def test_a_config_of_another_folder_is_run_to_its_end(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", {})
    write_beside(tmp_path / "project/far/mine")
    said = project.run("--configfile", "far/mine/own.yaml")
    assert "Report: results/report/index.html" in said
    manifest = json.loads((project.folder / "results/manifest.json").read_text())
    assert {cell["model"] for cell in manifest["cells"]} == {"writer", "answered"}
    # Nothing is there twice, or made again.
    assert not (project.folder / "far/mine/results").exists()
    assert "Nothing to be done" in project.run("--configfile", "far/mine/own.yaml")
    told = project.told("audit", "results")
    assert told.exit_code == 0, told.output
