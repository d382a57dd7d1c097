"""The precision of `inference.precision: auto` through a run, and that it is found out once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from parsed_page import Page
from project import Project
from shared import made_once
from tiny_writers import save_writer

from biasgrid.inference.engine.hardware import multiplies_bfloat16
from biasgrid.runs.results import Results
from biasgrid.tables.files import read_provenance

HERE = "bfloat16" if multiplies_bfloat16(torch.device("cpu")) else "float32"
"""The precision of a generative model that is published in 16 bits, on this machine."""
ELSEWHERE = "float32" if HERE == "bfloat16" else "bfloat16"
CELL = "predictions/religion/half/1-of-1.parquet"
RECORDED = "capabilities/half.json"
IN_RECORD, IN_CELL = (f"results/{name}" for name in (RECORDED, CELL))


@pytest.fixture(scope="module")
def grid(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Models that write, in 16 and in 32 bits, and two that do not, all asked the same; the result
    is cloned before it is changed.
    """

    def make(folder: Path) -> None:
        writer = {"task": "text-generation", "variant": "llm", "kind": "LLM"}
        models = {name: small_config["models"][name] for name in ("masked", "answering")}
        for name, dtype in {"half": torch.bfloat16, "whole": torch.float32}.items():
            models[name] = writer | {"label": name, "folder": f"models/{name}"}
            save_writer(folder / "models" / name, positions=1024, dtype=dtype)
        datasets = {}
        for name, section in small_config["datasets"].items():
            questions = {
                "templates": f"templates/{name}-qa.txt",
                "prompt": "prompts/two-options.txt",
            }
            variants = section["variants"] | {"llm": questions}
            datasets[name] = section | {"variants": variants, "shards": 1}
        run = {"models": [*models], "datasets": [*datasets]}
        Project.create(
            folder, small_config | {"models": models, "datasets": datasets, "run": run}
        ).run()

    return Project(made_once(tmp_path_factory, "precision", make))


def precision(project: Project) -> str:
    return str(read_provenance(project.results / CELL)["precision"])


def set_precision(file: Path, name: str) -> None:
    """Writes another precision into capabilities, as another machine would have found it."""
    file.write_text(json.dumps(json.loads(file.read_text()) | {"precision": name}))


def test_only_what_writes_and_is_published_in_16_bits_has_16_bits(grid: Project) -> None:
    facts = {
        path.parent.name: read_provenance(path)["precision"]
        for path in grid.results.glob("predictions/*/*/*.parquet")
    }
    exact = dict.fromkeys(("masked", "answering", "whole"), "float32")
    assert facts == {"half": HERE, **exact}


def test_capabilities_are_found_out_once_for_each_model_that_writes(grid: Project) -> None:
    assert grid.planned() == {}
    jobs = grid.planned("--forceall")
    assert jobs["capabilities"] == 2
    assert jobs["predict"] == 8
    files = sorted(path.stem for path in grid.results.glob("capabilities/*.json"))
    assert files == ["half", "whole"]


def test_page_and_card_say_how_numbers_were_computed(grid: Project) -> None:
    run = Results(grid.results)
    audits = [
        run.provenance(f"measures/{dataset}/half.parquet")["predictions"]["audit"]
        for dataset in ("gender", "religion")
    ]
    page = Page((grid.results / "report/index.html").read_text())
    rows = sum(audit["rows"] for audit in audits)
    largest = max(audit["largest_drift"] for audit in audits)
    drift = f"the scores of {rows} audited rows differ by up to {largest:.2g} from those in float32"
    assert (drift in " ".join(page.text.split())) is (HERE == "bfloat16")
    texts = {"whole": "float32 |", "half": f"bfloat16: {drift}"}
    if HERE == "float32":
        texts["half"] = "float32 |"
    for model, text in texts.items():
        card = grid.told("card", "results", "--model", model).output
        assert f"| precision | {text}" in card.replace("\\", "")


def test_the_audit_is_a_check_of_cells_that_are_not_in_float32(grid: Project) -> None:
    run = Results(grid.results)
    found = run.summary().filter(measure="precision_drift")
    audit = run.provenance("measures/gender/half.parquet")["predictions"]["audit"]
    cells = [("half", "gender"), ("half", "religion")] if HERE == "bfloat16" else []
    assert sorted(found.select("model", "dataset").rows()) == cells
    for row in found.filter(dataset="gender").iter_rows(named=True):
        assert (row["value"], row["n"]) == (audit["largest_drift"], audit["rows"])
        assert (row["flag"] is not None) is (row["value"] > 0.02)


def test_a_folder_from_another_machine_keeps_its_precision(grid: Project, tmp_path: Path) -> None:
    moved = grid.clone(tmp_path / "moved")
    set_precision(moved.results / RECORDED, ELSEWHERE)
    (moved.results / CELL).unlink()
    assert "capabilities" not in moved.planned(IN_CELL)
    moved.run(IN_CELL)
    assert precision(moved) == ELSEWHERE
    # The code that finds it out may change; the model is the same.
    moved.run("--forcerun", "capabilities", "--", IN_CELL)
    assert precision(moved) == ELSEWHERE
    log = (moved.results / "logs/predict/religion/half/1-of-1.log").read_text()
    assert "emulates" in log or ELSEWHERE == "float32"


def test_float32_is_one_key_away(grid: Project, tmp_path: Path) -> None:
    changed = grid.clone(tmp_path / "changed")
    config = changed.read_config()
    changed.write_config(config | {"inference": {**config["inference"], "precision": "float32"}})
    changed.run(IN_CELL)
    assert precision(changed) == "float32"
    timing = json.loads((changed.results / "timings/religion/half/1-of-1.json").read_text())
    found = timing["rows"] if HERE == "float32" else 0
    assert timing["found"] == found


def test_a_second_folder_of_results_takes_what_the_first_one_found(
    grid: Project, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    environment = {"BIASGRID_CACHE": str(cache)}
    project = grid.clone(tmp_path / "again")
    (project.results / RECORDED).unlink()
    project.run(IN_RECORD, environment=environment)
    (file,) = cache.rglob("*.json")
    set_precision(file, ELSEWHERE)
    (project.results / RECORDED).unlink()
    project.run(IN_RECORD, environment=environment)
    assert json.loads((project.results / RECORDED).read_text())["precision"] == ELSEWHERE
