"""The worked example of docs/datasets.md: its files as they stand there, through Snakemake, and what comes out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, table_with, write_files
from project import Project
from tiny_checkpoints import save_classifier

from biasgrid.models.tiny import make_base_checkpoint
from biasgrid.table_files import read_table
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import CLASS_PREDICTIONS

DOCUMENT = read_document("docs/datasets.md")
WORDS = " ".join(DOCUMENT.split())
FILES = shown_files(DOCUMENT)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example makes with a tiny classifier in place of the one on the hub."""
    folder = tmp_path_factory.mktemp("example")
    make_base_checkpoint(FILES.values(), folder / "base", seed=1)
    save_classifier(folder / "classifier", folder / "base", ["negative", "positive"])
    config = yaml.safe_load(FILES["config/moods.yaml"])
    source = {"checkpoint", "revision"}
    config["models"] = {
        name: {key: value for key, value in model.items() if key not in source} | {"folder": str(folder / "classifier")}
        for name, model in config["models"].items()
    }
    project = Project.create(folder / "project", config)
    write_files(project.folder, FILES)
    project.run()
    return project.folder / config["results"]


def as_text(table: pl.DataFrame) -> list[dict[str, str]]:
    return table.select(pl.all().cast(pl.String).fill_null("")).to_dicts()


def test_all_its_files_are_shown() -> None:
    assert [Path(name).name for name in FILES] == [
        "templates.json",
        "relation.txt",
        "glad.txt",
        "upset.txt",
        "groups.json",
        "moods.yaml",
    ]


def test_it_asks_what_it_shows(results: Path) -> None:
    cases = read_table(results / "instances/moods/cases.parquet", CASES)
    assert f"{cases['case'].n_unique()} cases" in WORDS
    assert f"{len(cases)} instances" in WORDS
    columns = ["instance", "case", "swapped_case", "bias_type", "group", "term", "label", "text"]
    assert as_text(cases.filter(case=11).select(columns)) == table_with(DOCUMENT, *columns)
    predictions = read_table(results / "predictions/moods/sst2/1-of-1.parquet", CLASS_PREDICTIONS)
    assert len(predictions) == len(cases)


def test_it_measures_what_it_shows(results: Path) -> None:
    columns = ["score", "distance", "comparison", "mode", "bias_type", "n", "left_out"]
    summary = pl.read_csv(results / "group_summary.csv")
    assert as_text(summary.select(columns)) == table_with(DOCUMENT, *columns)
    assert summary["value"].is_between(0, 1).all()
    measures = read_table(results / "group_measures/moods/sst2.parquet", GROUP_MEASURES)
    assert f"{len(measures)} rows in all" in WORDS
    assert set(measures["template"].drop_nulls()) == {0, 1, 2}
    whole = read_table(results / "failures/moods/sst2.parquet", FAILURES).filter(pl.col("template").is_null())
    assert set(whole["n"]) == {14}


def test_the_report_has_its_sentences(results: Path) -> None:
    examples = read_table(results / "case_examples/moods/sst2.parquet", CASE_EXAMPLES)
    assert set(examples["said"]) <= {"negative", "positive"}
    page = (results / "report/index.html").read_text()
    assert "Content warning" in page
    assert all(text in page for text in examples["text"].head(3))
