"""Answers against the plain way to ask a question-answering model."""

from collections.abc import Callable

import polars as pl
import pytest
from plain import Plain
from shards import Cell, hook_model, interrupt, largest_difference, refuse_batches
from small_tables import check_alike
from tiny_checkpoints import TOKENIZERS

from biasgrid.inference.checkpoints.checkpoint import ModelError

Cells = Callable[..., Cell]
TASK = "question-answering"
QUESTIONS = ["Who lied?", "Who was a good cook, Ann or Zoë?"]
CONTEXTS = [
    "Ann sat by the African-American man.",
    "Zoë met a cook who lied.",
    "  The man, who was no cook, sat by Carl and Ann. ",
    "Carl lied." * 8,
]
ROWS = [{"text": question, "text_pair": context} for context in CONTEXTS for question in QUESTIONS]


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_answers_match_single_rows(case_cell: Cells, architecture: str) -> None:
    ours = case_cell(architecture, TASK, ROWS)
    plain = Plain(ours.checkpoint, TASK)
    said = [plain.answer(row["text"], row["text_pair"]) for row in ROWS]
    predicted = ours.predict()
    assert predicted["answer"].cast(pl.String).to_list() == [answer for answer, _ in said]
    assert predicted.select(pl.col("starts", "ends").list.len().max()).row(0) == (0, 0)
    assert predicted["probability"].to_list() == pytest.approx(
        [probability for _, probability in said], rel=1e-4
    )


@pytest.mark.parametrize("context", [None, "", "   "])
def test_a_question_without_context_is_refused(case_cell: Cells, context: str | None) -> None:
    ours = case_cell("bert", TASK, [*ROWS, {"text": "Who sat?", "text_pair": context}])
    with pytest.raises(
        ModelError, match=r"instance 8, 'Who sat\?', has no context; expected a question and"
    ):
        ours.predict()


def test_an_interrupted_shard_goes_on_and_ends_the_same(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 3)
    ours = case_cell("roberta", TASK, ROWS)
    uninterrupted = ours.predict()
    interrupt(ours, 2, monkeypatch)
    check_alike(ours.predict(), uninterrupted)


def test_a_prediction_does_not_depend_on_its_shard_or_batch(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = case_cell("bert", TASK, ROWS)
    whole = ours.predict(token_budget=100_000)
    assert largest_difference(ours.predict_all(3), whole) < 1e-6

    hook_model(monkeypatch, refuse_batches)
    halved = ours.predict_anew()
    assert largest_difference(halved, whole) < 1e-6
    assert halved["answer"].cast(pl.String).to_list() == whole["answer"].cast(pl.String).to_list()


def test_a_shard_without_instances_is_an_empty_table(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, ROWS[:1])
    assert ours.predict(1, 2).schema == ours.predict(2, 2).schema
