"""The stage `predict`: answers one shard of a dataset's instances with one model.

Answers of earlier runs are taken from the store of answers. The rest is asked in parts of a fixed
number of rows; the answers of some seconds are written together, within a part too, so that a
killed job goes on where it was. No more than a range of the shard's rows is in memory, however many
it has.
"""

from __future__ import annotations

import json
import logging
import resource
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandera.polars as pa
import polars as pl

from biasgrid.base.files import digest_file, whole_file, write_text
from biasgrid.base.references import load_reference
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.engine.back_end import BackEnd, PromptPart
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.answer_store import Answers, AnswerStore, keep_together, link_or_copy
from biasgrid.inference.models.kept_keys import AskedRows
from biasgrid.inference.models.prerequisites import check_record, read_capabilities
from biasgrid.jobs.progress import Progress
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.instances import ASKED_BEFORE, read_requests
from biasgrid.tables.keys import request_keys
from biasgrid.tables.provenance import KEPT_AS, digest
from biasgrid.tables.schema import answer_schema

logger = logging.getLogger(__name__)

ROWS_A_PART = 8192
"""How many rows are asked together: of these batches are made, and with other ones the last bits
would be others.
"""
SECONDS_A_FILE = 5
"""From here on what was answered is written: more files cost time, and fewer, where a job is
killed, more answers.
"""
ROWS_IN_MEMORY = 512 * ROWS_A_PART
"""How many rows of a shard are asked and audited as one; of larger shards the tables are put
together.
"""


class ShardFiles(NamedTuple):
    """Where the files of a shard lie.

    Attributes:
        instances: the instances table, of all shards.
        model: the record of the model's checkpoint.
        predictions: where the predictions table goes.
        timing: where the fields of `Timing` go, as JSON.
        answers: the folder of the cell's stores of answers.
        progress: where the job says how far it is; removed when the shard is done.
        able: what was found out that the model can do, None where nobody looked.
    """

    instances: Path
    model: Path
    predictions: Path
    timing: Path
    answers: Path
    progress: Path
    capabilities: Path | None = None


@dataclass(frozen=True)
class Timing:
    """How long a shard took. It is not part of the table, which is the same for every run of a
    config.

    Attributes:
        rows: how many rows it has.
        found: how many of them were found in shards that earlier runs have finished.
        seconds: how long answering the others took, over all runs that did.
        rows_per_second: the others by the seconds, None where there are none.
        peak_mb: most memory that the last run used, in MB.
        gpu_peak_mb: most memory of the GPU that it used, None on a CPU and where nothing was asked.
        device: what the answers were computed on: `cpu`, `server` or the name of a GPU; several
            are separated by commas, and none is "".
        host: the machine of the last run.
    """

    rows: int
    found: int
    seconds: float
    rows_per_second: float | None
    peak_mb: int
    gpu_peak_mb: int | None
    device: str
    host: str


@dataclass(frozen=True)
class ShardAnswers:
    """A shard that is answered.

    Attributes:
        instances: the prompts of the shard.
        settings: how to predict.
        back_end: the class that answers.
        record: the record of the model.
        store: the answers of earlier runs.
    """

    instances: pl.DataFrame
    settings: InferenceSettings
    back_end: type[BackEnd]
    record: Mapping[str, Any]
    store: AnswerStore

    def ask(self, answers: Answers, progress: Progress) -> int | None:
        """Adds the answers that earlier runs lack, and an audit of all that no finished shard has.

        Returns:
            The most memory of a GPU that was used, in MB; None without one.

        Raises:
            KeyboardInterrupt: the job was told to end; the answers so far are kept.
        """
        unfinished = without(self.instances, answers.finished["key"])
        # A model that has nothing left to say is not even loaded.
        if unfinished.is_empty():
            return None
        with ExitStack() as held:
            back_end = self.back_end.open(self.record, self.settings, unfinished)
            held.callback(back_end.close)
            self._ask(back_end, answers, progress)
            answers.parts = answers_in_order(answers.parts)
            if back_end.audit is not None:
                answers.audits[self.store.name] = back_end.audit.compare(answers.parts)
            return back_end.gpu_peak_mb

    def _ask(self, back_end: BackEnd, answers: Answers, progress: Progress) -> None:
        """Adds the answers of a back end."""
        unwritten = Unwritten(self.store, answers, progress, back_end)
        # If the job is told to end, answers are written before the work is waited for.
        with closing(back_end.answer(self.parts(answers))) as tables, unwritten:
            for table in tables:
                progress.advance(len(table))
                unwritten.add(table)

    def parts(self, answers: Answers) -> Iterator[PromptPart]:
        """Yields the parts of the shard that are not answered.

        Parts have the same prompts whether a job was interrupted or not, and so have their batches,
        and with them the last digits.
        """
        finished = answers.finished["key"]
        kept = answers.parts["key"].implode()
        for start in range(0, len(self.instances), ROWS_A_PART):
            prompts = without(self.instances.slice(start, ROWS_A_PART), finished)
            is_answered = prompts["key"].is_in(kept)
            if not is_answered.all():
                yield PromptPart(prompts, is_answered)


class Unwritten:
    """Answers that are not written yet; use it as a context manager, at whose end all are."""

    def __init__(self, store: AnswerStore, answers: Answers, progress: Progress, back_end: BackEnd):
        """Begins without any.

        Args:
            store: where they are written, unless the back end keeps its answers itself.
            answers: to which they are added when they are kept.
            progress: counts them then.
            back_end: gives them.
        """
        self.store, self.answers, self.progress = store, answers, progress
        self.device = back_end.device
        self.is_kept = back_end.keeps_answers
        self.tables: list[pl.DataFrame] = []
        self.since = time.perf_counter()

    def __enter__(self) -> Self:
        """Starts the time."""
        self.since = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        """Writes the rest, also where the job is told to end."""
        self.write()

    def add(self, table: pl.DataFrame) -> None:
        """Adds answers; writes all when the first ones are some seconds old.

        Args:
            table: `instance`, `key` and columns of the answer kind.
        """
        self.tables.append(table)
        if time.perf_counter() - self.since >= SECONDS_A_FILE:
            self.write()

    def write(self) -> None:
        """Writes the answers that there are; an interruption leaves them to the next call."""
        if not self.tables:
            return
        table = complete(pl.concat(self.tables, how="diagonal"), self.store.schema)
        now = time.perf_counter()
        seconds = now - self.since
        if not self.is_kept:
            self.store.write_part(table, seconds, self.device)
        self.tables, self.since = [], now
        self.answers.add_part(table, seconds, self.device)
        self.progress.keep(len(table))


def predict_shard(
    files: ShardFiles,
    shard: int,
    shards: int,
    path: str,
    settings: InferenceSettings,
    provenance: Mapping[str, Any],
    source: Mapping[str, Any] | None = None,
) -> None:
    """Predicts rows [N (shard-1)/shards, N shard/shards) of an instances table.

    Args:
        files: where everything lies.
        shard: which shard, counted from 1.
        shards: how many there are.
        path: where the back end is, see `registry.RegistryEntry`.
        settings: how to predict.
        provenance: what the table shall carry besides what is added here.
        source: where the config has the model from, which its record must say; None where that is
            not asked.

    Raises:
        ModelError: the model cannot be used for these instances.
        TableError: the instances table is damaged, or of another dataset.
        UserError: the record is of another model, or what was found out is.
    """
    back_end: type[BackEnd] = load_reference(path)
    count = count_rows(files.instances)
    rows = range(count * (shard - 1) // shards, count * shard // shards)
    record = read_record(files.model)
    if source is not None:
        check_record(files.model, record, source)
    capabilities = read_capabilities(files.capabilities, files.model) if files.capabilities else {}
    settings = replace(settings, capabilities=capabilities, cell=files.answers)
    identity = {"model": record, "task": settings.task, **back_end.identity(record, settings)}
    made_by = {key: provenance.get(key) for key in ("biasgrid", "code", "libraries")}
    folder = files.answers / digest(made_by | identity)[:16]
    facts = {
        **provenance,
        **identity,
        "instances_sha256": digest_file(files.instances),
        "instances": read_provenance(files.instances),
        "store": folder.name,
    }
    with Progress(
        settings.model, len(rows), settings.seconds_without_progress, files.progress
    ) as progress:
        shard_rows = ShardRows(files.instances, settings, back_end, record, folder, facts, progress)
        ranges = [shard_rows.answer(some) for some in in_ranges(rows)]
    schema = answer_schema(settings.answer)
    table = (
        ranges[0].table
        if len(ranges) == 1
        else keep_together([each.table for each in ranges], schema)
    )
    with whole_file(files.predictions) as partial:
        link_or_copy(table, partial)
    write_timing(len(rows), ranges, files.timing)
    files.progress.unlink(missing_ok=True)


def in_ranges(rows: range) -> list[range]:
    """Divides the rows of a shard into those that are in memory together; a shard without rows is
    one range.
    """
    return [
        rows[start : start + ROWS_IN_MEMORY]
        for start in range(0, max(1, len(rows)), ROWS_IN_MEMORY)
    ]


class AnsweredRange(NamedTuple):
    """A range of a shard's rows that is answered; the fields but `table` are those of `Timing`."""

    table: Path
    found: int
    seconds: float
    gpu_peak_mb: int | None
    devices: Sequence[str]


@dataclass(frozen=True)
class ShardRows:
    """What answers the rows of a shard, range by range.

    Attributes:
        instances: the instances table.
        settings: how to predict.
        back_end: what answers.
        record: what the model is.
        folder: the folder of the cell's store of answers.
        facts: what the provenance of all ranges has in common.
        progress: what counts the rows.
    """

    instances: Path
    settings: InferenceSettings
    back_end: type[BackEnd]
    record: Mapping[str, Any]
    folder: Path
    facts: Mapping[str, Any]
    progress: Progress

    def answer(self, rows: range) -> AnsweredRange:
        """Answers some rows; their table is in the store of answers from then on."""
        instances = with_keys(read_requests(self.instances, self.back_end.READS, rows))
        asked = AskedRows(self.facts["instances_sha256"], rows.start, rows.stop)
        store = AnswerStore(self.folder, answer_schema(self.settings.answer), instances, asked)
        settings = replace(self.settings, cell_cache=store.folder, shard_cache=store.parts)
        answers = store.find()
        found = len(answers.finished)
        if there := found + len(answers.parts):
            logger.info("%s: %s rows come from an earlier run", settings.model, there)
        self.progress.resume(there)
        shard = ShardAnswers(instances, settings, self.back_end, self.record, store)
        gpu_peak = shard.ask(answers, self.progress)
        said = {"audits": answers.audits, KEPT_AS: store.name, "devices": sorted(answers.devices)}
        table = answers_in_order(pl.concat([answers.finished, answers.parts])).drop("key")
        store.keep(table, {**self.facts, **said})
        devices = sorted(answers.devices)
        return AnsweredRange(store.table, found, answers.seconds, gpu_peak, devices)


def with_keys(requests: pl.DataFrame) -> pl.DataFrame:
    """Returns requests with their keys in place of what tells those apart that ask the same."""
    return requests.with_columns(request_keys(requests)).drop(ASKED_BEFORE)


def without(instances: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """Returns the instances but those of some keys; without any keys not a copy, which may be
    large.
    """
    return instances.filter(~pl.col("key").is_in(keys.implode())) if len(keys) else instances


def answers_in_order(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns answers by the numbers of their instances; not a copy, which may be large, where they
    are.
    """
    return answers if answers["instance"].is_sorted() else answers.sort("instance")


def complete(answers: pl.DataFrame, schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Returns answers with all columns of their schema; a back end leaves out those of which it
    says nothing.
    """
    missing = [
        pl.lit(None, column.dtype.type).alias(name)
        for name, column in schema.columns.items()
        if name not in answers.columns
    ]
    return answers.with_columns(missing).select(list(schema.columns))


def write_timing(rows: int, ranges: Sequence[AnsweredRange], path: Path) -> None:
    """Writes how long a shard took, see `Timing`."""
    found, seconds = sum(each.found for each in ranges), sum(each.seconds for each in ranges)
    devices = dict.fromkeys(device for each in ranges for device in each.devices)
    timing = Timing(
        rows=rows,
        found=found,
        seconds=round(seconds, 3),
        rows_per_second=round((rows - found) / seconds, 1) if seconds else None,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        gpu_peak_mb=max(
            (each.gpu_peak_mb for each in ranges if each.gpu_peak_mb is not None), default=None
        ),
        device=", ".join(devices),
        host=socket.gethostname(),
    )
    write_text(path, json.dumps(asdict(timing), indent=2) + "\n")
