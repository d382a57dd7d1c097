"""Runs shards the way rule predict does: instances and a record on disk, a predictions table out of
them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from small_tables import with_keys

from biasgrid.inference.checkpoints.checkpoint import load_recorded_model
from biasgrid.inference.checkpoints.fetch import make_keys_record, make_record
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.answer_store import AnswerStore
from biasgrid.inference.models.predict import ShardFiles, predict_shard
from biasgrid.inference.models.registry import BACK_ENDS
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.provenance import pooled_audit
from biasgrid.tables.schema import answer_schema


def audited(rows: int) -> int:
    """How many of some rows are audited."""
    return min(rows, 32, max(8, rows // 8))


def asked(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Instances with the given texts and lists of candidates."""
    columns = {name: [row.get(name) for row in rows] for name in ("system", "text", "text_pair")}
    words = [row.get("candidates") or [] for row in rows]
    for place in range(max(map(len, words))):
        columns[f"candidate{place + 1}"] = [
            each[place] if place < len(each) else None for each in words
        ]
    return keyed(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Categorical)))


def keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with their numbers and keys, as an expansion gives them."""
    numbers = pl.int_range(pl.len(), dtype=pl.UInt32).alias("instance")
    return with_keys(frame.with_columns(numbers))


@dataclass
class Cell:
    """A model and the instances that it is asked; `keys` are those of a model that is no
    checkpoint.
    """

    folder: Path
    task: str
    instances: pl.DataFrame
    checkpoint: Path
    source: str = "weights"
    keys: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        schema = schema_of_instances({}, self.instances.schema)
        write_table(
            self.instances.select(list(schema.columns)),
            self.folder / "instances.parquet",
            schema,
            {},
        )
        (self.folder / "model.json").write_text(json.dumps(self.record))

    @property
    def record(self) -> dict[str, Any]:
        """The record of the checkpoint, or of the keys where it is none."""
        if self.keys:
            return make_keys_record(self.keys)
        return make_record(
            checkpoint=None,
            folder=str(self.checkpoint),
            revision=None,
            weights=True,
            allow_pickle=False,
        )

    @property
    def out(self) -> Path:
        return self.folder / "predictions.parquet"

    @property
    def answers(self) -> Path:
        return self.folder / "answers"

    @property
    def parts(self) -> list[Path]:
        """Those of shards that are not done."""
        return sorted(self.answers.glob("*/*/*.parquet"))

    @property
    def finished(self) -> list[Path]:
        """The shards that the store of answers holds."""
        return sorted(self.answers.glob("*/*.parquet"))

    @property
    def audit(self) -> dict[str, float]:
        return pooled_audit(read_provenance(self.out)["audits"].values()) or {}

    @property
    def timing(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "timing.json").read_text()))

    def with_instances(self, instances: pl.DataFrame) -> "Cell":
        """The cell after its dataset was changed: it asks something else, and knows what was
        answered.
        """
        return replace(self, instances=instances)

    def predict(self, shard: int = 1, shards: int = 1, **choices: Any) -> pl.DataFrame:
        """Predicts one shard and returns the table that was written."""
        entry = BACK_ENDS[self.task, self.source]
        standard: dict[str, Any] = {
            "precision": "float32",
            "token_budget": 512,
            "device": "cpu",
            "model": "tiny",
            "seconds_without_progress": 600,
            "answer": entry.answers[0],
            "section": {},
            "log": None,
        }
        capabilities = choices.pop("capabilities", None)
        named = {name: choices.pop(name) for name in standard if name in choices}
        settings = InferenceSettings(task=self.task, choices=choices, **(standard | named))
        files = ShardFiles(
            self.folder / "instances.parquet",
            self.folder / "model.json",
            self.out,
            self.folder / "timing.json",
            self.answers,
            self.answers / f"{shard}-of-{shards}.json",
            capabilities,
        )
        path = entry.class_path(settings.answer)
        predict_shard(files, shard, shards, path, settings, {"seed": 7})
        return read_table(self.out, answer_schema(settings.answer))

    def predict_anew(self, shard: int = 1, shards: int = 1, **choices: Any) -> pl.DataFrame:
        """Predicts one shard, whatever was answered before."""
        for path in [*self.finished, *self.parts]:
            path.unlink()
        return self.predict(shard, shards, **choices)

    def predict_all(self, shards: int, **choices: Any) -> pl.DataFrame:
        """Predicts all shards, whatever was answered before."""
        return pl.concat(
            self.predict_anew(shard, shards, **choices) for shard in range(1, shards + 1)
        )


def largest_difference(ours: pl.DataFrame, theirs: pl.DataFrame) -> float:
    """How far the probabilities of two tables of the same rows are apart."""
    assert ours["instance"].to_list() == theirs["instance"].to_list()
    floats = (pl.Float32, pl.List(pl.Float32))
    columns = [
        name for name, kind in ours.schema.items() if kind in floats and flat(ours[name]).count()
    ]
    return max(float((flat(ours[name]) - flat(theirs[name])).abs().max()) for name in columns)  # type: ignore[arg-type]


def flat(column: pl.Series) -> pl.Series:
    """The numbers of a column, one after the other."""
    return column.explode() if isinstance(column.dtype, pl.List) else column


def hook_model(monkeypatch: pytest.MonkeyPatch, before: Callable[[torch.Tensor], None]) -> None:
    """Calls a function with the token ids (rows, length) of every batch before a model sees
    them.
    """

    def load(*arguments: Any) -> Any:
        model = load_recorded_model(*arguments)
        model.register_forward_pre_hook(
            lambda _model, _args, inputs: before(inputs["input_ids"]), with_kwargs=True
        )
        return model

    monkeypatch.setattr("biasgrid.inference.engine.loading.load_recorded_model", load)


def interrupt(
    cell: Cell,
    written: int,
    monkeypatch: pytest.MonkeyPatch,
    shard: int = 1,
    shards: int = 1,
    **choices: Any,
) -> None:
    """Runs a shard that was not asked before until so many parts are written."""
    for path in cell.finished:
        path.unlink()
    cell.out.unlink(missing_ok=True)

    def write_part(store: AnswerStore, *part: Any) -> None:
        if len(cell.parts) == written:
            raise KeyboardInterrupt
        write(store, *part)

    write = AnswerStore.write_part
    with monkeypatch.context() as patch:
        patch.setattr(AnswerStore, "write_part", write_part)
        patch.setattr("biasgrid.inference.models.predict.SECONDS_A_FILE", 0)
        with pytest.raises(KeyboardInterrupt):
            cell.predict(shard, shards, **choices)
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
