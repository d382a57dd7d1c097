"""Counterfactual datasets of every task through Snakemake, beside an underspecified one whose subjects are compared."""

import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from frozen_numbers import assert_frozen
from parsed_page import Page
from project import ROOT, Project
from shared import made_once
from tiny_checkpoints import save_classifier, save_models_of_lists

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import count_rows, read_provenance, read_tables
from biasgrid.tables.measures import MEASURES

CLASSES = {
    "sentiment": ["negative", "positive"],
    "entailment": ["entailment", "neutral", "contradiction"],
    "intersections": ["negative", "neutral", "positive"],
}


def pack(task: str, templates: str, **options: Any) -> dict[str, Any]:
    groups = "intersection-groups.json" if templates == "intersections" else "groups.json"
    return {
        "family": "counterfactual",
        "title": templates.capitalize(),
        "task": task,
        "templates": f"counterfactual/templates/{templates}.json",
        "fillings": "counterfactual/fillings",
        "groups": f"counterfactual/{groups}",
        **options,
    }


def make_checkpoints(folder: Path) -> None:
    """Makes a masked and a question-answering model, and a classifier of each list of classes."""
    lists = (path for path in (ROOT / "word_lists").rglob("*") if path.suffix in (".json", ".txt"))
    save_models_of_lists(lists, folder)
    for name, labels in CLASSES.items():
        save_classifier(folder / name, folder / "lm", labels)


@pytest.fixture(scope="module")
def config(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = made_once(tmp_path_factory, "group-checkpoints", make_checkpoints)
    models = {
        "masked": small_config["models"]["masked"] | {"folder": str(folder / "lm")},
        "answers": {"task": "question-answering", "kind": "QA", "label": "answers", "folder": str(folder / "qa")},
    }
    for name, labels in CLASSES.items():
        models[f"{name}-model"] = {
            "task": "text-classification",
            "kind": "classifier",
            "label": name,
            "folder": str(folder / name),
            "labels": {label: label.upper() for label in labels},
        }
    some, few = {"bias_types": ["gender"]}, {"sample": {"units": 60}, "sample_by": "rows"}
    datasets = {
        "gender": small_config["datasets"]["gender"] | {"measures": None},
        "sentiment": pack("text-classification", "sentiment-2", labels=CLASSES["sentiment"], shards=2, **some),
        "entailment": pack("text-classification", "entailment", labels=CLASSES["entailment"], **some, **few),
        "intersections": pack("text-classification", "intersections", labels=CLASSES["intersections"]),
        "words": pack("fill-mask", "masked", target_scoring="pll", **some),
        "answers": pack("question-answering", "question-answering", **some, **few),
    }
    return {
        "title": "Groups",
        "inference": {"device": "cpu"},
        "validity": small_config["validity"],
        "tokenizers": {"tiny": {"mask": "[MASK]", "folder": str(folder / "lm")}},
        "models": models,
        "datasets": datasets,
        "run": {"models": list(models), "datasets": list(datasets)},
    }


@pytest.fixture(scope="module")
def finished(config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.finished(tmp_path_factory, "groups", config)


def read_all(project: Project, folder: str, schema: Any) -> pl.DataFrame:
    return read_tables(sorted((project.folder / "results").glob(f"{folder}/*/*.parquet")), schema)


def test_models_answer_the_datasets_that_fit(finished: Project) -> None:
    results = finished.folder / "results"
    assert {path.parent.name: path.stem for path in results.glob("measures/*/*.parquet")} == {
        "gender": "masked",
        "sentiment": "sentiment-model",
        "entailment": "entailment-model",
        "intersections": "intersections-model",
        "words": "masked",
        "answers": "answers",
    }
    assert finished.planned() == {}


def test_all_cells_are_measured_by_their_groups(finished: Project) -> None:
    measures = read_all(finished, "measures", MEASURES).drop_nulls("bias_type")
    kinds = {dataset: set(rows["bias_type"]) for (dataset,), rows in measures.group_by("dataset")}
    assert kinds.pop("gender") == {"subject", "subject_group"}
    assert kinds.pop("intersections") == {"religion & gender", "religion", "gender"}
    assert set(map(frozenset, kinds.values())) == {frozenset({"gender"})}
    assert measures.filter(pl.col("value").is_null() != (pl.col("n") == 0)).is_empty()
    main = measures.filter(
        pl.col("group").is_null(),
        pl.col("template").is_null(),
        pl.col("options").str.contains("comparison=pairwise"),
        # Without what noise adds, it may be below 0.
        pl.col("measure") != "distance_corrected",
    )
    assert (main["value"].drop_nulls() >= 0).all()
    assert set(main["dataset"]) == set(measures["dataset"])
    assert set(measures.filter(measure="failure_rate")["dataset"]) == set(measures["dataset"])
    evidence = read_all(finished, "evidence", EVIDENCE).filter(measure="distance")
    assert set(evidence["dataset"]) == set(measures["dataset"]) - {"gender"}
    assert set(evidence.filter(dataset="sentiment")["said"]) <= set(CLASSES["sentiment"])


def test_classes_are_read_by_their_names(finished: Project) -> None:
    """The checkpoint has its classes the other way round, in capital letters."""
    shard = finished.folder / "results/predictions/sentiment/sentiment-model/1-of-2.parquet"
    assert read_provenance(shard)["labels"] == ["NEGATIVE", "POSITIVE"]
    said = read_provenance(finished.folder / "results/measures/words/masked.parquet")["predictions"]
    assert said["target_scoring"] == "pll"
    assert said["ranks"] is True
    assert sum(map(count_rows, finished.folder.glob("results/predictions/words/masked/*.parquet"))) == 2592


def test_the_report_shows_the_groups(finished: Project) -> None:
    html = (finished.folder / "results/report/index.html").read_text()
    assert "Content warning" in html
    # What the page draws stands in compressed blocks.
    shown = str(Page(html).blocks)
    for text in ("transgender", "sentiment-model"):
        assert text in shown
    summary = pl.read_csv(finished.folder / "results/summary.csv")
    assert {"bias_type", "n", "score", "distance", "failure_rate", "mu"} <= set(summary.columns)
    assert set(summary["dataset"]) == set(finished.read_config()["run"]["datasets"])
    command = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", "summary", "results"]
    wide = {name: value for name, value in finished.environment().items() if name != "COLUMNS"}
    printed = subprocess.run(command, cwd=finished.folder, env=wide, check=True, capture_output=True, text=True).stdout
    line = r"intersections +intersections-model +religion & gender +0\.\d+ +0\.\d+ .* 73\n"
    assert re.search(line, printed)
    assert re.search(r"gender +masked +exact", printed)


def test_another_threshold_runs_no_inference(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    config = project.read_config()
    config["datasets"]["sentiment"]["failure_threshold"] = 0.33
    project.write_config(config)
    assert project.planned() == {
        "measure": 1,
        "statistics": 1,
        "compare": 1,
        # The figures of the dataset, and those of the grid, which show its measures too.
        "plot": 2,
        "summary": 1,
        "report": 1,
        "manifest": 1,
    }


@pytest.mark.parametrize(
    ("dataset", "change", "message"),
    [
        ("sentiment", {"labels": ["bad", "good"]}, "no selected model answers 'sentiment'"),
        (
            "sentiment",
            {"labels": []},
            "datasets.sentiment.labels: []; expected the names of the classes, as the task is text-classification",
        ),
        ("words", {"task": "question-answering"}, "holds templates for 'fill-mask'"),
        ("sentiment", {"bias_types": ["gendre"]}, "has no bias type 'gendre' (did you mean 'gender'?)"),
        (
            "sentiment",
            {"measures": [{"score": "f1", "argument": "makro", "distance": "absolute", "comparison": "pairwise"}]},
            "datasets.sentiment.measures[0]: the score 'f1' does not take 'makro'; expected the average: one of binary",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    config: dict[str, Any], dataset: str, change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    changed = deepcopy(config)
    changed["datasets"][dataset] |= change
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(changed))
    with pytest.raises(InputError) as caught:
        load_word_lists(parse_config(read_config(path), "config.yaml"))
    assert message in str(caught.value)


def test_its_numbers_are_the_frozen_ones(finished: Project) -> None:
    assert_frozen("groups", finished.folder / "results")
