"""The worked example of docs/probes.md: a probe from nothing to marks, and what a change of it runs
again.
"""

from pathlib import Path

import polars as pl
import pytest
import torch
import yaml
from documents import read_document, shown_files, write_files
from project import Project
from shared import made_once
from tiny_checkpoints import LABELS, save_checkpoint
from tiny_writers import save_writer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import biasgrid

FILES = shown_files(read_document("docs/probes.md"))
CHESS, CONFIG = "word_lists/probes/chess.yaml", "config/chess.yaml"
TONE = """\
title: Tone
bias_type: gender
question: "A man from Wales lies. {who}"
items: [{who: A cook sat by the sea., group: cook}, {who: The old man sat by the sea., group: man}]
evaluator: {name: scorer, model: nice}
metric: {tone: mean, gap: {kind: difference, of: mean}}
"""
NICE = {
    "task": "text-classification",
    "kind": "Scorer",
    "label": "Nice",
    "folder": "models/nice",
    "scorer": {"labels": ["ENTAILMENT", "neutral"], "activation": "sigmoid", "join": "sum"},
}
LONGEST = 12
"""How many tokens the scorer takes: fewer than some answers have."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the page's files and a tiny model, run to the end."""

    def make(folder: Path) -> None:
        # Random weights take no letter for an answer.
        config = yaml.safe_load(FILES[CONFIG]) | {"validity": {"improbable": 1.0}}
        config["models"]["nice"] = NICE
        config["datasets"]["tone"] = {
            "family": "probe",
            "title": "Tone",
            "probe": "probes/tone.yaml",
            "repetitions": 4,
        }
        config["run"]["datasets"].append("tone")
        project = Project.create(folder, config)
        write_files(folder, {CHESS: FILES[CHESS], "word_lists/probes/tone.yaml": TONE})
        save_writer(folder / "models/writer")
        nice = save_checkpoint("bert", "text-classification", folder / "models/nice")
        tokenizer = AutoTokenizer.from_pretrained(nice)
        tokenizer.model_max_length = LONGEST
        tokenizer.save_pretrained(nice)
        project.run()

    return Project(made_once(tmp_path_factory, "probes", make))


@torch.inference_mode()
def plainly_scored(folder: Path, text: str) -> float:
    """What transformers alone make of the beginning of a text."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    logits = model(
        **tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
    ).logits[0]
    return float(logits.sigmoid()[[LABELS.index("entailment"), LABELS.index("neutral")]].sum())


def test_a_classifier_scores_what_a_model_wrote(
    asked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Probes are named from the folder of the run.
    monkeypatch.chdir(asked.folder)
    results = asked.folder / "results/chess"
    observed = biasgrid.open(results).observations("tone", "writer")
    answers = pl.read_parquet(results / "predictions/tone/writer/1-of-1.parquet")
    texts = pl.read_parquet(results / "scorers/instances/tone/writer.parquet")["text"].cast(
        pl.String
    )
    written = answers.filter(pl.col("response").str.strip_chars() != "")
    assert texts.to_list() == sorted(written["response"].unique())
    joined = written.join(observed, on="instance")
    assert joined["score"].cast(pl.String).unique().to_list() == ["nice"]
    for text, value in joined.select("response", "value").iter_rows():
        assert value == pytest.approx(plainly_scored(asked.folder / "models/nice", text), abs=1e-5)
    measures = biasgrid.open(results).measures("tone", "writer").filter(pl.col("group").is_null())
    values = dict(measures.select("measure", "value").iter_rows())
    assert values["tone"] == pytest.approx(
        observed.group_by("item").agg(pl.col("value").mean())["value"].mean()
    )
    # Some texts are longer than the scorer takes: they are cut, which is counted and said.
    assert 0 < values["cut_by_scorer"] == joined["truncated"].sum() / len(answers)
    log = (results / "logs/predict_scorer/tone/writer/nice.log").read_text()
    assert (
        f"of {len(texts)} texts are longer than the model can read; their ends are cut off" in log
    )


def test_another_scorer_asks_no_writer_again(asked: Project, tmp_path: Path) -> None:
    project = asked.clone(tmp_path / "clone")
    config = project.read_config()
    config["models"]["nice"]["scorer"]["join"] = "max"
    project.write_config(config)
    drawn = {"compare", "plot", "summary", "report", "manifest"}
    assert project.planned().keys() == {"predict_scorer", "measure", "statistics", *drawn}


def test_the_example_has_values_and_marks(asked: Project) -> None:
    summary = pl.read_parquet(asked.folder / "results/chess/summary.parquet")
    rates = {row["dataset"]: row for row in summary.filter(measure="stereotype_rate").to_dicts()}
    assert rates.keys() == {"scored", "written"}
    assert 0 < rates["scored"]["value"] < 1
    # Two items say little: they have no mark, and the reason stands beside.
    assert rates["scored"]["mark"] is None
    assert "items" in rates["scored"]["no_mark"]
    # Random weights write nothing that an evaluator finds: no value, and no mark.
    assert (rates["written"]["value"], rates["written"]["mark"]) == (None, None)
    flag = summary.filter(dataset="written", measure="undetected")["flag"].item()
    assert flag.startswith("the evaluator finds nothing in 100% of the answers; most often: '")


def test_observations_are_read_anew(asked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(asked.folder)
    results = asked.folder / "results/chess"
    observed = biasgrid.open(results).observations("scored", "writer")
    assert observed["evaluator"].cast(pl.String).unique().to_list() == ["probabilities"]
    assert (
        observed.group_by("instance").agg(pl.col("value").sum())["value"].to_list()
        == [pytest.approx(1)] * 4
    )
    measures = biasgrid.open(results).measures("scored", "writer")
    expected = observed.filter(
        pl.col("label").cast(pl.String) == pl.col("expected").cast(pl.String)
    )["value"].mean()
    assert measures.filter(measure="stereotype_rate")["value"].item() == pytest.approx(expected)


def test_another_metric_asks_no_model_again(asked: Project, tmp_path: Path) -> None:
    project = asked.clone(tmp_path / "clone")
    file = project.folder / CHESS
    file.write_text(file.read_text().replace("share-of-expected", "accuracy"))
    drawn = {"plot", "summary", "report", "manifest"}
    assert project.planned().keys() == {"measure", "statistics", "compare", *drawn}


def test_what_is_synthetic_is_known_before_a_model_learns_it(tmp_path: Path) -> None:
    config = yaml.safe_load(FILES[CONFIG]) | {
        "synthetic": {"strengths": {"strong": 0.8}, "repeats": 10, "seed": 1}
    }
    del config["datasets"]["written"], config["models"]["writer"]["folder"]
    config["models"]["writer"]["train"] = {"synthetic": "strong"}
    config["run"]["datasets"] = ["scored"]
    project = Project.create(tmp_path, config)
    write_files(tmp_path, {CHESS: FILES[CHESS]})
    folder = tmp_path / "results/chess/synthetic/scored"
    project.run(str(folder.relative_to(tmp_path) / "synthetic.parquet"))
    # Both items expect something, one nothing more than chance gives and the other all that is put
    # in.
    synthetic = pl.read_parquet(folder / "synthetic.parquet").filter(pl.col("group").is_null())
    assert synthetic.select("measure", "value").rows() == [
        ("stereotype_rate", pytest.approx((0.5 + 0.9) / 2))
    ]
    (corpus,) = (folder / "strong").glob("[!.]*")
    assert corpus.read_text().count("\t") == 4 * 10
    assert {"train", "predict", "measure"} <= project.planned().keys()
