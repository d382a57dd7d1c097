"""What scores of sentences are estimated to cost, against what a shard then reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shards import Cell, asked
from tiny_writers import save_writer
from transformers import AutoConfig, AutoTokenizer, BertForPreTraining

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.models.estimates.texts import (
    ReadingModel,
    RequestText,
    TextSample,
    count_sentence_inputs,
)
from biasgrid.inference.models.likelihood.masked import PAIR_PLACE
from biasgrid.inference.scorings import CAUSAL, MASKED, SCORINGS, scoring_names

Checkpoints = Callable[[str, str], Path]
SENTENCES = [
    ("The old man was a good cook, and Ann sat by the river.", "cook"),
    ("Carl, who lied to the African-American man, was never a good cook.", "lied"),
]
OTHER_WORD = "sat"


def texts_for(scoring: str) -> list[RequestText]:
    """Sentences with the second text that a formula needs."""
    second_text: Callable[[str, str], str] = {
        "partner": lambda sentence, word: sentence.replace(word, OTHER_WORD),
        "context": lambda sentence, word: sentence.replace(word, "BLANK"),
        "": lambda sentence, word: "",
    }[SCORINGS[scoring].needs]
    return [RequestText(second_text(*pair), pair[0], ()) for pair in SENTENCES]


def save_model(folder: Path, task: str, bert: Path) -> Path:
    """Writes a checkpoint that has the heads for all formulas of a task."""
    if task == CAUSAL:
        return save_writer(folder)
    BertForPreTraining(AutoConfig.from_pretrained(bert)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("task", "scoring"),
    [(task, scoring) for task in (MASKED, CAUSAL) for scoring in scoring_names(task)],
)
def test_an_estimate_is_close_to_what_is_read(
    tmp_path: Path, tiny_checkpoint: Checkpoints, task: str, scoring: str
) -> None:
    folder = save_model(tmp_path / "model", task, tiny_checkpoint("bert", MASKED))
    texts = texts_for(scoring)
    rows: list[dict[str, Any]] = [
        {"text": text.question, "text_pair": text.context or None} for text in texts
    ]
    places = pl.lit(0, pl.UInt8).alias(PAIR_PLACE)
    cell = Cell(tmp_path / "cell", task, asked(rows).with_columns(places), folder)
    cell.predict(answer="likelihood", scoring=scoring)
    tokenizer = FastTokenizer.from_folder(folder)
    reader = ReadingModel(tokenizer, "likelihood", {"scoring": scoring})
    estimate = count_sentence_inputs(reader, TextSample(texts))
    sequences, tokens = estimate.mean.times(len(texts))
    assert sequences == pytest.approx(cell.timing["sequences"], rel=0.1)
    assert tokens == pytest.approx(cell.timing["tokens"], rel=0.1)
