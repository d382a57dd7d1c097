"""Sentences scored by masked language models, against the plain way of each paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from sentences import (
    BLANKS,
    PAIRS,
    PlainMasked,
    blanks_of,
    instances_of,
    pairs_of,
    scored,
    scores_of,
)
from shards import Cell
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForPreTraining

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.likelihood.masked import attention_received
from biasgrid.inference.scorings import MASKED, SCORINGS, scoring_names
from biasgrid.tables.files import read_provenance

Checkpoints = Callable[[str, str], Path]
OF_PAIRS = [name for name in scoring_names(MASKED) if SCORINGS[name].needs != "context"]
ARCHITECTURES = ("bert", "roberta", "albert", "deberta-v2", "modernbert")


@pytest.fixture
def cell(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Callable[[pl.DataFrame, str], Cell]:
    """Gives a cell of a tiny masked language model that scores some sentences."""

    def make(instances: pl.DataFrame, architecture: str = "bert") -> Cell:
        return Cell(tmp_path / "cell", MASKED, instances, tiny_checkpoint(architecture, MASKED))

    return make


Cells = Callable[..., Cell]


@pytest.mark.parametrize("scoring", OF_PAIRS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_match_one_sentence_at_a_time(cell: Cells, architecture: str, scoring: str) -> None:
    ours = cell(pairs_of(PAIRS, scoring), architecture)
    said, plain = scored(ours, scoring), PlainMasked(ours.checkpoint)
    places = (
        said.height * [None]
        if SCORINGS[scoring].needs == ""
        else ours.instances["pair_place"].to_list()
    )
    texts = zip(ours.instances["text"], ours.instances["text_pair"], places, strict=True)
    expected = [plain.score(scoring, *row) for row in texts]
    assert said["score"].is_null().to_list() == [each is None for each in expected]
    found = [each for each in expected if each is not None]
    assert said["score"].drop_nulls().to_list() == pytest.approx(
        found, rel=1e-5, abs=1.1e-3 if SCORINGS[scoring].decimals else 1e-5
    )
    assert set(said["scoring"]) == {scoring}
    assert not said["truncated"].any()
    read = [
        text.lower() if (architecture, scoring) == ("albert", "cps") else text
        for text in ours.instances["text"]
    ]
    assert said["tokens"].to_list() == [
        len(plain.tokenizer(text, add_special_tokens=False).input_ids) for text in read
    ]
    assert read_provenance(ours.out)["scoring"] == scoring


@pytest.mark.parametrize("scoring", ["stereoset", "stereoset-biasbench"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_words_at_blank_have_the_mean_probability_of_their_tokens(
    cell: Cells, architecture: str, scoring: str
) -> None:
    ours = cell(blanks_of(BLANKS), architecture)
    said, plain = scored(ours, scoring), PlainMasked(ours.checkpoint)
    texts = zip(ours.instances["text"], ours.instances["text_pair"], strict=True)
    expected = [plain.score(scoring, *row, None) for row in texts]
    assert said["score"].to_list() == pytest.approx(expected, rel=1e-4)
    assert max(said["tokens_scored"]) > 1


def test_a_space_before_the_word_changes_roberta_and_not_bert(cell: Cells) -> None:
    for architecture, changes in (("roberta", True), ("bert", False)):
        ours = cell(blanks_of(BLANKS), architecture)
        one, two = (
            scored(ours, scoring)["score"].to_list()
            for scoring in ("stereoset", "stereoset-biasbench")
        )
        assert (one != pytest.approx(two)) == changes


def test_several_tokens_that_differ_make_the_table_another_score(cell: Cells) -> None:
    ours = cell(pairs_of(PAIRS, "sss"))
    right, table = (scored(ours, scoring) for scoring in ("sss", "sss-table"))
    several = right["tokens_scored"] > 1
    gap = (right["score"] - table["score"]).abs()
    assert gap.filter(several).max() > 0.01  # type: ignore[operator]
    assert gap.filter(~several).fill_null(0).max() < 1e-5  # type: ignore[operator]


@pytest.mark.parametrize("scoring", OF_PAIRS)
def test_neither_batches_nor_order_change_a_score(cell: Cells, scoring: str) -> None:
    instances = pairs_of(PAIRS, scoring)
    whole = scored(cell(instances), scoring)
    alone = scored(cell(instances), scoring, token_budget=1)
    back = instances.reverse().with_columns(instance=pl.int_range(len(instances), dtype=pl.UInt32))
    reverse = scored(cell(back), scoring).reverse()
    limit = 1.1e-3 if SCORINGS[scoring].decimals else 1e-5
    for other in (alone, reverse):
        assert np.nanmax(np.abs(scores_of(whole) - scores_of(other))) < limit
        assert other["tokens_scored"].to_list() == whole["tokens_scored"].to_list()


def test_sentences_without_a_token_to_score_have_no_score(cell: Cells) -> None:
    said = scored(cell(pairs_of([("Ann", "Carl"), ("Ann lied", "Ann lied")], "cps")), "cps")
    assert said["score"].is_null().to_list() == [True, True, False, False]
    assert said["tokens_scored"].to_list()[:2] == [0, 0]
    said = scored(
        cell(pairs_of([("Ann", "Carl"), ("Ann lied", "Ann lied")], "span-mean")), "span-mean"
    )
    assert said["score"].is_null().to_list() == [False, False, True, True]


def test_unknown_tokens_are_counted(cell: Cells) -> None:
    said = scored(
        cell(
            instances_of(
                [("Ann lied.", None, None), ("Ann \N{SNOWMAN} lied \N{COMET}.", None, None)]
            )
        ),
        "aul",
    )
    assert said["unknown_tokens"].to_list() == [0, 2]
    assert said["unknown"].to_list() == [False, True]


@pytest.mark.parametrize("scoring", ["cps", "aul", "sss", "pll-l2r"])
def test_long_sentences_lose_their_ends_and_say_so(cell: Cells, scoring: str) -> None:
    long = "Ann lied to Carl. " * 60
    said = scored(
        cell(pairs_of([(long, long.replace("Ann", "Zoë", 1)), PAIRS[0]], scoring)), scoring
    )
    assert said["truncated"].to_list() == [True, True, False, False]
    assert said["tokens"].to_list()[0] > 126
    assert said["tokens_scored"].to_list()[0] <= 126
    assert said["score"].null_count() == 0


def test_a_mask_that_was_cut_scores_nothing(cell: Cells) -> None:
    lead = "Ann lied to Carl. " * 60
    said = scored(cell(blanks_of([(f"{lead}BLANK", [f"{lead}Carl"]), BLANKS[0]])), "stereoset")
    assert said["truncated"].to_list() == [True, False, False, False]
    assert said["score"].is_null().to_list() == [True, False, False, False]


@pytest.mark.parametrize(
    ("rows", "scoring", "message"),
    [
        (
            [("Ann lied.", None, 0)],
            "cps",
            "instance 0 has no text_pair; expected the partner that 'cps' needs",
        ),
        (
            [("Ann lied.", "Carl lied.", None)],
            "sss",
            "instance 0 has None as pair_place; expected 0 or 1",
        ),
        (
            [("Ann [MASK].", None, None)],
            "aul",
            "instance 0 has the mask token [MASK] in its sentence",
        ),
        ([("Ann lied.", "Ann lied.", None)], "stereoset", "the context 'Ann lied.' without BLANK"),
        (
            [("Ann", "Ann BLANK.", None)],
            "stereoset",
            "the sentence 'Ann' without a word at the place of BLANK",
        ),
        (
            [("Ann lied.", "[MASK] BLANK.", None)],
            "stereoset",
            "the mask token [MASK] in its context",
        ),
        (
            [("Ann lied.", None, None)],
            "sum",
            "no scoring 'sum' for fill-mask; expected one of aul, aula, cps",
        ),
    ],
)
def test_what_a_formula_cannot_score_is_refused(
    cell: Cells, rows: list[tuple[str, str | None, int | None]], scoring: str, message: str
) -> None:
    with pytest.raises(ModelError) as refused:
        scored(cell(instances_of(rows)), scoring)
    assert message in str(refused.value)


def test_a_tokenizer_without_a_mask_is_refused(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    folder = tmp_path / "unmasked"
    source = tiny_checkpoint("bert", MASKED)
    tokenizer = AutoTokenizer.from_pretrained(source)
    AutoModelForMaskedLM.from_pretrained(source).save_pretrained(folder)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match="the tokenizer has no mask token"):
        scored(
            Cell(tmp_path / "cell", MASKED, instances_of([("Ann lied.", None, None)]), folder),
            "aul",
        )


@pytest.fixture
def next_sentence(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Path:
    """A tiny BERT with both of its heads."""
    folder = tmp_path / "both"
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint("bert", MASKED))
    torch.manual_seed(5)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)
    BertForPreTraining(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_next_sentence_has_the_probability_of_its_head(
    tmp_path: Path, next_sentence: Path
) -> None:
    rows = [(two, one, None) for one, two in PAIRS]
    ours = Cell(tmp_path / "cell", MASKED, instances_of(rows), next_sentence)
    said = scored(ours, "next-sentence")
    model = BertForPreTraining.from_pretrained(next_sentence).eval()
    tokenizer = AutoTokenizer.from_pretrained(next_sentence)
    with torch.inference_mode():
        logits = [
            model(**tokenizer(context, text, return_tensors="pt")).seq_relationship_logits[0]
            for text, context, _ in rows
        ]
    expected = [float(each.softmax(dim=0)[0]) for each in logits]
    assert said["score"].to_list() == pytest.approx(expected, rel=1e-5)
    assert np.std(expected) > 1e-3
    assert set(said["tokens_scored"]) == {1}


def test_a_model_without_that_head_is_refused(cell: Cells) -> None:
    with pytest.raises(ModelError, match="no weights for the task fill-mask"):
        scored(cell(instances_of([("Ann lied.", "Carl sat.", None)])), "next-sentence")


def test_a_model_that_gives_no_attentions_is_refused() -> None:
    for attentions in (None, (), (None,)):
        with pytest.raises(ModelError, match="expected a scoring other than aula"):
            attention_received(attentions, torch.zeros((1, 1), dtype=torch.int64))  # type: ignore[arg-type]
