"""The answers that a model has given in earlier runs, found by the key of what was asked.

A folder holds answers of one model under the same settings and code: of finished shards as `NAME.parquet` with their
keys in `NAME.keys`, and of slices of unfinished ones as `NAME/START.parquet`, with their keys. NAME is a digest of the
shard's keys, so that shards of other lists, of another limit or of another number of shards stand beside each other.
Snakemake, which deletes the outputs of a job before the job, does not know of it. It may be removed: what it held is
asked again when it is needed. Tables of finished shards that earlier versions kept have their keys in them.
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.files import whole_file
from biasgrid.inference.models.kept_keys import find_keys, keys_beside, write_keys
from biasgrid.tables.files import (
    TableError,
    empty_table,
    read_column_types,
    read_provenance,
    read_rows,
    read_table,
    write_table,
)
from biasgrid.tables.schema import schema_with_keys

logger = logging.getLogger(__name__)


@dataclass
class Answers:
    """What a model has answered of a shard.

    Attributes:
        finished: of finished shards, which were audited there.
        parts: others.
        audits: the audits, by the names of the shards which made them.
        devices: what gave these answers.
        seconds: how long the parts took.
    """

    finished: pl.DataFrame
    parts: pl.DataFrame
    audits: dict[str, Any] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    seconds: float = 0

    def add_part(self, answers: pl.DataFrame, seconds: float, device: str) -> None:
        """Adds answers that took some seconds on a device."""
        self.parts.extend(answers)
        self.seconds += seconds
        self.devices.add(device)


class AnswerStore:
    """The store of what a shard's model has answered."""

    def __init__(self, folder: Path, schema: pa.DataFrameSchema, instances: pl.DataFrame):
        """Looks at nothing yet.

        Args:
            folder: the folder.
            schema: the schema of predictions of the answers' kind.
            instances: what the shard asks, with keys.
        """
        self.folder = folder
        self.predictions_schema = schema
        self.schema = schema_with_keys(schema)
        self.asked = instances.select("instance", "key")
        self.name = sha256(instances["key"].to_numpy().tobytes()).hexdigest()[:16]

    @property
    def parts(self) -> Path:
        """Where the parts of this shard are, until it is done."""
        return self.folder / self.name

    def find(self) -> Answers:
        """Finds answers to what the shard asks; damaged files are skipped with a warning."""
        left = self.asked
        answers = Answers(empty_table(self.schema), empty_table(self.schema))
        for path in [*sorted(self.folder.glob("*.parquet")), *sorted(self.folder.glob("*/*.parquet"))]:
            try:
                found, facts = self._answers_in(path, left), read_provenance(path, anywhere=True)
            except TableError as error:
                # Another shard that is done by now has removed its parts.
                if path.exists():
                    logger.warning("%s is damaged; its answers are asked again (%s)", path, error)
                continue
            if found.is_empty():
                continue
            if facts.get("store", self.folder.name) != self.folder.name:
                logger.warning("%s belongs to another model; its answers are asked again", path)
                continue
            left = left.join(found, on="key", how="anti")
            if path.parent == self.folder:
                answers.finished.extend(found)
                answers.audits |= facts["audits"]
                answers.devices |= set(facts["devices"])
            else:
                answers.add_part(found, facts["seconds"] * len(found) / facts["rows"], facts["device"])
        return answers

    def _answers_in(self, path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
        """Returns the answers in a file to what is wanted, under the instances' numbers of now."""
        if "key" in read_column_types(path, str(self.schema.name)):
            return self._answers_beside_keys(path, wanted)
        found = find_keys(keys_beside(path), wanted)
        # Most files of a cell of many shards have none.
        if found.is_empty():
            return empty_table(self.schema)
        answers = read_rows(path, self.predictions_schema, found["row"].to_numpy().astype(np.int64))
        return answers.with_columns(found["instance"], found["key"]).select(list(self.schema.columns))

    def _answers_beside_keys(self, path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
        """Returns such answers of a file that has the keys itself."""
        if read_table(path, self.schema, ["key"], anywhere=True).join(wanted, on="key", how="semi").is_empty():
            return empty_table(self.schema)
        answers = read_table(path, self.schema, anywhere=True).drop("instance")
        answers = answers.join(wanted, on="key", maintain_order="left")
        return answers.select(list(self.schema.columns))

    def write_part(self, start: int, answers: pl.DataFrame, seconds: float, device: str) -> None:
        """Keeps answers of an unfinished shard.

        Args:
            start: where the slice begins in the shard that they are of.
            answers: the answers.
            seconds: how long they took.
            device: what gave them.
        """
        facts = {"seconds": seconds, "device": device, "rows": len(answers), "store": self.folder.name}
        write_table(answers, self.parts / f"{start}.parquet", self.schema, facts)

    def keep(self, predictions: Path) -> None:
        """Keeps the table of the finished shard, which takes no room of its own while it stays, and drops its parts."""
        kept = self.folder / f"{self.name}.parquet"
        write_keys(self.asked["key"], keys_beside(kept))
        with whole_file(kept) as partial:
            link_or_copy(predictions, partial)
        shutil.rmtree(self.parts, ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Gives a file a second name, or a copy where the file system knows no such names."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
