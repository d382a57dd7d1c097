"""Models whose answers are logs of another harness, through Snakemake: numbers, paired comparisons
and a page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cells_of_logs import imported
from project import Project
from real_logs import CONFIG, KEPT, write_world

from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import SUMMARY

MODELS = ("first", "second")


def log_of_second(folder: Path) -> Path:
    """The kept log with the log-likelihoods of another model, to whom the first option is always
    likelier.
    """
    (log,) = (KEPT / "lm-eval").rglob("samples_bbq*")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["resps"][0] = [["-0.5", "False"]]
    copy = folder / log.name
    copy.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return copy


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("logs")
    world = write_world(folder / "world")
    logs = {
        "first": next((KEPT / "lm-eval").rglob("samples_bbq*")),
        "second": log_of_second(folder),
    }
    for name, log in logs.items():
        code, output = imported(world, "lm-eval", log, "scored")
        assert code == 0, output
        (world.parent / "scored.jsonl").rename(folder / f"{name}.jsonl")
    models: dict[str, Any] = {
        name: {
            "task": "text-generation",
            "answers": str(folder / f"{name}.jsonl"),
            "kind": "imported",
            "label": name,
        }
        for name in MODELS
    }
    config = CONFIG | {
        "results": "results", "word_lists": str(world.parent), "models": models,
        "run": {"models": list(models), "datasets": ["scored"]},
    }  # fmt: skip
    made = Project.create(folder / "project", config)
    made.run()
    return made


def test_logs_are_compared_as_models_are(project: Project) -> None:
    results = project.folder / "results"
    summary = read_table(results / "summary.parquet", SUMMARY)
    # Of eight items nothing shows that the models are better than chance, so their bias is
    # withheld.
    right = summary.filter("headline", measure="accuracy_disambiguated")
    assert set(right["model"]) == set(MODELS)
    assert right["value"].null_count() == 0
    compared = read_table(results / "comparisons/scored.parquet", COMPARISONS).filter(
        measure="accuracy_disambiguated"
    )
    assert len(compared.filter(pl.col("low").is_not_null())) >= 1
    assert (results / "report/index.html").exists()
    manifest = json.loads((results / "manifest.json").read_text())
    assert {cell["logs"][0]["harness"] for cell in manifest["cells"]} == {"lm-evaluation-harness"}


def test_a_record_of_the_run_says_whose_answers_these_are(project: Project) -> None:
    arguments = [
        "export",
        "eee",
        "results",
        "--model",
        "first",
        "--out",
        "records",
        "--organization",
        "Us",
    ]
    assert project.told(*arguments).exit_code == 0
    record = json.loads((project.folder / "records/scored/first.json").read_text())
    assert record["model_info"]["id"] == "tiny-gpt2"
    assert (
        "lm-evaluation-harness" in record["source_metadata"]["additional_details"]["answers_from"]
    )
