"""The worked example of docs/rewriting.md, beside it a scorer and an encoder of the answers, and
what is run again.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
import torch
import yaml
from documents import read_document, shown_files, write_files
from project import Project
from shared import made_once
from tiny_checkpoints import save_checkpoint
from transformers import AutoModel, AutoTokenizer
from typer.testing import CliRunner

import biasgrid
from biasgrid.cli.app import app

PAGE = read_document("docs/rewriting.md")
FILES = shown_files(PAGE)
CONFIG, PROMPTS, GROUPS = (
    "config/letters.yaml",
    "word_lists/rewriting/letters.txt",
    "word_lists/rewriting/people.yaml",
)
MODEL = {"kind": "reader", "label": "Reader"}
READERS = {
    "nice": MODEL
    | {"task": "text-classification", "folder": "models/nice", "scorer": {"labels": ["neutral"]}},
    "encoder": MODEL | {"task": "feature-extraction", "folder": "models/encoder", "max_tokens": 6},
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the page's files, run to the end: as it stands there, and with models that
    read the answers.
    """

    def make(folder: Path) -> None:
        config = yaml.safe_load(FILES[CONFIG])
        config["models"] |= READERS
        read = {"title": "Read", "scorers": ["vader-negative", "nice"], "embeddings": "encoder"}
        config["datasets"]["read"] = config["datasets"]["letters"] | read
        config["run"]["datasets"].append("read")
        project = Project.create(folder, config)
        write_files(folder, {name: FILES[name] for name in (PROMPTS, GROUPS)})
        save_checkpoint("bert", "text-classification", folder / "models/nice")
        save_checkpoint("bert", "feature-extraction", folder / "models/encoder")
        project.run()

    return Project(made_once(tmp_path_factory, "rewriting", make))


def rows(project: Project, dataset: str, measure: str, score: str = "rouge-l") -> pl.DataFrame:
    table = pl.read_parquet(project.folder / f"results/letters/measures/{dataset}/chance.parquet")
    return table.filter(measure=measure, options=f"score={score}")


def test_the_page_shows_the_numbers(asked: Project) -> None:
    told = re.findall(
        r"\d\.\d{3}", PAGE.split("The answers to the two")[1].split("[config/README.md]")[0]
    )
    whole = [
        rows(asked, "letters", name).filter(pl.col("group").is_null())
        for name in ("similarity", "similarity_null", "similarity_corrected")
    ]
    found = [
        *(row["value"].item() for row in whole),
        whole[-1]["low"].item(),
        whole[-1]["high"].item(),
    ]
    assert [f"{value:.3f}".replace("-", "") for value in found] == told
    # One prompt names no group; the report says so.
    report = (asked.folder / "results/letters/report/index.html").read_text()
    assert (
        "8 of 9 prompts contain words of groups (she 3, his 3, sister 2, he 2, her 2, brother "
        "1, him 1)"
    ) in report


def test_models_read_each_answer_once(asked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # Word lists are named from the folder of the run.
    monkeypatch.chdir(asked.folder)
    results = asked.folder / "results/letters"
    answers = pl.read_parquet(results / "predictions/read/chance/1-of-1.parquet")
    texts = answers["response"].unique().to_list()
    vectors = pl.read_parquet(results / "scorers/predictions/read/chance/encoder.parquet")
    assert len(vectors) == len(texts)
    observed = (
        biasgrid.open(results).observations("read", "chance").cast({pl.Categorical: pl.String})
    )
    cosine = observed.filter(score="cosine").drop_nulls("value").row(0, named=True)
    said = dict(answers.select("instance", "response").iter_rows())
    pair = [said[cosine[name]] for name in ("instance", "other_instance")]
    assert cosine["value"] == pytest.approx(
        plain_cosine(asked.folder / "models/encoder", pair), abs=1e-5
    )
    assert 0 < observed.filter(score="cut_by_scorer")["value"].mean() < 1
    assert observed.filter(score="nice")["value"].drop_nulls().is_between(0, 1).all()
    summary = pl.read_parquet(results / "summary.parquet").filter(
        "headline", measure="similarity_corrected"
    )
    assert dict(summary.select("dataset", "options").iter_rows()) == {
        "letters": "score=rouge-l",
        "read": "score=cosine",
    }


def test_a_pair_of_groups_is_explained_by_answers_and_vectors(
    asked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Word lists are named from the folder of the run.
    monkeypatch.chdir(asked.folder)
    results = asked.folder / "results/letters"
    for dataset in ("letters", "read"):
        line = [
            "explain",
            str(results),
            "--model",
            "chance",
            "--dataset",
            dataset,
            "--bias-type",
            "gender",
        ]
        told = CliRunner().invoke(app, [*line, "--group", "female", "--other", "male"])
        assert told.exit_code == 0, told.output
        assert "as in the table" in told.output
        evidence = pl.read_parquet(results / f"evidence/{dataset}/chance.parquet")
        assert {"strongest", "contrary"} <= {*evidence["role"]}


def plain_cosine(folder: Path, texts: list[str]) -> float:
    """The cosine of two texts, one at a time and by transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    with torch.inference_mode():
        inputs = [
            tokenizer(text, return_tensors="pt", truncation=True, max_length=6) for text in texts
        ]
        means = [model(**each).last_hidden_state.mean(dim=1) for each in inputs]
    return float(torch.nn.functional.cosine_similarity(*means))
