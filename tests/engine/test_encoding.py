"""Assembled tokens, and the fallback to plain tokenization where they differ."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from plain import Plain
from shards import Cell, largest_difference
from tiny_checkpoints import OTHER_TOKENIZERS, TOKENIZERS
from tokenizers import Tokenizer, normalizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from biasgrid.engine.batches import batches
from biasgrid.engine.encoding import (
    Rows,
    checked,
    pair_layout,
    single_layout,
    tokenize,
    whole_rows,
)
from biasgrid.engine.unknown import with_unknown_tokens

Cells = Callable[[str, str], Cell]
QUESTIONS = ["Who lied?", "Who was a good cook?"]
CONTEXTS = ["Ann met Carl.", "Zoë sat by the African-American man.", "Carl lied."]


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_pairs_are_assembled_as_the_tokenizer_joins_them(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    first_of, second_of = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, CONTEXTS)
    rows = Rows(pair_layout(tokenizer), *segments, first_of, second_of)
    for row in range(6):
        expected = tokenizer(QUESTIONS[first_of[row]], CONTEXTS[second_of[row]])
        ids, types = rows.assemble(np.array([row]))
        assert ids[0].tolist() == expected["input_ids"]
        assert types is None or types[0].tolist() == expected["token_type_ids"]
        assert rows.lengths[row] == len(expected["input_ids"])
        assert rows.second_start(np.array([row]))[0] == expected.sequence_ids(0).index(1)


def test_batches_hold_every_row_once_and_rows_of_one_length(tiny_checkpoint: Callable[[str, str], Path]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "question-answering"))
    of = np.arange(60) % 3
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, CONTEXTS)
    rows = Rows(single_layout(tokenizer), *segments, of % 2, of)
    for budget in (1, 40, 10_000):
        cut = list(batches(rows, budget))
        assert sorted(np.concatenate(cut)) == list(range(60))
        for batch in cut:
            assert len(set(rows.lengths[batch])) == 1
            assert len(batch) == 1 or len(batch) * rows.lengths[batch[0]] <= budget


def with_backend(cell: Cell, change: Callable[[Tokenizer], None]) -> Cell:
    """The cell with a changed tokenizer."""
    checkpoint = cell.folder / "checkpoint"
    checkpoint.mkdir()
    for file in cell.checkpoint.iterdir():
        (checkpoint / file.name).write_bytes(file.read_bytes())
    backend = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    change(backend)
    backend.save(str(checkpoint / "tokenizer.json"))
    return Cell(cell.folder, cell.task, cell.instances, checkpoint)


def merge_across_texts(backend: Tokenizer) -> None:
    backend.normalizer = normalizers.Sequence([backend.normalizer, normalizers.Replace(". the", " the")])


def context_first(backend: Tokenizer) -> None:
    named = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $B:0 [SEP] $A:1 [SEP]:1", special_tokens=named
    )


def test_masked_texts_that_cannot_be_assembled_are_tokenized_whole_and_loudly(
    cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    ours = with_backend(cell("bert", "fill-mask"), merge_across_texts)
    plain = Plain(ours.checkpoint, ours.task)
    expected = pl.DataFrame([plain.mask_row(row) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict()
    assert "every text is tokenized as a whole, which is slower" in caplog.text
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5


def test_pairs_that_cannot_be_assembled_are_tokenized_whole_and_loudly(
    cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    ours = with_backend(cell("bert", "question-answering"), context_first)
    plain = Plain(ours.checkpoint, ours.task)
    expected = pl.DataFrame([plain.span_row(row) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict()
    assert "every text is tokenized as a whole, which is slower" in caplog.text
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5
    assert predicted["answer"].cast(pl.String).to_list() == expected["answer"].to_list()


def test_a_border_that_only_one_text_crosses_is_found(tiny_checkpoint: Callable[[str, str], Path]) -> None:
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "fill-mask"))
    merge_across_texts(tokenizer.backend_tokenizer)
    statements = ["Ann lied.", "The man lied."]
    second_of = np.zeros(5000, dtype=np.int64)
    second_of[4321] = 1
    segments = tokenize(tokenizer, ["Carl lied."]), tokenize(tokenizer, statements)
    rows = Rows(single_layout(tokenizer), *segments, np.zeros_like(second_of), second_of)
    whole = checked(rows, tokenizer, lambda sample: [(f"Carl lied. {statements[second_of[row]]}",) for row in sample])
    ids = whole.assemble(np.array([4321]))[0][0].tolist()
    assert ids == tokenizer("Carl lied. The man lied.")["input_ids"]


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_instances_with_unknown_tokens_are_those_in_which_the_tokenizer_writes_them(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    contexts = ["Ann met Carl.", "Ann met \N{SNOWMAN}.", "Carl lied."]
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, contexts)
    # The second instance has two rows.
    rows = Rows(pair_layout(tokenizer), *segments, np.array([0, 1, 0, 1]), np.array([0, 2, 1, 2]))
    rows = replace(rows, owner=np.array([0, 1, 1, 2]))
    reads_all = tokenizer.decode(tokenizer(contexts[1])["input_ids"]).count("\N{SNOWMAN}") == 1
    assert with_unknown_tokens(rows, tokenizer).to_list() == [False, not reads_all, False]


def test_a_token_of_the_end_that_stands_for_the_unknown_too_is_not_counted(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "question-answering"))
    rows = whole_rows(tokenizer, ["Ann met Carl."])
    tokenizer.unk_token = tokenizer.sep_token
    assert not with_unknown_tokens(rows, tokenizer).any()
