"""Work beside the program, and parts that are begun before the first one is read."""

from collections.abc import Callable, Iterator

import polars as pl
import pytest
import torch
from shards import Cell
from small_tables import check_alike

from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.engine.chunks import chunk_beginnings
from biasgrid.inference.engine.local import PARTS_AHEAD
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.engine.worker import StoppedError, Worker
from biasgrid.inference.models.extractive.back_end import QuestionAnswering
from biasgrid.jobs.progress import Progress

TASK = "question-answering"


def test_work_ends_with_the_program_at_its_next_step() -> None:
    with Worker() as worker:
        step = worker.checked(lambda _: None)

        def endless() -> None:
            while True:
                step(1)

        working, waiting = worker.submit(endless), worker.submit(endless)
    with pytest.raises(StoppedError):
        working.result()
    assert waiting.cancelled()


def test_what_goes_wrong_in_work_is_told_to_who_waits_for_it() -> None:
    def broken() -> None:
        raise KeyboardInterrupt

    with Worker() as worker, pytest.raises(KeyboardInterrupt):
        worker.submit(broken).result()


def test_parts_are_answered_in_their_order_and_the_next_ones_are_begun(
    cell: Callable[[str, str], Cell],
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings("tiny", TASK, "float32", 512, "cpu", 600, "span")
    back_end = QuestionAnswering.open(read_record(ours.folder / "model.json"), settings, asked)
    taken: list[int] = []

    def parts() -> Iterator[pl.DataFrame]:
        for start in range(0, len(asked), 8):
            taken.append(start)
            yield asked.slice(start, 8)

    with Progress("rows", len(asked), 600) as progress:
        whole = back_end.answer(asked, progress)
        answered = back_end.answer_parts(parts(), progress)
        first = next(answered)
        assert len(taken) == 1 + PARTS_AHEAD
        in_parts = pl.concat([first, *answered])
    assert in_parts["answer"].cast(pl.String).equals(whole["answer"].cast(pl.String))
    assert (in_parts["probability"] - whole["probability"]).abs().max() < 1e-6  # type: ignore[operator]
    assert progress.done == 2 * len(asked)


def test_instances_are_tokenized_in_pieces_while_a_device_computes(
    cell: Callable[[str, str], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings("tiny", TASK, "float32", 512, "cpu", 600, "span")
    record = read_record(ours.folder / "model.json")

    def said() -> pl.DataFrame:
        back_end = QuestionAnswering.open(record, settings, asked)
        # The third part stands in two pieces.
        parts = [asked.slice(start, 8) for start in range(0, len(asked), 8)]
        with Progress("rows", len(asked), 600) as progress:
            return pl.concat(back_end.answer_parts(parts, progress))

    at_once = said()
    gpu = chunk_beginnings(100, torch.device("cuda"))
    monkeypatch.setattr("biasgrid.inference.engine.chunks.FIRST", 4)
    assert (
        gpu
        == chunk_beginnings(4, torch.device("cuda"))
        == chunk_beginnings(100, torch.device("cpu"))
        == [0]
    )
    assert chunk_beginnings(100, torch.device("cuda")) == [0, 4, 20, 84]
    monkeypatch.setattr(
        "biasgrid.inference.engine.chunks.chunk_beginnings", lambda count, _: [0, 8, 20]
    )
    check_alike(said(), at_once)
