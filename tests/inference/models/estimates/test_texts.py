from collections.abc import Callable
from pathlib import Path

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.models.estimates.masks import count_mask_inputs
from biasgrid.inference.models.estimates.texts import (
    ReadingModel,
    RequestText,
    TextSample,
    count_option_inputs,
    count_text_inputs,
)

Checkpoints = Callable[[str, str], Path]
TEXT = RequestText("Ann met Carl", "Who lied", ["Ann", "Carl"])


def test_texts_and_pairs_have_their_special_tokens(tiny_checkpoint: Checkpoints) -> None:
    tokenizer = FastTokenizer.from_folder(tiny_checkpoint("bert", "fill-mask"))
    # [CLS] Who lied [SEP] Ann met Carl [SEP], and [CLS] Who lied [SEP].
    assert count_text_inputs(ReadingModel(tokenizer, "span"), TextSample([TEXT])).mean == (1, 8)
    alone = TEXT._replace(context="")
    assert count_text_inputs(ReadingModel(tokenizer, "span"), TextSample([TEXT, alone])).mean == (
        1,
        (8 + 4) / 2,
    )


def test_each_option_is_a_pair(tiny_checkpoint: Checkpoints) -> None:
    tokenizer = FastTokenizer.from_folder(tiny_checkpoint("bert", "fill-mask"))
    assert count_option_inputs(ReadingModel(tokenizer, "choice"), TextSample([TEXT])).mean == (
        2,
        2 * (8 + 1),
    )


def test_without_a_tokenizer_words_and_marks_count() -> None:
    texts = [RequestText("Ann met Carl.", "Who lied?", ["Ann", "Carl"]), RequestText("A", "B", [])]
    assert count_text_inputs(ReadingModel(None, "span"), TextSample(texts[:1])).mean == (
        1,
        4 + 3 + 3,
    )
    assert count_mask_inputs(ReadingModel(None, "choice"), TextSample(texts)).mean == (
        1,
        (7 + 2) / 2 + 2,
    )


def test_a_system_text_counts() -> None:
    text = TEXT._replace(system="Be short.")
    assert count_text_inputs(ReadingModel(None, "text"), TextSample([text])).mean == (
        1,
        2 + 3 + 3 + 3,
    )
