"""The engine against the plain way to ask a model: one row at a time, tokenized as a whole."""

from collections.abc import Callable

import polars as pl
import pytest
from plain import Plain
from shards import Cell, largest_difference
from tiny_checkpoints import HEADS, OTHER_TOKENIZERS, TOKENIZERS, instances_for

Cells = Callable[[str, str], Cell]
PRONOUNS = {"female": "the", "male": "man"}


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_masked_probabilities_match_single_rows(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "fill-mask")
    plain = Plain(ours.checkpoint, "fill-mask")
    ours = ours.with_instances(instances_for(ours.task, plain.mask, pronouns=PRONOUNS))
    expected = pl.DataFrame(
        [plain.mask_row(row, (3, 4)) for row in ours.instances.iter_rows(named=True)]
    )
    predicted = ours.predict(either_case=(3, 4))
    assert (expected["probabilities"].explode() > 0).all()
    assert set(expected["probabilities"].list.len()) == {4}
    assert expected["probabilities"].list.first().n_unique() > 20
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_span_probabilities_and_answers_match_single_rows(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "question-answering")
    plain = Plain(ours.checkpoint, "question-answering")
    expected = pl.DataFrame([plain.span_row(row) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict()
    assert expected["starts"].list.first().n_unique() > 20
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5
    assert predicted["answer"].cast(pl.String).to_list() == expected["answer"].to_list()


@pytest.mark.parametrize("task", HEADS)
@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_a_prediction_does_not_depend_on_its_shard_or_batch(
    cell: Cells, architecture: str, task: str, caplog: pytest.LogCaptureFixture
) -> None:
    ours = cell(architecture, task)
    whole = ours.predict(token_budget=100_000)
    assert "tokenized as a whole" not in caplog.text
    for other in (ours.predict_all(3, token_budget=100_000), ours.predict_anew(token_budget=64)):
        assert largest_difference(whole, other) < 1e-6
