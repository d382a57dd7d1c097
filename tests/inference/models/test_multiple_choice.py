"""Probabilities of options against the plain way to ask a model with a head for multiple choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import torch
from shards import Cell, asked, largest_difference
from transformers import AutoModelForMultipleChoice, AutoTokenizer

ROWS = [
    {
        "text": f"Who {did}?",
        "text_pair": f"The cook sat by {who}.",
        "candidates": [who, "the good cook", "not known"],
    }
    for who in ("Ann", "Carl")
    for did in ("lied", "was a good cook", "sat by Ann")
]


@pytest.fixture
def checkpoint(
    tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]
) -> Callable[[str], Path]:
    """Puts a new head on the encoder of a tiny checkpoint."""

    def make(architecture: str) -> Path:
        source, folder = (
            tiny_checkpoint(architecture, "feature-extraction"),
            tmp_path / architecture,
        )
        torch.manual_seed(4)
        AutoModelForMultipleChoice.from_pretrained(source).save_pretrained(folder)
        AutoTokenizer.from_pretrained(source).save_pretrained(folder)
        return folder

    return make


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta-v2"])
def test_probabilities_match_all_options_at_once(
    tmp_path: Path, checkpoint: Callable[[str], Path], architecture: str
) -> None:
    folder = checkpoint(architecture)
    model, tokenizer = (
        AutoModelForMultipleChoice.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    expected = []
    for row in ROWS:
        pairs = [[row["text_pair"], f"{row['text']} {option}"] for option in row["candidates"]]
        inputs = tokenizer(pairs, return_tensors="pt", padding=True)
        with torch.inference_mode():
            logits = model(**{name: values[None] for name, values in inputs.items()}).logits
        expected.append(logits[0].softmax(dim=0).tolist())
    ours = Cell(tmp_path / "cell", "multiple-choice", asked(ROWS), folder)
    theirs = pl.DataFrame(
        {"instance": ours.instances["instance"], "probabilities": expected},
        schema_overrides={"probabilities": pl.List(pl.Float32)},
    )
    assert theirs["probabilities"].list.first().n_unique() == len(ROWS)
    assert largest_difference(ours.predict(), theirs) < 1e-5
