"""Scores of texts against what transformers alone make of them, and texts that are not there or too
long.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from shards import Cell
from small_tables import predictions_of, whole, write_instances
from tiny_checkpoints import LABELS
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig

from biasgrid.families.responses import read_scorers, texts_of_cell
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.inspection import CheckpointUse, inspect_folder
from biasgrid.inference.models.scorers.text_scores import class_places
from biasgrid.inference.models.scorers.whole_texts import truncate_rows
from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema

LONG = "The cook sat by the sea. " * 40
ANSWERS = ["The cook lied.", "", "The old man sat.", "The cook lied.", LONG, "  "]
TEXTS = sorted({text for text in ANSWERS if text.strip()})
LONGEST = 128
"""How many tokens a tiny checkpoint takes."""


def answered(folder: Path, answers: list[str]) -> Path:
    """The predictions of a model that wrote some texts."""
    instances = pl.DataFrame({"instance": range(len(answers))}, schema={"instance": pl.UInt32})
    instances = instances.with_columns(key=pl.col("instance").cast(pl.UInt64))
    folder.mkdir(parents=True, exist_ok=True)
    table = predictions_of("text", instances, response=answers, status=["ok"] * len(answers))
    write_table(table, folder / "said.parquet", answer_schema("text"), {})
    return folder / "said.parquet"


def scores_of(folder: Path, answers: list[str], checkpoint: Path, **scorer: Any) -> pl.DataFrame:
    """What a scorer says of the answers of a model."""
    texts = whole(texts_of_cell([answered(folder, answers)]))
    cell = Cell(folder / "cell", "text-classification", texts, checkpoint, source="scorer")
    cell.predict(scorer=scorer)
    write_instances(texts, folder / "texts.parquet", {})
    return read_scorers({"nice": ("score", str(cell.out))}, folder / "texts.parquet")["nice"]


@torch.inference_mode()
def expected(checkpoint: Path, text: str, labels: list[str], activation: str, join: str) -> float:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    logits = model(
        **tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
    ).logits[0]
    probabilities = logits.softmax(dim=0) if activation == "softmax" else logits.sigmoid()
    counted = probabilities[[LABELS.index(label) for label in labels]]
    return float(counted.max() if join == "max" else counted.sum())


def test_each_text_is_scored_once_by_the_classes_that_count(
    tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    checkpoint, labels = (
        tiny_checkpoint("roberta", "text-classification"),
        ["neutral", "contradiction"],
    )
    for activation, join in product(("softmax", "sigmoid"), ("max", "sum")):
        told = {"labels": labels, "activation": activation, "join": join}
        scores = scores_of(tmp_path / f"{activation}-{join}", ANSWERS, checkpoint, **told)
        assert scores["text"].to_list() == TEXTS
        assert scores["score"].to_list() == pytest.approx(
            [expected(checkpoint, text, **told) for text in TEXTS], abs=1e-5
        )
        assert scores.filter("truncated")["text"].to_list() == [LONG]


def test_where_nothing_was_written_nothing_is_scored(
    tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    checkpoint = tiny_checkpoint("bert", "text-classification")
    scorer = {"labels": ["neutral"], "activation": "softmax", "join": "max"}
    assert scores_of(tmp_path, ["", " "], checkpoint, **scorer).is_empty()


def test_cut_texts_keep_their_special_tokens(tiny_checkpoint: Callable[[str, str], Path]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("roberta", "text-classification"))
    rows, cut = truncate_rows(tokenizer, [("The cook lied.",), (LONG,)], 12)
    whole_text, uncut = truncate_rows(tokenizer, [(LONG,)], 10_000)
    assert (cut.tolist(), uncut.tolist()) == ([False, True], [False])
    assert rows.assemble(1)[0].tolist() == tokenizer(LONG, truncation=True, max_length=12).input_ids
    assert whole_text.assemble(0)[0].tolist() == tokenizer(LONG).input_ids


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        ("multi_label_classification", None, "sigmoid"),
        ("multi_label_classification", "sigmoid", "sigmoid"),
        ("single_label_classification", None, "softmax"),
        (None, None, "softmax"),
        (None, "sigmoid", "sigmoid"),
        (
            "multi_label_classification",
            "softmax",
            "problem_type is multi_label_classification, which `activation: sof",
        ),
        (
            "single_label_classification",
            "sigmoid",
            "problem_type is single_label_classification, which `activation: s",
        ),
        (
            "regression",
            None,
            "gives a text a number \\(problem_type: regression\\); expected a classifier",
        ),
        (
            "regression",
            "sigmoid",
            "gives a text a number \\(problem_type: regression\\); expected a classifier",
        ),
    ],
)
def test_what_makes_probabilities_is_the_checkpoints_and_never_contradicts_it(
    tiny_checkpoint: Callable[[str, str], Path],
    tmp_path: Path,
    kind: str | None,
    given: str | None,
    taken: str,
) -> None:
    checkpoint = Path(
        shutil.copytree(tiny_checkpoint("bert", "text-classification"), tmp_path / "checkpoint")
    )
    config = json.loads((checkpoint / "config.json").read_text()) | {"problem_type": kind}
    (checkpoint / "config.json").write_text(json.dumps(config))
    scorer = {"labels": ["neutral"], "activation": given, "join": "max"}
    problems = list(
        inspect_folder(str(checkpoint), CheckpointUse(scored=["neutral"], activation=given))
    )
    if taken in ("softmax", "sigmoid"):
        scores = scores_of(tmp_path, ANSWERS, checkpoint, **scorer)["score"].to_list()
        assert scores == pytest.approx(
            [expected(checkpoint, text, ["neutral"], taken, "max") for text in TEXTS], abs=1e-5
        )
        assert problems == []
        return
    with pytest.raises(ModelError, match=taken):
        scores_of(tmp_path, ANSWERS, checkpoint, **scorer)
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("classes", "labels", "activation", "message"),
    [
        (
            ["toxic", "fine"],
            ["Toxic", "rude"],
            "softmax",
            r"classes are \['toxic', 'fine'\], without \['rude'\]",
        ),
        (
            ["toxic"],
            ["toxic"],
            "softmax",
            "one class, whose softmax is always 1; expected `activation: sigmoid`",
        ),
    ],
)
def test_scorers_that_make_no_sense_are_refused(
    classes: list[str], labels: list[str], activation: str, message: str
) -> None:
    config = BertConfig(id2label=dict(enumerate(classes)))
    with pytest.raises(ModelError, match=message):
        class_places(config, labels, activation)
