"""Shards of many rows, which are answered range by range; and answers that are written together."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from shards import Cell, asked, audited, count_rows, interrupt, largest_difference
from small_tables import check_alike

from biasgrid.inference.models import predict
from biasgrid.inference.models.answer_store import AnswerStore, PartCost
from biasgrid.inference.models.kept_keys import RowRange, keys_path
from biasgrid.tables.files import read_provenance
from biasgrid.tables.schema import answer_schema

Cells = Callable[[str, str], Cell]
TASK = "question-answering"
ALL, PART, RANGE = 48, 7, 21
RANGES = (21, 21, 6)


@pytest.fixture
def ours(cell: Cells, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A cell that has not been asked."""
    monkeypatch.setattr(predict, "ROWS_A_PART", PART)
    return cell("bert", TASK)


def ranges_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "ROWS_IN_MEMORY", RANGE)


def random_cell(folder: Path, rows: int) -> Cell:
    texts = asked([{"text": f"Is {number} a number?"} for number in range(rows)])
    return Cell(folder, "text-generation", texts, folder, "random", {"random": {"seed": 1}})


def test_a_shard_in_ranges_has_the_same_answers(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ours.predict()
    ranges_from_here(monkeypatch)
    shutil.rmtree(ours.answers)
    check_alike(ours.predict(), whole)
    (kept,) = ours.finished
    assert kept.samefile(ours.out)
    assert list(kept.parent.glob("*.keys")) == [keys_path(kept)]
    facts = read_provenance(ours.out)
    assert sorted(audit["rows"] for audit in facts["audits"].values()) == sorted(
        map(audited, RANGES)
    )
    assert facts["kept_as"] == kept.stem
    assert (ours.timing["rows"], ours.timing["found"]) == (ALL, 0)


def test_what_was_answered_in_ranges_is_found_by_every_shard(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges_from_here(monkeypatch)
    whole = ours.predict()
    before = ours.out.read_bytes()
    counts = count_rows(monkeypatch)
    assert ours.predict().equals(whole)
    assert ours.out.read_bytes() == before
    assert ours.timing["found"] == ALL
    assert pl.concat(ours.predict(shard, 4) for shard in (1, 2, 3, 4)).equals(whole)
    # Another table of instances has other rows; it is the keys by which it finds them.
    other = ours.with_instances(ours.instances.reverse())
    assert largest_difference(other.predict().sort("instance"), whole) == 0
    assert counts == []


@pytest.mark.parametrize("written", [1, 4])
def test_a_killed_shard_goes_on_in_its_range(
    ours: Cell, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges_from_here(monkeypatch)
    uninterrupted = ours.predict()
    stop_after(ours, written, monkeypatch)
    counts = count_rows(monkeypatch)
    check_alike(ours.predict(), uninterrupted)
    done = written // 3
    assert sum(counts) == ALL - written * PART + sum(audited(rows) for rows in RANGES[done:])
    assert len(ours.finished) == 1
    assert not ours.parts


def stop_after(cell: Cell, written: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a shard anew until so many parts are written, of which those of whole ranges are there
    no more.
    """
    left = written

    def write_part(store: AnswerStore, *part: object) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        write(store, *part)  # type: ignore[arg-type]

    write = AnswerStore.write_part
    for path in cell.finished:
        path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(AnswerStore, "write_part", write_part)
        patch.setattr(predict, "SECONDS_A_FILE", 0)
        with pytest.raises(KeyboardInterrupt):
            cell.predict()


def test_a_new_shard_reads_no_kept_key_of_its_table(
    ours: Cell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = ours.predict(1, 2)
    (kept,) = ours.finished
    facts = read_provenance(keys_path(kept), anywhere=True)
    assert facts["asked_rows"][1:] == [0, len(first)]
    kept.write_bytes(b"")
    ours.predict(2, 2)
    assert "is damaged" not in caplog.text
    assert ours.timing["found"] == 0
    ours.predict(1, 1)
    assert f"{kept} is damaged" in caplog.text
    assert ours.timing["found"] == ALL - len(first)


def test_answers_of_some_seconds_are_written_together(
    ours: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[int] = []

    def write_part(store: AnswerStore, answers: pl.DataFrame, cost: PartCost) -> None:
        parts.append(len(answers))
        write(store, answers, cost)

    write = AnswerStore.write_part
    monkeypatch.setattr(AnswerStore, "write_part", write_part)
    monkeypatch.setattr(predict, "SECONDS_A_FILE", 3600)
    together = ours.predict()
    assert parts == [ALL]
    parts.clear()
    monkeypatch.setattr(predict, "SECONDS_A_FILE", 0)
    check_alike(ours.predict_anew(), together)
    assert parts == [min(PART, ALL - start) for start in range(0, ALL, PART)]


def test_an_ended_job_writes_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "ROWS_A_PART", 2)
    ours = random_cell(tmp_path, 10)
    whole = ours.predict(answer="text")
    for path in ours.finished:
        path.unlink()

    def end_at_third(self: predict.AnswerBuffer, table: pl.DataFrame) -> None:
        if table["instance"][0] == 4:
            raise SystemExit
        add(self, table)

    add = predict.AnswerBuffer.add
    with monkeypatch.context() as patch:
        patch.setattr(predict.AnswerBuffer, "add", end_at_third)
        with pytest.raises(SystemExit):
            ours.predict(answer="text")
    (part,) = ours.parts
    assert pl.read_parquet(part)["instance"].to_list() == [0, 1, 2, 3]
    assert ours.predict(answer="text").equals(whole)


def test_a_part_replaces_no_other(
    ours: Cell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(ours, 2, monkeypatch)
    kept = {path: path.read_bytes() for path in ours.parts}
    store = AnswerStore(
        ours.parts[0].parents[1],
        answer_schema("span"),
        ours.instances,
        RowRange("a table", 0, len(ours.instances)),
    )
    assert store.parts_folder == ours.parts[0].parent
    store.write_part(store.find().parts.head(3), PartCost(1.0, "cpu", None))
    assert len(ours.parts) == 3
    assert {path: path.read_bytes() for path in kept} == kept
