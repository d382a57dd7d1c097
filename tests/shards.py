"""Runs shards the way rule predict does: instances and a record on disk, a predictions table out of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from biasgrid.models.back_end import BackEnd
from biasgrid.models.checkpoint import load_model
from biasgrid.models.fetch import make_record
from biasgrid.models.predict import BACK_ENDS, predict_shard
from biasgrid.models.settings import Settings
from biasgrid.table_files import read_table, write_table


@dataclass
class Cell:
    """A checkpoint and the instances that it is asked."""

    folder: Path
    task: str
    instances: pl.DataFrame
    checkpoint: Path
    kind: str = "pairs"

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_table(self.instances, self.folder / "instances.parquet", self.back_end.instances, {})
        record = make_record(None, str(self.checkpoint), None, weights=True, allow_pickle=False)
        (self.folder / "model.json").write_text(json.dumps(record))

    @property
    def back_end(self) -> type[BackEnd]:
        return BACK_ENDS[self.kind, self.task]

    @property
    def out(self) -> Path:
        return self.folder / "predictions.parquet"

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def predict(self, shard: int = 1, shards: int = 1, **choices: Any) -> pl.DataFrame:
        """Predicts one shard and returns the table that was written."""
        standard: dict[str, Any] = {
            "scoring": "exact",
            "precision": "float32",
            "pronouns": {},
            "token_budget": 512,
            "device": "cpu",
            "model": "tiny",
            "seconds_without_progress": 600,
            "target_scoring": "joint" if self.kind == "cases" else None,
        }
        settings = Settings(task=self.task, instances=self.kind, **(standard | choices))
        paths = self.folder / "instances.parquet", self.folder / "model.json", self.out, self.folder / "timing.json"
        predict_shard(*paths, shard, shards, self.parts, settings, {"seed": 7})
        return read_table(self.out, self.back_end.schema)

    def predict_all(self, shards: int, **choices: Any) -> pl.DataFrame:
        return pl.concat(self.predict(shard, shards, **choices) for shard in range(1, shards + 1))


def largest_difference(ours: pl.DataFrame, theirs: pl.DataFrame) -> float:
    """How far the probabilities of two tables of the same rows are apart."""
    assert ours["instance"].to_list() == theirs["instance"].to_list()
    floats = (pl.Float32, pl.List(pl.Float32))
    columns = [name for name, kind in ours.schema.items() if kind in floats and ours[name].null_count() == 0]
    return max(float((flat(ours[name]) - flat(theirs[name])).abs().max()) for name in columns)  # type: ignore[arg-type]


def flat(column: pl.Series) -> pl.Series:
    """The numbers of a column, one after the other."""
    return column.explode() if column.dtype == pl.List else column


def hook_model(monkeypatch: pytest.MonkeyPatch, before: Callable[[torch.Tensor], None]) -> None:
    """Calls a function with the token ids (rows, length) of every batch before a model sees them."""

    def load(*arguments: Any) -> Any:
        model = load_model(*arguments)
        model.register_forward_pre_hook(lambda _model, _args, inputs: before(inputs["input_ids"]), with_kwargs=True)
        return model

    monkeypatch.setattr("biasgrid.models.predict.load_model", load)


def interrupt(cell: Cell, written: int, monkeypatch: pytest.MonkeyPatch, **choices: Any) -> None:
    """Runs a cell until so many parts are written."""

    def stop(_ids: torch.Tensor) -> None:
        if len(list(cell.parts.rglob("*.parquet"))) == written:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        hook_model(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            cell.predict(**choices)
    assert not cell.out.exists()


def count_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which the rows of every batch are added."""
    counts: list[int] = []
    hook_model(monkeypatch, lambda ids: counts.append(len(ids)))
    return counts


def refuse_batches(ids: torch.Tensor) -> None:
    """For `hook_model`: a memory into which no batch of more than one row fits."""
    if len(ids) > 1:
        raise torch.OutOfMemoryError("CUDA out of memory")
