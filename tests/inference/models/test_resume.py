"""Shards that are interrupted, and batches that do not fit into memory."""

import time
from collections.abc import Callable

import polars as pl
import pytest
import torch
from plain import Plain
from shards import Cell, audited, count_rows, hook_model, interrupt, largest_difference
from small_tables import check_alike
from tiny_checkpoints import HEADS, instances_for

from biasgrid.tables.files import read_provenance

STRINGS = {pl.Categorical: pl.String}
Cells = Callable[[str, str], Cell]


@pytest.fixture(autouse=True)
def three_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 16)


@pytest.mark.parametrize("task", HEADS)
def test_an_interrupted_shard_goes_on_and_ends_the_same(
    cell: Cells, task: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = cell("bert", task)
    uninterrupted = ours.predict()
    interrupt(ours, 2, monkeypatch)
    counts = count_rows(monkeypatch)
    with caplog.at_level("INFO"):
        check_alike(ours.predict(), uninterrupted)
    assert sum(counts) == audited(48) + 16
    assert "32 rows come from an earlier run" in caplog.text
    assert not ours.parts
    assert len(ours.finished) == 1
    assert ours.finished[0].samefile(ours.out)


@pytest.mark.parametrize("task", HEADS)
def test_a_shard_that_was_interrupted_within_a_part_ends_the_same_to_the_last_bit(
    cell: Cells, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 48)
    monkeypatch.setattr("biasgrid.inference.engine.back_end.SECONDS_BETWEEN_TABLES", 0)
    monkeypatch.setattr("biasgrid.inference.engine.local.SECONDS_BETWEEN_TABLES", 0.005)
    hook_model(monkeypatch, lambda _: time.sleep(0.02))
    ours = cell("bert", task)
    uninterrupted = ours.predict(token_budget=128)
    interrupt(ours, 2, monkeypatch, token_budget=128)
    kept = sum(len(pl.read_parquet(part)) for part in ours.parts)
    assert 0 < kept < 48
    resumed = ours.predict(token_budget=128)
    assert resumed.cast(STRINGS).equals(uninterrupted.cast(STRINGS))


def test_a_truncated_part_is_made_again(
    cell: Cells, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = cell("roberta", "question-answering")
    uninterrupted = ours.predict()
    interrupt(ours, 2, monkeypatch)
    part = ours.parts[0]
    part.write_bytes(part.read_bytes()[:100])
    counts = count_rows(monkeypatch)
    check_alike(ours.predict(), uninterrupted)
    assert sum(counts) == audited(48) + 32
    assert f"{part.name} is damaged; its answers are asked again" in caplog.text


def test_parts_of_another_run_are_not_taken(cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = cell("bert", "question-answering")
    interrupt(ours, 2, monkeypatch)
    counts = count_rows(monkeypatch)
    ours.predict(scoring="unqover")
    assert sum(counts) == audited(48) + 48


def test_answers_without_pronouns_are_none_with_them(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", "fill-mask")
    interrupt(ours, 2, monkeypatch)
    # Any word that is one token of the tiny model.
    word = str(ours.instances["candidate1"][0])
    mask = Plain(ours.checkpoint, ours.task).mask
    asked = ours.with_instances(
        instances_for(ours.task, mask, pronouns={"female": word, "male": word})
    )
    counts = count_rows(monkeypatch)
    predictions = asked.predict()
    assert sum(counts) == audited(48) + 48
    assert predictions["probabilities"].explode().count() == 4 * 48


def test_the_table_carries_its_provenance_and_audit(cell: Cells) -> None:
    ours = cell("bert", "fill-mask")
    ours.predict()
    facts = read_provenance(ours.out)
    assert facts["seed"] == 7
    assert facts["model"]["folder"] == str(ours.checkpoint)
    assert set(facts["model"]["files"]) >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert (facts["scoring"], facts["precision"], facts["devices"]) == ("exact", "float32", ["cpu"])
    assert ours.audit["rows"] == audited(48)
    assert 0 <= ours.audit["mean_drift"] <= ours.audit["largest_drift"] < 1e-6


@pytest.mark.parametrize("task", HEADS)
def test_half_precision_is_near_and_its_drift_is_recorded(cell: Cells, task: str) -> None:
    ours = cell("bert", task)
    exact, rounded = ours.predict(), ours.predict(precision="bfloat16")
    audit = ours.audit
    assert 0 < audit["largest_drift"] <= largest_difference(exact, rounded) + 1e-6 < 0.1
    assert audit["mean_drift"] < audit["largest_drift"]


@pytest.mark.parametrize("task", HEADS)
def test_batches_that_do_not_fit_into_memory_are_halved(
    cell: Cells, task: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = cell("bert", task)
    expected = ours.predict()

    def small_memory(ids: torch.Tensor) -> None:
        if len(ids) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook_model(monkeypatch, small_memory)
    assert largest_difference(ours.predict_anew(), expected) < 1e-6
    assert "rows do not fit into memory; trying" in caplog.text


def test_a_row_that_does_not_fit_into_memory_ends_the_run(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(_ids: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    hook_model(monkeypatch, no_memory)
    with pytest.raises(torch.OutOfMemoryError):
        cell("bert", "question-answering").predict()


def test_other_errors_of_a_model_are_not_taken_for_a_lack_of_memory(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(ids: torch.Tensor) -> None:
        if len(ids) > 1:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    hook_model(monkeypatch, broken)
    with pytest.raises(RuntimeError, match="shapes"):
        cell("bert", "question-answering").predict()


@pytest.mark.parametrize("task", HEADS)
def test_a_shard_without_instances_is_an_empty_table(cell: Cells, task: str) -> None:
    ours = cell("bert", task)
    two = ours.with_instances(ours.instances.head(2))
    assert two.predict_all(5)["instance"].to_list() == [0, 1]
    assert two.predict(1, 5).schema == two.predict(5, 5).schema == pl.Schema(two.predict().schema)
