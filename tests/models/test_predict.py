"""The engine against the plain way to ask a model: one row at a time, tokenized as a whole."""

from collections.abc import Callable

import polars as pl
import pytest
from plain import Plain
from shards import Cell, largest_difference
from tiny_checkpoints import HEADS, OTHER_TOKENIZERS, TOKENIZERS

Cells = Callable[[str, str], Cell]
PRONOUNS = {"female": "the", "male": "man"}


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_masked_probabilities_are_those_of_single_rows(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "fill-mask")
    plain = Plain(ours.checkpoint, "fill-mask")
    expected = pl.DataFrame([plain.mask_row(row, PRONOUNS) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict(pronouns=PRONOUNS)
    assert expected.select((pl.all() > 0).all()).row(0) == (True,) * 4
    assert expected["probability1"].n_unique() > 20
    assert largest_difference(predicted, expected.with_columns(predicted["instance"])) < 1e-5


@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_span_probabilities_and_answers_are_those_of_single_rows(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "question-answering")
    plain = Plain(ours.checkpoint, "question-answering")
    expected = pl.DataFrame([plain.span_row(row) for row in ours.instances.iter_rows(named=True)])
    predicted = ours.predict()
    assert expected["start1"].n_unique() > 20
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
    for other in (ours.predict_all(3, token_budget=100_000), ours.predict(token_budget=64)):
        assert largest_difference(whole, other) < 1e-6
