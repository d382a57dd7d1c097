"""Models that have learned on SQuAD 2.0 that a text may hold no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from shards import Cell
from small_tables import check_alike
from tiny_checkpoints import instances_for, save_checkpoint
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

LONGEST = 15


@torch.inference_mode()
def plain_probabilities(
    model: Any, tokenizer: Any, question: str, context: str
) -> tuple[float, float]:
    """The probability of no answer and that of the best span, by transformers alone."""
    encoded = tokenizer(question, context, return_tensors="pt")
    output = model(**encoded)
    start, end = output.start_logits[0].softmax(0), output.end_logits[0].softmax(0)
    places = [place for place, of in enumerate(encoded.sequence_ids(0)) if of == 1]
    spans = [
        start[one] * end[other]
        for one in places
        for other in places
        if one <= other < one + LONGEST
    ]
    return float(start[0] * end[0]), float(max(spans))


@pytest.mark.slow
def test_no_answer_is_one_where_it_is_more_probable_than_any_span(tmp_path: Path) -> None:
    checkpoint = save_checkpoint("bert", "question-answering", tmp_path / "model")
    instances = instances_for("question-answering")
    cell = Cell(tmp_path / "cell", "question-answering", instances, checkpoint)
    texts = instances.select("instance", pl.col("text", "text_pair").cast(pl.String)).sort(
        "instance"
    )
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForQuestionAnswering.from_pretrained(checkpoint).eval()
    plain = [
        plain_probabilities(model, tokenizer, text, pair) for _, text, pair in texts.iter_rows()
    ]
    expected = [of_none > of_span for of_none, of_span in plain]
    assert 0 < sum(expected) < len(expected)
    always = cell.predict().sort("instance")
    assert (always["answer"].cast(pl.String) != "").all()
    found = cell.predict_anew(no_answer=True).sort("instance")
    assert (found["answer"].cast(pl.String) == "").to_list() == expected
    assert found["probability"].to_list() == pytest.approx([max(each) for each in plain], rel=1e-4)
    # What is read of candidates, and the answers where there is one, are the same.
    check_alike(found.select("starts", "ends"), always.select("starts", "ends"))
    kept = [not is_none for is_none in expected]
    assert (
        found.filter(kept)["answer"]
        .cast(pl.String)
        .equals(always.filter(kept)["answer"].cast(pl.String))
    )
