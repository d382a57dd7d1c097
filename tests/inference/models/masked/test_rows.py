"""Subjects and pronouns of several tokens, against the plain way to ask a masked language model."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import Plain, shown_pieces
from questions import Template, questions_of
from shards import (
    Cell,
    count_rows,
    hook_model,
    interrupt,
    keyed,
    largest_difference,
    refuse_batches,
)
from small_tables import check_alike
from tiny_checkpoints import ACTS, instances_for

from biasgrid.base.sections import TargetScoring
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.encoding import NotAssembledError, TokenLayout
from biasgrid.inference.engine.segments import TokenizedTexts, segments_from_ids
from biasgrid.inference.models.masked.candidate_tokens import (
    Insert,
    VocabularyTokens,
    candidate_inserts,
)
from biasgrid.inference.models.masked.rows import (
    CandidateWords,
    mask_rows,
    merge_inputs,
    multiply_tokens,
    with_inserts,
)
from biasgrid.tables.files import read_provenance

Cells = Callable[[str, str], Cell]
TASK = "fill-mask"
SCORINGS: list[TargetScoring] = ["joint", "pll", "pll-l2r"]
NAMES = ["Ann", "African-American", "no good"]
"""One token of the tiny tokenizers, several of one hyphenated word, several words."""
PRONOUNS = {"female": "she", "male": "man"}


def with_names(
    cell: Cell, names: list[str], mask: str = "[MASK]", pronouns: dict[str, str] | None = None
) -> Cell:
    return cell.with_instances(instances_for(TASK, mask, names, pronouns))


def several(cell: Cell, pronouns: dict[str, str] | None = None) -> Cell:
    """The cell with subjects of several tokens."""
    return with_names(cell, NAMES, Plain(cell.checkpoint, TASK).mask, pronouns)


def plain_half(cell: Cell) -> Cell:
    """The cell without negated questions, which are nothing else to a model: row by row, each takes
    a while.
    """
    return cell.with_instances(keyed(cell.instances.filter(~pl.col("negated"))))


def expected(cell: Cell, scoring: str) -> dict[str, list[Any]]:
    """Probabilities and numbers of pieces of both subjects and of both pronouns, the latter in
    either case.
    """
    plain = Plain(cell.checkpoint, TASK)
    unknown = plain.tokenizer.unk_token_id
    columns: dict[str, list[Any]] = {"probabilities": [], "tokens": []}
    for row in cell.instances.iter_rows(named=True):
        text = f"{row['text_pair']} {row['text']}"
        for which in (1, 2, 3, 4):
            word = row[f"candidate{which}"]
            spellings = [word] if which < 3 else [word, word.capitalize()]
            known = [word for word in spellings if unknown not in plain.pieces(text, word)[2]]
            ways = [plain.word(text, word, scoring) for word in known]
            counted = [way for way in ways if way[2] == 1] or ways
            columns["probabilities"].append(max(way[0] for way in counted))
            columns["tokens"].append(max(way[2] for way in counted))
    return columns


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_words_are_scored_as_by_the_book(cell: Cells, architecture: str, scoring: str) -> None:
    ours = plain_half(several(cell(architecture, TASK), PRONOUNS))
    theirs = expected(ours, scoring)
    predicted = ours.predict(target_scoring=scoring, either_case=(3, 4))
    for name, values in theirs.items():
        assert predicted[name].explode().to_list() == pytest.approx(values, rel=1e-4), name
    first, second = (set(predicted["tokens"].list.get(which)) for which in (0, 1))
    assert first == second
    assert min(first) == 1
    assert max(first) > 2
    assert read_provenance(ours.out)["target_scoring"] == scoring


@pytest.mark.parametrize("architecture", ["roberta", "albert"])
def test_what_is_joined_to_the_mask_may_decide_the_tokens(cell: Cells, architecture: str) -> None:
    templates = [
        Template(
            "The cook sat by [subj1] and [subj2].", "The man who [act] is [mask].", "[mask] [act]."
        ),
        Template(
            "There is [subj1] with [subj2].",
            'They call "[mask]" who [act].',
            "It was the [mask] man.",
        ),
    ]
    ours = cell(architecture, TASK)
    mask = Plain(ours.checkpoint, TASK).mask
    ours = plain_half(
        ours.with_instances(
            questions_of(templates, NAMES, ACTS, mask, pronouns=["she", "man", "she"])
        )
    )
    theirs = expected(ours, "joint")
    predicted = ours.predict(target_scoring="joint", either_case=(3, 4))
    for name, values in theirs.items():
        assert predicted[name].explode().to_list() == pytest.approx(values, rel=1e-4), name


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta-v2"])
def test_words_of_one_token_are_scored_alike_regardless_of_the_scoring(
    cell: Cells, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell(architecture, TASK)
    counts = count_rows(monkeypatch)
    without = ours.predict()
    asked = sum(counts)
    for scoring in SCORINGS:
        counts.clear()
        check_alike(ours.predict(target_scoring=scoring), without)
        assert sum(counts) == asked
    assert set(without["tokens"].list.get(0)) == {1}


def test_words_that_need_the_same_input_share_it(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = with_names(cell("bert", TASK), ["cook", "no good", "no cook"])
    half = ours.with_instances(ours.instances.head(24))
    monkeypatch.setattr("biasgrid.inference.engine.audit.FEWEST", 24)
    counts = count_rows(monkeypatch)
    half.predict(target_scoring="joint")
    # A mask, two masks, and `no` with a mask for either pair with `cook`; the last two for the
    # third pair. All once more for the audit.
    assert sum(counts) == 2 * 8 * (3 + 3 + 2)


def test_a_prediction_does_not_depend_on_its_shard_or_batch(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = several(cell("bert", TASK))
    whole = ours.predict(token_budget=100_000, target_scoring="joint")
    assert largest_difference(ours.predict_all(3, target_scoring="joint"), whole) < 1e-6
    hook_model(monkeypatch, refuse_batches)
    assert largest_difference(ours.predict_anew(target_scoring="joint"), whole) < 1e-6


def test_parts_of_another_scoring_are_not_taken(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 16)
    ours = several(cell("bert", TASK))
    interrupt(ours, 2, monkeypatch, target_scoring="joint")
    resumed = ours.predict(target_scoring="pll")
    check_alike(resumed, ours.predict_anew(target_scoring="pll"))


@pytest.mark.parametrize("architecture", ["bert", "albert"])
def test_texts_that_are_tokenized_as_a_whole_are_scored_alike(
    cell: Cells,
    architecture: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ours = several(cell(architecture, TASK))
    assembled = ours.predict(target_scoring="joint")

    def differ(*_: object) -> None:
        raise NotAssembledError("a text")

    monkeypatch.setattr("biasgrid.inference.models.masked.texts.check_assembled", differ)
    assert largest_difference(ours.predict_anew(target_scoring="joint"), assembled) < 1e-6
    assert "each text is tokenized as a whole" in caplog.text


def test_unqover_scoring_leaves_the_number_of_tokens_open_where_it_finds_none(cell: Cells) -> None:
    ours = several(cell("bert", TASK))
    predicted = ours.predict(scoring="unqover")
    names = ours.instances["candidate1"].cast(pl.String)
    first = predicted.select(pl.col("tokens", "probabilities").list.get(0))
    assert dict(zip(names, first["tokens"], strict=True)) == {
        "Ann": 1,
        "African-American": None,
        "no good": None,
    }
    assert set(first.filter(pl.col("tokens").is_null())["probabilities"]) == {0}


def test_a_subject_that_the_tokenizer_cannot_write_is_refused(cell: Cells) -> None:
    ours = with_names(cell("bert", TASK), ["Ann", "Carl", "愛"])
    with pytest.raises(
        ModelError,
        match="'愛' has letters that this model's tokenizer does not know; expected words",
    ):
        ours.predict(target_scoring="joint")


def test_settings_of_the_mask_hold_for_all_that_replaces_it() -> None:
    plain = segments_from_ids([[5, MASK, 7, 8], [5, 6, MASK]])
    typed = TokenizedTexts(
        plain.ids, plain.lengths, plain.lengths, plain.offsets, np.int32([0, 1, 2, 3, 4, 5, 6])
    )
    inserts = [Insert((1, 2, 3), 0), Insert((4,), 0)]
    made = with_inserts(typed, np.array([0, 1, 1]), np.array([1, 2]), inserts, np.array([0, 1, 0]))
    assert [made.tokens(place).tolist() for place in range(3)] == [
        [5, 1, 2, 3, 7, 8],
        [5, 6, 4],
        [5, 6, 1, 2, 3],
    ]
    assert made.types is not None
    assert made.types.tolist() == [0, 1, 1, 1, 2, 3, 4, 5, 6, 4, 5, 6, 6, 6]


MASK, PREFIX, SUFFIX = 99, 97, 98
IDS = st.lists(st.integers(1, 9), max_size=3)


@st.composite
def written_words(draw: st.DrawFn) -> VocabularyTokens:
    ids = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return VocabularyTokens("", ids, np.cumsum([draw(st.booleans()) for _ in ids]).tolist())


class Instances(NamedTuple):
    """Contexts, what stands before and behind the mask of statements, the ways to write words; and
    who has which.
    """

    contexts: list[list[int]]
    statements: list[tuple[list[int], list[int]]]
    words: list[list[VocabularyTokens]]
    rows: list[tuple[int, int, int, int]]

    def score(self, row: int, word: int, scoring: str) -> float:
        """The probability of a word at an instance, by the book."""
        context, statement = self.rows[row][:2]
        before, behind = (
            [PREFIX, *self.contexts[context], *self.statements[statement][0]],
            self.statements[statement][1],
        )
        products = [
            prod(
                pretended([*before, *shown, *behind, SUFFIX], len(before) + read, way.ids[read])
                for read, shown in enumerate(shown_pieces(way.ids, way.word_numbers, scoring, MASK))
            )
            for way in self.words[self.rows[row][2 + word]]
        ]
        return max(products, default=0)


@st.composite
def some_instances(draw: st.DrawFn) -> Instances:
    contexts = draw(st.lists(IDS, min_size=1, max_size=3))
    statements = draw(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=3))
    words = draw(st.lists(st.lists(written_words(), max_size=2), min_size=1, max_size=4))
    places = (st.integers(0, len(of) - 1) for of in (contexts, statements, words, words))
    return Instances(
        contexts, statements, words, draw(st.lists(st.tuples(*places), min_size=1, max_size=6))
    )


def pretended(ids: list[int], place: int, token: int) -> float:
    """The probability of a token at a place, of no model in particular."""
    return (hash((*ids, place, token)) % 1009 + 1) / 1024


@settings(max_examples=150, deadline=None)
@given(some_instances(), st.sampled_from(SCORINGS))
def test_rows_hold_each_input_of_an_instance_once_and_give_the_scores_of_its_words(
    asked: Instances, scoring: TargetScoring
) -> None:
    statements = [[*before, MASK, *behind] for before, behind in asked.statements]
    first, second = segments_from_ids(asked.contexts), segments_from_ids(statements)
    context_of, statement_of, *words_of = np.array(asked.rows, dtype=np.int32).T
    rows = TokenLayout([PREFIX], [], [SUFFIX], None).rows(
        first, second, first_index=context_of, second_index=statement_of
    )
    masks = np.array([len(before) for before, _ in asked.statements])
    words = [
        candidate_inserts(ways, scoring, MASK) or [(Insert((MASK,), 0), [])] for ways in asked.words
    ]
    every = np.arange(len(asked.rows))
    inputs = merge_inputs([CandidateWords(words, of) for of in words_of])
    encoded = mask_rows(rows, masks, inputs, every)

    part = BatchPart.from_instances(encoded.rows, every)
    owner, some = part.owner, part.rows
    places = (encoded.rows.second_start(some) + encoded.place[encoded.rows.second_index]).tolist()
    ids = [encoded.rows.assemble(row)[0].tolist() for row in range(len(owner))]
    assert len(
        {(*each, place, row) for each, place, row in zip(ids, places, owner.tolist(), strict=True)}
    ) == len(owner)
    tokens = inputs.tokens[encoded.input_index]
    factors = [
        [[pretended(each, place, token) for token in ways] for ways in read]
        for each, place, read in zip(ids, places, tokens.tolist(), strict=True)
    ]
    scores = multiply_tokens(np.array(factors, dtype=np.float32), tokens, owner).probabilities
    assert scores.tolist() == [
        [asked.score(row, column, scoring) for column in (0, 1)] for row in range(len(asked.rows))
    ]
