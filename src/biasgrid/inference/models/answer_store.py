"""The store of answers from earlier runs, found by the keys of their prompts.

A folder has the answers of one model under the same settings and code:

- `NAME.parquet` and its keys, `NAME.keys`, for each finished shard;
- `NAME/RANDOM.parquet`, with a column of keys, for each part of an unfinished shard.

NAME is a digest of the shard's keys, so that shards of other word lists, of another sample or of
another number of shards do not collide. A shard of many rows is answered range by range; ranges are
kept like shards until all of them are done.

Snakemake deletes the outputs of a job before it starts the job; it does not know this folder. The
folder may be removed: its answers are asked again when they are needed.
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
from typing import Any, NamedTuple

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.inference.input_counts import InputCounts, add_if_known
from biasgrid.inference.models.kept_keys import (
    ASKED_ROWS,
    RowRange,
    find_keys,
    join_keys,
    keys_path,
    row_range,
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
from biasgrid.tables.provenance import ANSWERED_AS, KEPT_AS, digest, names_fact
from biasgrid.tables.schema import schema_with_keys

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 8 * ROWS_A_GROUP
"""How many rows are in memory while tables are joined."""


class PartCost(NamedTuple):
    """The cost of a part of a shard's answers.

    Attributes:
        seconds: how long they took.
        device: the device that computed them.
        inputs: what was read for them; None if that is unknown.
    """

    seconds: float
    device: str
    inputs: InputCounts | None

    def share(self, share: float) -> PartCost:
        """Returns the cost of a share of the answers."""
        inputs = None if self.inputs is None else self.inputs.times(share)
        return PartCost(self.seconds * share, self.device, inputs)


@dataclass
class Answers:
    """The answers to a shard, from earlier runs and from this one; `instance`, `key` and columns.

    Attributes:
        from_finished: answers from finished shards, which were audited there.
        parts: all other answers.
        audits: the audits, by the names of the shards that made them.
        devices: the devices that computed the answers.
        seconds: how long the answers in `parts` took.
        inputs: what was read for these; None if that is unknown.
        answered_as: the names under which an endpoint gave the answers; empty for others.
    """

    from_finished: pl.DataFrame
    parts: pl.DataFrame
    audits: dict[str, Any] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    seconds: float = 0
    inputs: InputCounts | None = field(default_factory=InputCounts)
    answered_as: set[str] = field(default_factory=set)

    def add_part(self, answers: pl.DataFrame, cost: PartCost) -> None:
        """Adds answers to `parts`; they have all of its columns."""
        self.parts.extend(answers)
        self.seconds += cost.seconds
        self.inputs = add_if_known(self.inputs, cost.inputs)
        self.devices.add(cost.device)


class AnswerStore:
    """The store as one shard, or one range of its rows, sees it.

    Attributes:
        folder: the folder of the store.
        predictions_schema: the schema of predictions of the answer kind.
        schema: the same with `key`.
        rows: the rows of the table of instances that the shard asks.
        instances: `instance`, `key` and `instance_row` of each of these rows.
        keys: their keys.
        name: the name of the shard's files.
    """

    def __init__(
        self, folder: Path, schema: pa.DataFrameSchema, instances: pl.DataFrame, rows: RowRange
    ):
        """Reads nothing yet.

        Args:
            folder: the folder of the store, which need not exist.
            schema: the schema of predictions of the answer kind.
            instances: the prompts of the shard, with keys.
            rows: their rows in the table of instances.
        """
        self.folder = folder
        self.predictions_schema = schema
        self.schema = schema_with_keys(schema)
        self.rows = rows
        self.instances = instances.select("instance", "key").with_row_index(
            "instance_row", rows.start
        )
        self.keys = instances["key"]
        self.name = sha256(self.keys.to_numpy().tobytes()).hexdigest()[:16]

    @property
    def parts_folder(self) -> Path:
        """The folder of the shard's parts, until the shard is finished."""
        return self.folder / self.name

    @property
    def table(self) -> Path:
        """The table of the shard, once it is finished."""
        return self.folder / f"{self.name}.parquet"

    def find(self) -> Answers:
        """Finds answers to the shard's prompts; damaged files are skipped with a warning."""
        open_instances = self.instances
        answers = Answers(empty_table(self.schema), empty_table(self.schema))
        for path in self._kept_files():
            if open_instances.is_empty():
                break
            try:
                table, facts = self._read_answers(path, open_instances)
            except TableError as error:
                # A file that is gone was a part of another shard, which has just finished.
                if path.exists():
                    logger.warning("%s is damaged; its answers are asked again (%s)", path, error)
                continue
            if table.is_empty():
                continue
            # Somebody may have copied files from the folder of another model.
            if facts.get("store", self.folder.name) != self.folder.name:
                logger.warning("%s belongs to another model; its answers are asked again", path)
                continue
            open_instances = open_instances.join(table, on="key", how="anti")
            if path.parent == self.folder:
                answers.from_finished.extend(table)
                answers.audits |= facts["audits"]
                answers.devices |= set(facts["devices"])
                answers.answered_as |= set(facts.get(ANSWERED_AS, ()))
            else:
                answers.add_part(table, part_cost(facts).share(len(table) / facts["rows"]))
        return answers

    def _kept_files(self) -> Iterator[Path]:
        """Yields the tables of finished shards, this one's first, and then the parts of
        unfinished shards, this one among them.
        """
        yield from sorted(
            self.folder.glob("*.parquet"), key=lambda path: (path != self.table, path)
        )
        yield from sorted(self.folder.glob("*/*.parquet"))

    def _read_answers(
        self, path: Path, instances: pl.DataFrame
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Returns a file's answers to some instances, with their present `instance`, and its
        provenance, which may be empty if there are no answers.

        Raises:
            TableError: the file or its keys are missing or damaged.
        """
        if path.parent != self.folder:
            return self._read_part(path, instances)
        matches = find_keys(keys_path(path), instances, self.rows)
        # Most files of a cell of many shards have none; the table is not even opened.
        if matches.is_empty():
            return empty_table(self.schema), {}
        rows = matches["row"].to_numpy().astype(np.int64)
        answers = read_table_rows(path, self.predictions_schema, rows)
        # Both are in the order of rows.
        answers = answers.with_columns(matches["instance"], matches["key"])
        return answers.select(list(self.schema.columns)), read_provenance(path, anywhere=True)

    def _read_part(
        self, path: Path, instances: pl.DataFrame
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Reads a part of an unfinished shard, see `_read_answers`."""
        facts = read_provenance(path, anywhere=True)
        no_answers = empty_table(self.schema), facts
        if self.rows.excludes(row_range(path, facts)):
            return no_answers
        keys = read_table(path, self.schema, ["key"], anywhere=True)
        if keys.join(instances, on="key", how="semi").is_empty():
            return no_answers
        answers = read_table(path, self.schema, anywhere=True).drop("instance")
        answers = answers.join(instances, on="key", maintain_order="left")
        return answers.select(list(self.schema.columns)), facts

    def write_part(self, answers: pl.DataFrame, cost: PartCost) -> None:
        """Writes answers of an unfinished shard to a file of their own.

        Args:
            answers: `instance`, `key` and all columns of the answer kind.
            cost: their cost.
        """
        facts = {
            **cost._asdict(),
            "rows": len(answers),
            "store": self.folder.name,
            ASKED_ROWS: self.rows,
        }
        write_table(answers, self.parts_folder / f"{token_hex(8)}.parquet", self.schema, facts)

    def keep(self, answers: pl.DataFrame, facts: Mapping[str, Any]) -> None:
        """Writes the table of the finished shard, and removes its parts.

        Args:
            answers: the answers to all of its instances, in their order, without `key`.
            facts: the provenance of the table.
        """
        # Keys first: a table without keys would be taken for damaged.
        write_keys(self.keys, keys_path(self.table), self.rows)
        write_table(answers, self.table, self.predictions_schema, facts)
        shutil.rmtree(self.parts_folder, ignore_errors=True)


def part_cost(facts: Mapping[str, Any]) -> PartCost:
    """Returns the cost of a part by the provenance that `AnswerStore.write_part` gave it."""
    inputs = facts["inputs"]
    return PartCost(facts["seconds"], facts["device"], inputs and InputCounts(*inputs))


def join_tables(tables: Sequence[Path], schema: pa.DataFrameSchema) -> Path:
    """Replaces the tables of a shard's ranges, and their keys, by one table with its keys.

    Only a few row groups are in memory at a time.

    Args:
        tables: the tables, in the order of their rows; they are removed.
        schema: their schema.

    Returns:
        The joined table, whose provenance has the audits, devices and names of all.
    """
    facts = [read_provenance(table, anywhere=True) for table in tables]
    joined_name = digest([table_facts[KEPT_AS] for table_facts in facts])[:16]
    audits: dict[str, Any] = {}
    devices: set[str] = set()
    names: set[str] = set()
    for table_facts in facts:
        audits |= table_facts["audits"]
        devices |= set(table_facts["devices"])
        names |= set(table_facts.get(ANSWERED_AS, ()))
    joined_table = tables[0].with_stem(joined_name)
    keys = [keys_path(table) for table in tables]

    def parts() -> Iterator[pl.DataFrame]:
        for table in tables:
            for start in range(0, count_rows(table), ROWS_AT_ONCE):
                rows = range(start, start + ROWS_AT_ONCE)
                yield read_table(table, schema, anywhere=True, rows=rows)

    join_keys(keys, keys_path(joined_table))
    joined_facts: dict[str, Any] = {"audits": audits, "devices": sorted(devices)}
    joined_facts |= {KEPT_AS: joined_name, **names_fact(names)}
    write_table_in_parts(parts(), joined_table, schema, facts[0] | joined_facts)
    for path in (*tables, *keys):
        path.unlink()
    return joined_table


def link_or_copy(source: Path, target: Path) -> None:
    """Makes a hard link, or a copy if the file system has no hard links.

    Raises:
        OSError: neither is possible.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
