"""Work beside the program, and parts that are begun before the first one is read."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event

import polars as pl
import pytest
import torch
from shards import Cell
from small_tables import check_alike

from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.engine.back_end import PromptPart
from biasgrid.inference.engine.chunks import chunk_beginnings
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.local import PARTS_AHEAD
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.engine.worker import StoppedError, Worker
from biasgrid.inference.models.extractive.back_end import QuestionAnswering, SpanRows

TASK = "question-answering"
STRINGS = {pl.Categorical: pl.String}


def test_work_ends_with_the_program_at_its_next_step() -> None:
    with Worker() as worker:
        step = worker.stoppable(lambda _: None)

        def endless() -> None:
            while True:
                step(1)

        working, waiting = worker.submit(endless), worker.submit(endless)
    with pytest.raises(StoppedError):
        working.result()
    assert waiting.cancelled()


def test_an_error_in_work_is_raised_where_it_is_awaited() -> None:
    def broken() -> None:
        raise KeyboardInterrupt

    with Worker() as worker, pytest.raises(KeyboardInterrupt):
        worker.submit(broken).result()


def test_parts_are_answered_in_their_order_and_the_next_ones_are_begun(
    cell: Callable[[str, str], Cell],
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings(
        model="tiny",
        task=TASK,
        precision="float32",
        token_budget=512,
        device="cpu",
        seconds_without_progress=600,
        answer="span",
    )
    back_end = QuestionAnswering.open(read_record(ours.folder / "model.json"), settings, asked)
    taken: list[int] = []

    def parts() -> Iterator[PromptPart]:
        for start in range(0, len(asked), 8):
            taken.append(start)
            yield PromptPart.without_answers(asked.slice(start, 8))

    whole = pl.concat(back_end.answer([PromptPart.without_answers(asked)]))
    tables = back_end.answer(parts())
    first = next(tables)
    assert len(taken) == 1 + PARTS_AHEAD
    in_parts = pl.concat([first, *tables])
    assert in_parts["instance"].equals(asked["instance"])
    assert in_parts["answer"].cast(pl.String).equals(whole["answer"].cast(pl.String))
    assert (in_parts["probability"] - whole["probability"]).abs().max() < 1e-6  # type: ignore[operator]


def test_a_batch_of_answered_prompts_is_not_run_and_the_others_are_as_before(
    cell: Callable[[str, str], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings(
        model="tiny",
        task=TASK,
        precision="float32",
        token_budget=512,
        device="cpu",
        seconds_without_progress=600,
        answer="span",
    )
    back_end = QuestionAnswering.open(read_record(ours.folder / "model.json"), settings, asked)
    whole = pl.concat(back_end.answer([PromptPart.without_answers(asked)])).sort("instance")
    ran: list[int] = []
    run = back_end.run
    monkeypatch.setattr(
        back_end, "run", lambda encoded, batch: ran.append(len(batch.rows)) or run(encoded, batch)
    )
    for answered in (0, 1, 20, 47):
        ran.clear()
        is_answered = pl.Series([row < answered for row in range(len(asked))])
        rest = pl.concat(back_end.answer([PromptPart(asked, is_answered)])).sort("instance")
        # To the last bit: batches are as before.
        assert rest.cast(STRINGS).equals(whole.slice(answered).cast(STRINGS))
        assert len(asked) - answered <= sum(ran) <= len(asked)
    assert sum(ran) < len(asked)


def test_an_interruption_loses_no_batch_that_was_run(
    cell: Callable[[str, str], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings(
        model="tiny",
        task=TASK,
        precision="float32",
        token_budget=64,
        device="cpu",
        seconds_without_progress=600,
        answer="span",
    )
    back_end = QuestionAnswering.open(read_record(ours.folder / "model.json"), settings, asked)
    ran: list[int] = []
    run, is_third = back_end.run, Event()

    def slow_run(encoded: SpanRows, batch: Batch) -> dict[str, torch.Tensor]:
        if len(ran) == 3:
            is_third.set()
            time.sleep(1)
        outcome = run(encoded, batch)
        ran.append(len(batch.rows))
        return outcome

    def interrupted(futures: list[Future[None]], _seconds: float) -> None:
        is_third.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(back_end, "run", slow_run)
    monkeypatch.setattr("biasgrid.inference.engine.local.wait", interrupted)
    tables: list[pl.DataFrame] = []
    with pytest.raises(KeyboardInterrupt):
        tables.extend(back_end.answer([PromptPart.without_answers(asked)]))
    assert sum(map(len, tables)) == sum(ran[:3]) > 0


def test_instances_are_tokenized_in_pieces_while_a_device_computes(
    cell: Callable[[str, str], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    asked = ours.instances.cast({pl.String: pl.Categorical})
    settings = InferenceSettings(
        model="tiny",
        task=TASK,
        precision="float32",
        token_budget=512,
        device="cpu",
        seconds_without_progress=600,
        answer="span",
    )
    record = read_record(ours.folder / "model.json")

    def said() -> pl.DataFrame:
        back_end = QuestionAnswering.open(record, settings, asked)
        # The third part stands in two pieces.
        starts = range(0, len(asked), 8)
        parts = [PromptPart.without_answers(asked.slice(start, 8)) for start in starts]
        return pl.concat(back_end.answer(parts))

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
        "biasgrid.inference.engine.chunks.chunk_beginnings", lambda _count, _device: [0, 8, 20]
    )
    check_alike(said(), at_once)
