"""The answers that a model has given in earlier runs, found by the key of what was asked.

A folder holds answers of one model under the same settings and code: of finished shards as
`NAME.parquet` with their keys in `NAME.keys`, and of unfinished ones as `NAME/RANDOM.parquet`, with
their keys. NAME is a digest of the shard's keys, so that shards of other lists, of another limit or
of another number of shards stand beside each other. A shard of many rows is answered range by
range; these are kept like shards until all of them are done. Snakemake, which deletes the outputs
of a job before the job, does not know of it. It may be removed: what it held is asked again when it
is needed.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.inference.models.kept_keys import (
    ASKED_ROWS,
    AskedRows,
    asked_rows_of,
    find_keys,
    join_keys,
    keys_beside,
    write_keys,
)
from biasgrid.tables.files import (
    ROWS_A_GROUP,
    TableError,
    count_rows,
    empty_table,
    read_provenance,
    read_table,
    read_table_rows,
    write_table,
    write_table_in_parts,
)
from biasgrid.tables.provenance import KEPT_AS, digest
from biasgrid.tables.schema import schema_with_keys

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 8 * ROWS_A_GROUP
"""How many rows of tables are in memory when these are put together."""


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

    def __init__(
        self, folder: Path, schema: pa.DataFrameSchema, instances: pl.DataFrame, asked: AskedRows
    ):
        """Looks at nothing yet.

        Args:
            folder: the folder.
            schema: the schema of predictions of the answers' kind.
            instances: what the shard asks, with keys.
            asked: which rows of which table these are.
        """
        self.folder = folder
        self.predictions_schema = schema
        self.schema = schema_with_keys(schema)
        self.asked = asked
        self.instances = instances.select("instance", "key").with_row_index(
            "asked_row", asked.first
        )
        self.keys = instances["key"]
        self.name = sha256(self.keys.to_numpy().tobytes()).hexdigest()[:16]

    @property
    def parts(self) -> Path:
        """Where the parts of this shard are, until it is done."""
        return self.folder / self.name

    @property
    def table(self) -> Path:
        """Where the table of this shard is when it is done."""
        return self.folder / f"{self.name}.parquet"

    def find(self) -> Answers:
        """Finds answers to what the shard asks; damaged files are skipped with a warning."""
        left = self.instances
        answers = Answers(empty_table(self.schema), empty_table(self.schema))
        for path in self._kept_files():
            if left.is_empty():
                break
            try:
                found, facts = self._answers_in(path, left)
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
                answers.add_part(
                    found, facts["seconds"] * len(found) / facts["rows"], facts["device"]
                )
        return answers

    def _kept_files(self) -> Iterator[Path]:
        """Yields the tables of finished shards, this one's first, and then the parts of
        unfinished shards, this one among them.
        """
        yield from sorted(
            self.folder.glob("*.parquet"), key=lambda path: (path != self.table, path)
        )
        yield from sorted(self.folder.glob("*/*.parquet"))

    def _answers_in(self, path: Path, wanted: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Returns the answers in a file to what is wanted, under the instances' numbers of now, and
        its provenance.
        """
        if path.parent != self.folder:
            return self._answers_in_part(path, wanted)
        found = find_keys(keys_beside(path), wanted, self.asked)
        # Most files of a cell of many shards have none.
        if found.is_empty():
            return empty_table(self.schema), {}
        answers = read_table_rows(
            path, self.predictions_schema, found["row"].to_numpy().astype(np.int64)
        )
        answers = answers.with_columns(found["instance"], found["key"]).select(
            list(self.schema.columns)
        )
        return answers, read_provenance(path, anywhere=True)

    def _answers_in_part(
        self, path: Path, wanted: pl.DataFrame
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Returns the same of a part of an unfinished shard, which has its keys in a column."""
        facts = read_provenance(path, anywhere=True)
        nothing = empty_table(self.schema), facts
        if self.asked.excludes(asked_rows_of(path, facts)):
            return nothing
        if (
            read_table(path, self.schema, ["key"], anywhere=True)
            .join(wanted, on="key", how="semi")
            .is_empty()
        ):
            return nothing
        answers = read_table(path, self.schema, anywhere=True).drop("instance")
        answers = answers.join(wanted, on="key", maintain_order="left")
        return answers.select(list(self.schema.columns)), facts

    def write_part(self, answers: pl.DataFrame, seconds: float, device: str) -> None:
        """Keeps answers of an unfinished shard.

        Args:
            answers: the answers.
            seconds: how long they took.
            device: what they were computed on.
        """
        facts = {
            "seconds": seconds,
            "device": device,
            "rows": len(answers),
            "store": self.folder.name,
            ASKED_ROWS: self.asked,
        }
        write_table(answers, self.parts / f"{token_hex(8)}.parquet", self.schema, facts)

    def keep(self, answers: pl.DataFrame, facts: Mapping[str, Any]) -> None:
        """Keeps the table of the finished shard, and drops its parts.

        Args:
            answers: the answers to all that it asks, by the numbers of the instances.
            facts: what the table shall carry.
        """
        write_keys(self.keys, keys_beside(self.table), self.asked)
        write_table(answers, self.table, self.predictions_schema, facts)
        shutil.rmtree(self.parts, ignore_errors=True)


def keep_together(tables: Sequence[Path], schema: pa.DataFrameSchema) -> Path:
    """Keeps the tables of a shard's ranges as one, of which only a few row groups are in memory at
    a time.

    Args:
        tables: the tables, in the order of their rows; they are removed.
        schema: their schema.

    Returns:
        The table, whose provenance has the audits and devices of all.
    """
    facts = [read_provenance(table, anywhere=True) for table in tables]
    name = digest([each[KEPT_AS] for each in facts])[:16]
    audits = {name: audit for each in facts for name, audit in each["audits"].items()}
    devices = sorted({device for each in facts for device in each["devices"]})
    together, keys = tables[0].with_stem(name), [keys_beside(table) for table in tables]

    def parts() -> Iterator[pl.DataFrame]:
        for table in tables:
            for start in range(0, count_rows(table), ROWS_AT_ONCE):
                yield read_table(
                    table, schema, anywhere=True, rows=range(start, start + ROWS_AT_ONCE)
                )

    join_keys(keys, keys_beside(together))
    write_table_in_parts(
        parts(), together, schema, facts[0] | {"audits": audits, "devices": devices, KEPT_AS: name}
    )
    for path in (*tables, *keys):
        path.unlink()
    return together


def link_or_copy(source: Path, target: Path) -> None:
    """Gives a file a second name, or a copy where the file system knows no such names."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
