"""Answers of earlier runs: only what was never asked is asked."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shards import Cell, asked, audited, count_rows, interrupt, keyed, largest_difference
from small_tables import check_alike
from tiny_checkpoints import instances_for

from biasgrid.tables.files import read_provenance

Cells = Callable[[str, str], Cell]
TASK = "question-answering"
ALL = 48
NAMES = ["Carl", "Zoë", "African-American", "Ann"]
"""One more than the cell asks about."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 7)


@pytest.fixture
def ours(cell: Cells) -> Cell:
    """A cell that has not been asked."""
    return cell("bert", TASK)


def asked_of(ours: Cell, monkeypatch: pytest.MonkeyPatch, *shard: int, **choices: Any) -> int:
    """Predicts a shard; returns how many rows the model was asked, those of the audit included."""
    with monkeypatch.context() as patch:
        counts = count_rows(patch)
        ours.predict(*shard, **choices)
    return sum(counts)


def is_known(instances: pl.DataFrame, before: pl.DataFrame) -> int:
    return int(instances["key"].is_in(before["key"].implode()).sum())


def test_further_subjects_alone_are_asked(ours: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.predict()
    more = ours.with_instances(instances_for(TASK, names=NAMES))
    known = is_known(more.instances, ours.instances)
    new = len(more.instances) - known
    assert 0 < known < len(more.instances)
    assert asked_of(more, monkeypatch) == audited(new) + new
    assert (more.timing["rows"], more.timing["found"]) == (len(more.instances), known)
    assert more.audit["rows"] == audited(ALL) + audited(new)
    found = more.predict()
    assert found["instance"].to_list() == more.instances["instance"].to_list()
    assert largest_difference(more.predict_anew(), found) < 1e-6


def test_a_smaller_limit_asks_nothing_and_loads_no_model(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ours.predict()

    def refuse(*_: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("biasgrid.inference.engine.loading.load_recorded_model", refuse)
    fewer = ours.with_instances(keyed(ours.instances.filter(pl.col("instance") % 5 == 1)))
    found = fewer.predict()
    assert found.drop("instance").equals(whole.filter(pl.col("instance") % 5 == 1).drop("instance"))
    assert found["instance"].to_list() == list(range(len(fewer.instances)))
    timing = fewer.timing
    assert (timing["found"], timing["seconds"], timing["rows_per_second"]) == (len(found), 0, None)
    assert fewer.audit["rows"] == audited(ALL)
    assert read_provenance(fewer.out)["devices"] == ["cpu"]


def test_another_number_of_shards_asks_nothing(ours: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ours.predict()
    assert [asked_of(ours, monkeypatch, shard, 3) for shard in (1, 2, 3)] == [0, 0, 0]
    assert ours.predict(2, 3).equals(whole.slice(16, 16))
    # That one audit stands behind all of them.
    assert len({tuple(read_provenance(path)["audits"]) for path in ours.finished}) == 1
    assert asked_of(ours, monkeypatch) == 0


def test_rows_of_several_shards_are_found_together(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shard in (1, 3):
        ours.predict(shard, 3)
    assert asked_of(ours, monkeypatch) == audited(16) + 16
    assert ours.audit["rows"] == 3 * audited(16)
    assert ours.timing["found"] == 32


def test_what_a_killed_shard_has_answered_is_found_by_other_shards(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(ours, 3, monkeypatch)
    # No finished shard has audited the 21 rows that were answered.
    assert [asked_of(ours, monkeypatch, shard, 3) for shard in (1, 2, 3)] == [8, 8 + 11, 8 + 16]
    assert ours.timing["found"] == 0


@pytest.mark.parametrize("parts", [1, 3, 4])
def test_a_killed_shard_ends_the_same_where_others_are_done(
    ours: Cell, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = ours.with_instances(keyed(ours.instances.filter(pl.col("instance") % 3 == 1)))
    fewer.predict()
    (finished,) = fewer.finished
    kept = finished.read_bytes()
    ours = ours.with_instances(ours.instances)
    uninterrupted = ours.predict()
    interrupt(ours, 0, monkeypatch)
    finished.write_bytes(kept)
    with monkeypatch.context() as patch:
        stop_after(patch, parts)
        with pytest.raises(KeyboardInterrupt):
            ours.predict()
    assert len(ours.parts) == parts
    assert asked_of(ours, monkeypatch) > 0
    check_alike(pl.read_parquet(ours.out), uninterrupted)
    assert ours.timing["found"] == 16


def stop_after(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Interrupts a shard when so many parts are written."""
    monkeypatch.setattr("biasgrid.inference.models.predict.SECONDS_A_FILE", 0)
    left = [parts]

    def keep(_progress: Any, _rows: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr("biasgrid.jobs.progress.Progress.keep", keep)


def test_a_shard_that_is_made_again_is_the_same(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.predict()
    before = ours.out.read_bytes()
    ours.out.unlink()
    assert asked_of(ours, monkeypatch) == 0
    assert ours.out.read_bytes() == before


def test_a_damaged_file_is_skipped_with_a_warning(
    ours: Cell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for shard in (1, 2):
        ours.predict(shard, 2)
    damaged = next(path for path in ours.finished if path.samefile(ours.out))
    damaged.write_bytes(damaged.read_bytes()[:200])
    assert asked_of(ours, monkeypatch) == audited(24) + 24
    assert f"{damaged} is damaged; its answers are asked again" in caplog.text


@pytest.mark.parametrize("choices", [{"scoring": "unqover"}, {"precision": "bfloat16"}])
def test_other_settings_ask_all_again(
    ours: Cell, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.predict()
    assert asked_of(ours, monkeypatch, **choices) == audited(ALL) + ALL
    assert asked_of(ours, monkeypatch) == 0


def test_another_checkpoint_is_asked_all_again(
    ours: Cell, tiny_checkpoint: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.predict()
    other = Cell(ours.folder, TASK, ours.instances, tiny_checkpoint("roberta", TASK))
    assert asked_of(other, monkeypatch) == audited(ALL) + ALL


def test_finished_shards_are_copied_where_there_are_no_links(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    ours.predict()
    (finished,) = ours.finished
    assert not finished.samefile(ours.out)
    assert finished.read_bytes() == ours.out.read_bytes()


def test_answers_of_another_model_are_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = asked([{"text": f"Is {number} a number?"} for number in range(4)])
    one, other = (
        Cell(
            tmp_path / str(seed),
            "text-generation",
            rows,
            tmp_path,
            "random",
            {"random": {"seed": seed}},
        )
        for seed in (1, 2)
    )
    first, second = one.predict(answer="text"), other.predict(answer="text")
    assert not first.equals(second)
    other.finished[0].write_bytes(one.finished[0].read_bytes())
    assert other.predict(answer="text").equals(second)
    assert "belongs to another model; its answers are asked again" in caplog.text
