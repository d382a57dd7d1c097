"""Assembled tokens, and the fallback to plain tokenization where they differ."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from plain import Plain
from shards import Cell, largest_difference
from tiny_checkpoints import OTHER_TOKENIZERS, TOKENIZERS
from tokenizers import Tokenizer, normalizers, processors
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
)

from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows, narrow_places, takes_types
from biasgrid.inference.engine.encoding import (
    NotAssembledError,
    check_assembled,
    pair_layout,
    single_layout,
    whole_rows,
)
from biasgrid.inference.engine.out_of_vocabulary import (
    FEWEST_TOKENS,
    count_short_tokens,
    is_out_of_vocabulary,
    token_types,
)
from biasgrid.inference.engine.segments import (
    owner_begins,
    segments_from_ids,
    tokenize,
    tokenize_whole,
)

Cells = Callable[[str, str], Cell]
QUESTIONS = ["Who lied?", "Who was a good cook?"]
CONTEXTS = ["Ann met Carl.", "Zoë sat by the African-American man.", "Carl lied."]


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_pairs_are_assembled_as_the_tokenizer_joins_them(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    first_index, second_index = np.repeat(np.int32([0, 1]), 3), np.tile(np.int32([0, 1, 2]), 2)
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, CONTEXTS)
    rows = pair_layout(tokenizer).rows(
        *segments, first_index=first_index, second_index=second_index
    )
    for row in range(6):
        expected = tokenizer(QUESTIONS[first_index[row]], CONTEXTS[second_index[row]])
        ids, types = rows.assemble(row)
        assert ids.tolist() == expected["input_ids"]
        assert types is None or types.tolist() == expected["token_type_ids"]
        assert rows.lengths[row] == len(expected["input_ids"])
        assert rows.second_start(np.array([row]))[0] == expected.sequence_ids(0).index(1)


def test_batches_hold_every_row_once_and_rows_of_one_length(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "question-answering"))
    of = np.arange(60, dtype=np.int32) % 3
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, CONTEXTS)
    rows = single_layout(tokenizer).rows(*segments, first_index=of % 2, second_index=of)
    part = BatchPart.from_instances(rows, np.arange(60))
    for budget in (1, 40, 10_000):
        cut = [part.rows[part.order][begin:end] for begin, end in part.cuts(budget)]
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
    backend.normalizer = normalizers.Sequence(
        [backend.normalizer, normalizers.Replace(". the", " the")]
    )


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
    assert "each text is tokenized as a whole, which is slower" in caplog.text
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5


def test_pairs_that_cannot_be_assembled_are_tokenized_whole_and_loudly(
    cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    ours = with_backend(cell("bert", "question-answering"), context_first)
    plain = Plain(ours.checkpoint, ours.task)
    expected = pl.DataFrame([plain.span_row(row) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict()
    assert "each text is tokenized as a whole, which is slower" in caplog.text
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5
    assert predicted["answer"].cast(pl.String).to_list() == expected["answer"].to_list()


def test_a_border_that_only_one_text_crosses_is_found(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(
        tiny_checkpoint("bert", "fill-mask")
    )
    merge_across_texts(tokenizer.backend_tokenizer)
    statements = ["Ann lied.", "The man lied."]
    second_index = np.zeros(5000, dtype=np.int32)
    second_index[4321] = 1
    segments = tokenize(tokenizer, ["Carl lied."]), tokenize(tokenizer, statements)
    rows = single_layout(tokenizer).rows(
        *segments, first_index=np.zeros_like(second_index), second_index=second_index
    )
    with pytest.raises(NotAssembledError, match=r"Carl lied\. The man lied\."):
        check_assembled(
            rows,
            tokenizer,
            lambda sample: [(f"Carl lied. {statements[second_index[row]]}",) for row in sample],
        )


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_instances_with_unknown_tokens_match_the_tokenizer(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    contexts = ["Ann met Carl.", "Ann met \N{SNOWMAN}.", "Carl lied."]
    segments = tokenize(tokenizer, QUESTIONS), tokenize(tokenizer, contexts)
    # The second instance has two rows. All have the question of words that these tokenizers know
    # best.
    rows = pair_layout(tokenizer).rows(
        *segments, first_index=np.int32([0, 0, 0, 0]), second_index=np.int32([0, 2, 1, 2])
    )
    rows = replace(rows, owner=np.int32([0, 1, 1, 2]))
    reads_all = tokenizer.decode(tokenizer(contexts[1])["input_ids"]).count("\N{SNOWMAN}") == 1
    assert is_out_of_vocabulary(rows, tokenizer).tolist() == [False, not reads_all, False]


SPELLED = "The florist met a gardener and the plumber."


@pytest.mark.parametrize(
    ("tokens", "is_known"),
    [
        (["▁T h e ▁f l o r i s t", "▁m e t ▁a ▁g a r d e n e r"], False),
        (["The fl ##or ##is ##t", "met a ga ##rd ##en ##er and pl ##um ##be ##rs"], False),
        (["ĠThe Ġf l o r i s t", "Ġmet Ġa Ġg a r d e n e r"], False),
        (["The flo ##rist met a gar ##den ##er", "and the plumb ##er ."], True),
        # Short words are words, and two or three pieces no text to be judged.
        (["I am a he or to", "it is on me to do so"], True),
        (["f ##l ##o ##r", "m ##e ##t"], True),
        # Bytes of other alphabets are no letters, nor are characters that mean a word.
        (["Ġthe Ġ Ã © Ã ¨ Ã ª Ã « Ã ® Ã ¯", "Ã ¶ Ã ¼ Ã Ł Ð º Ð ¿"], True),
        (["▁the ▁the 护 士 医 生 警 察", "老 师 和 工 人"], True),
        # What shows no beginnings of words says nothing.
        (["T h e f l o r i s t", "m e t"], True),
    ],
)
def test_a_text_in_pieces_of_a_letter_or_two_is_not_known(
    tokens: list[str], is_known: bool
) -> None:
    words = [text.split() for text in tokens]
    vocabulary = sorted({word for text in words for word in text})
    kinds = token_types(vocabulary)
    segments = [segments_from_ids([[vocabulary.index(word) for word in text]]) for text in words]
    lettered, short = np.sum([count_short_tokens(each, kinds)[0] for each in segments], axis=0)
    assert (lettered < FEWEST_TOKENS or 2 * short <= lettered) == is_known


def test_a_vocabulary_without_most_words_of_the_texts_does_not_know_them(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "question-answering"))
    pieces = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "and",
        *"abcdefghijklmnopqrstuvwxyz.",
        *pieces,
    ]
    spelling = BertTokenizerFast(vocab={word: place for place, word in enumerate(vocabulary)})
    texts = [(SPELLED,), ("the and.",)]
    assert is_out_of_vocabulary(whole_rows(spelling, texts), spelling).tolist() == [True, False]
    assert not is_out_of_vocabulary(whole_rows(tokenizer, [("Ann met Carl.",)]), tokenizer).any()


def test_a_token_of_the_end_that_represents_the_unknown_too_is_not_counted(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", "question-answering"))
    rows = whole_rows(tokenizer, [("Ann met Carl.",)])
    tokenizer.unk_token = tokenizer.sep_token
    assert not is_out_of_vocabulary(rows, tokenizer).any()


def many_texts() -> list[str]:
    """So many that they are put together of their words; one pair of neighbours stands in one text
    alone.
    """
    words = [
        "Ann",
        "Carl",
        "the man",
        "Zoë",
        "good",
        "African-American",
        "who lied",
        "cook,",
        "",
        "no",
    ]
    return [
        *map(" ".join, product(words, repeat=3)),
        "  two  spaces ",
        "",
        "lied. the cook",
        *map(" ".join, product(words, repeat=2)),
    ]


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_texts_have_the_tokens_of_their_words(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    monkeypatch.setattr("biasgrid.inference.engine.segments.FEWEST_TEXTS", 10)
    texts = many_texts()
    made, whole = (
        tokenize(tokenizer, texts, with_offsets=True),
        tokenize_whole(tokenizer, texts, with_offsets=True),
    )
    for name in ("ids", "lengths", "text_lengths", "offsets"):
        assert np.array_equal(getattr(made, name), getattr(whole, name)), name


def test_texts_whose_words_depend_on_their_neighbours_are_tokenized_each_by_itself(
    tiny_checkpoint: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(
        tiny_checkpoint("bert", "fill-mask")
    )
    merge_across_texts(tokenizer.backend_tokenizer)
    monkeypatch.setattr("biasgrid.inference.engine.segments.FEWEST_TEXTS", 10)
    made, whole = tokenize(tokenizer, many_texts()), tokenize_whole(tokenizer, many_texts())
    assert "the tokens of a text are not those of its words" in caplog.text
    assert np.array_equal(made.ids, whole.ids)


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_batches_are_put_together_on_the_device_as_rows_are_here(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "question-answering"))
    model = AutoModelForQuestionAnswering.from_pretrained(
        tiny_checkpoint(architecture, "question-answering")
    )
    of = np.arange(6, dtype=np.int32)
    rows = pair_layout(tokenizer).rows(
        tokenize(tokenizer, QUESTIONS),
        tokenize(tokenizer, CONTEXTS),
        first_index=of % 2,
        second_index=of % 3,
    )
    on_device = DeviceRows.from_rows(rows, model)
    wide = replace(on_device, begins=on_device.begins.long())
    for length in np.unique(rows.lengths):
        some = np.flatnonzero(rows.lengths == length)
        batch = Batch(torch.from_numpy(some), int(length))
        inputs = on_device.inputs(batch)
        assert all(values.equal(wide.inputs(batch)[name]) for name, values in inputs.items())
        for place, row in enumerate(some.tolist()):
            ids, types = rows.assemble(row)
            assert inputs["input_ids"][place].tolist() == ids.tolist()
            taken = types is not None and takes_types(model)
            assert ("token_type_ids" in inputs) == taken
            assert not taken or inputs["token_type_ids"][place].tolist() == types.tolist()


def test_segments_are_gathered_of_runs_of_tokens() -> None:
    segments = segments_from_ids([[1, 2, 3], [], [4]])
    made = segments.gather_runs(np.array([0, 3, 1]), np.array([2, 1, 0]), np.array([0, 2, 1, 0]))
    assert [made.tokens(place).tolist() for place in range(4)] == [[], [1, 2, 4], [], []]
    assert segments.matrix(segments.ids).tolist() == [[1, 2, 3], [0, 0, 0], [4, 0, 0]]


def test_rows_that_are_not_in_the_order_of_their_owners_are_refused() -> None:
    assert owner_begins(np.array([0, 0, 1, 2, 2])).tolist() == [0, 2, 3]
    assert owner_begins(np.array([], dtype=np.int64)).tolist() == []
    for owner in ([1], [0, 2], [0, 1, 0]):
        with pytest.raises(ValueError, match="order of their owners"):
            owner_begins(np.array(owner))


def test_selected_segments_keep_the_length_of_their_text() -> None:
    segments = replace(segments_from_ids([[1, 2, 3], [4]]), text_lengths=np.array([2, 1]))
    assert segments.select(np.array([1, 0])).text_lengths.tolist() == [1, 2]
    assert segments.select(np.array([0, 1])).text_lengths.tolist() == [2, 1]


def test_places_of_tokens_do_not_overflow() -> None:
    places = np.array([0, 2**31 - 2, 2**31])
    assert narrow_places(places[:2], 2**31 - 1).dtype == np.int32
    assert narrow_places(places, 2**31 + 1).tolist() == places.tolist()
