"""The worked example of docs/guide/own-data.md: its files as they are, through Snakemake, and what
comes out.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, table_with, write_files
from parsed_page import Page
from project import Project
from shared import made_once
from tiny_checkpoints import save_classifier

from biasgrid.families.counterfactual.ask import KEYS
from biasgrid.families.counterfactual.family import FAMILY
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import read_instances
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.schema import answer_schema
from biasgrid.training.tiny import make_base_checkpoint

PAGE, REFERENCE = read_document("docs/guide/own-data.md"), read_document("docs/datasets.md")
FILES = shown_files(PAGE)
CONFIG = yaml.safe_load(FILES["config/moods.yaml"])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example makes with a tiny classifier in place of the one on the hub."""
    return (
        made_once(tmp_path_factory, "worked-example", make_example) / "project" / CONFIG["results"]
    )


def make_example(folder: Path) -> None:
    make_base_checkpoint(FILES.values(), folder / "base", seed=1)
    save_classifier(folder / "classifier", folder / "base", ["negative", "positive"])
    source = {"checkpoint", "revision"}
    models = {
        name: {key: value for key, value in model.items() if key not in source}
        | {"folder": str(folder / "classifier")}
        for name, model in CONFIG["models"].items()
    }
    project = Project.create(folder / "project", CONFIG | {"models": models})
    write_files(project.folder, FILES)
    project.run()


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
    cases = read_instances(results / "instances/moods/cases.parquet", KEYS)
    words = " ".join(PAGE.split())
    assert f"{cases['case'].n_unique()} cases" in words
    assert f"{len(cases)} instances" in words
    columns = ["instance", "case", "swapped_case", "bias_type", "group", "term", "label", "text"]
    assert as_text(cases.filter(case=11, bias_type="gender").select(columns)) == table_with(
        PAGE, *columns
    )
    predictions = read_table(
        results / "predictions/moods/sst2/1-of-1.parquet", answer_schema("choice")
    )
    assert len(predictions) == len(cases)


def test_it_measures_what_it_shows(results: Path) -> None:
    columns = ["measure", "options", "bias_type", "n", "left_out"]
    measures = read_table(results / "measures/moods/sst2.parquet", MEASURES)
    whole = measures.filter(pl.all_horizontal(pl.col("template", "group", "other").is_null()))
    failures, checks = pl.col("measure") == "failure_rate", pl.col("measure").is_in([*FAMILY.flags])
    assert as_text(whole.filter(~failures, ~checks).select(columns)) == table_with(
        REFERENCE, *columns
    )
    # The tiny classifier guesses, so its headlines are withheld; all else has a value.
    assert (
        whole.filter(~checks, pl.col("flag").is_null(), pl.col("measure") != "distance_corrected")[
            "value"
        ]
        .is_between(0, 1)
        .all()
    )
    assert whole.filter(checks).height == 8
    assert set(whole.filter(failures)["n"]) == {14}
    assert f"{len(measures)} rows in all" in " ".join(REFERENCE.split())
    assert set(measures["template"].drop_nulls()) == {0, 1, 2}
    summary = pl.read_csv(results / "summary.csv")
    assert {
        "bias_type",
        "n",
        "clusters",
        "score",
        "distance",
        "distance_corrected",
        "failure_rate",
        "flag",
    } <= set(summary.columns)
    assert summary.select("bias_type", "n").rows() == [("gender", 14), ("religion", 14)]


def test_the_report_has_its_sentences(results: Path) -> None:
    evidence = read_table(results / "evidence/moods/sst2.parquet", EVIDENCE)
    assert set(evidence["said"]) <= {"negative", "positive"}
    html = (results / "report/index.html").read_text()
    assert "Content warning" in html
    # They are hidden until asked for, and carried in a block of their own.
    carried = str(Page(html).blocks["evidence/sst2/moods"])
    assert all(text in carried for text in evidence["text"].head(3))
