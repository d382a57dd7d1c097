from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shards import Cell, asked

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.models.estimates.masks import count_mask_inputs
from biasgrid.inference.models.estimates.texts import ReadingModel, RequestText, TextSample

Checkpoints = Callable[[str, str], Path]
TEXTS = ["Ann sat by the [MASK] cook and the man.", "Carl, who lied, is [MASK] of Ann."]
WORDS = ["cook", "no good", "African-American", "old man"]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
@pytest.mark.parametrize(
    "choices",
    [
        {"target_scoring": "joint"},
        {"target_scoring": "pll"},
        {"target_scoring": "pll-l2r"},
        {"target_scoring": "pll", "either_case": [1, 2]},
    ],
    ids=str,
)
def test_inputs_of_words_match_a_shard(
    tmp_path: Path, tiny_checkpoint: Checkpoints, architecture: str, choices: dict[str, Any]
) -> None:
    folder = tiny_checkpoint(architecture, "fill-mask")
    rows = [{"text": text, "candidates": WORDS} for text in TEXTS]
    cell = Cell(tmp_path / "cell", "fill-mask", asked(rows), folder)
    cell.predict(**choices)
    tokenizer = FastTokenizer.from_folder(folder)
    texts = [RequestText("", text, WORDS) for text in TEXTS]
    if architecture == "roberta":
        texts = [
            text._replace(question=text.question.replace("[MASK]", "<mask>")) for text in texts
        ]
    estimate = count_mask_inputs(ReadingModel(tokenizer, "choice", choices), TextSample(texts))
    expected = cell.timing["sequences"] / len(rows), cell.timing["tokens"] / len(rows)
    assert estimate.mean == pytest.approx(expected)


def test_unqover_reads_each_text_once(tiny_checkpoint: Checkpoints) -> None:
    tokenizer = FastTokenizer.from_folder(tiny_checkpoint("bert", "fill-mask"))
    texts = [RequestText("", TEXTS[0], WORDS)]
    sample = TextSample(texts)
    reader = ReadingModel(tokenizer, "choice", {"scoring": "unqover"})
    once = count_mask_inputs(reader, sample).mean
    assert once.sequences == 1
    assert (
        count_mask_inputs(ReadingModel(tokenizer, "choice"), sample).mean.tokens > 2 * once.tokens
    )
