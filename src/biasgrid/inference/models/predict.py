"""The stage `predict`: answers one shard of a dataset's instances with one model.

Answers of earlier runs come from the store. The model is asked the rest in parts of a fixed number
of rows. Answers are written every few seconds, also within a part, so that a killed job goes on
where it was. Only a range of the shard's rows is in memory at a time.
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
from biasgrid.inference.engine.settings import ROWS_A_PART, InferenceSettings
from biasgrid.inference.input_counts import InputCounts, add_if_known, subtract_if_known
from biasgrid.inference.models.answer_store import (
    Answers,
    AnswerStore,
    PartCost,
    join_tables,
    link_or_copy,
)
from biasgrid.inference.models.kept_keys import RowRange
from biasgrid.inference.models.prerequisites import check_record, read_capabilities
from biasgrid.jobs.progress import Progress
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.instances import ASKED_BEFORE, read_requests
from biasgrid.tables.keys import request_keys
from biasgrid.tables.provenance import KEPT_AS, digest, names_fact
from biasgrid.tables.schema import answer_schema

logger = logging.getLogger(__name__)

SECONDS_A_FILE = 5
"""Answers are written when the oldest is so old. Fewer seconds cost time for more files, more of
them cost more answers when a job is killed.
"""
ROWS_IN_MEMORY = 512 * ROWS_A_PART
"""Rows of a range. A larger shard is answered and audited range by range, and its tables joined."""


class ShardFiles(NamedTuple):
    """The files of a shard.

    Attributes:
        instances: the instances table, of all shards.
        model: the record of the model.
        predictions: the predictions table to write.
        timing: the file to write `Timing` to, as JSON.
        answers: the folder of the cell's stores of answers.
        progress: the file that says how far the job is; removed when the shard is finished.
        capabilities: the capabilities of the model; None if its back end has none to find out.
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
    """How long a shard took. The predictions do not have it, so that every run writes the same.

    Attributes:
        rows: the number of its rows.
        found: the number of rows with an answer from finished shards of earlier runs.
        seconds: how long the other rows took, in all runs together.
        rows_per_second: the other rows by these seconds; None if they took none.
        job_seconds: how long the last run took, with loading, checks, the audit and the table.
        sequences, tokens: what the model has read for the other rows, in all runs together, see
            `InputCounts`; None if nothing was asked, or the back end cannot know.
        peak_mb: the peak of the last run's memory, in MB.
        gpu_peak_mb: the peak of its GPU memory, in MB; None on a CPU, and if nothing was asked.
        device: the devices of the answers, separated by commas: `cpu`, `server` or the name of a
            GPU; "" without rows.
        host: the machine of the last run.
    """

    rows: int
    found: int
    seconds: float
    rows_per_second: float | None
    job_seconds: float
    sequences: int | None
    tokens: int | None
    peak_mb: int
    gpu_peak_mb: int | None
    device: str
    host: str


@dataclass(frozen=True)
class ShardAnswers:
    """Answers the prompts of a shard, or of one range of its rows.

    Attributes:
        instances: its prompts, with `key`.
        settings: how to predict.
        back_end: the class that answers.
        record: the record of the model.
        store: the store of answers.
    """

    instances: pl.DataFrame
    settings: InferenceSettings
    back_end: type[BackEnd]
    record: Mapping[str, Any]
    store: AnswerStore

    def ask(self, answers: Answers, progress: Progress) -> int | None:
        """Adds the missing answers, and an audit of all answers that no finished shard has audited.

        Args:
            answers: the answers of earlier runs; `parts` is in the order of instances afterwards.
            progress: counts the rows.

        Returns:
            The peak of GPU memory in MB; None without a GPU, or if nothing was to do.

        Raises:
            KeyboardInterrupt: the job was told to end; the answers so far are stored.
        """
        prompts = without_keys(self.instances, answers.from_finished["key"])
        # The model is not even loaded.
        if prompts.is_empty():
            return None
        with ExitStack() as resources:
            back_end = self.back_end.open(self.record, self.settings, prompts)
            resources.callback(back_end.close)
            self._ask(back_end, answers, progress)
            answers.answered_as |= back_end.answered_as
            answers.parts = answers_in_order(answers.parts)
            if back_end.audit is not None:
                answers.audits[self.store.name] = back_end.audit.compare(answers.parts)
            return back_end.gpu_peak_mb

    def _ask(self, back_end: BackEnd, answers: Answers, progress: Progress) -> None:
        """Adds the answers of a back end."""
        buffer = AnswerBuffer(self.store, answers, progress, back_end)
        # The buffer is left first: if the job is told to end, answers are written before the
        # back end's work is waited for.
        with closing(back_end.answer(self.parts(answers))) as tables, buffer:
            for table in tables:
                progress.advance(len(table))
                buffer.add(table)

    def parts(self, answers: Answers) -> Iterator[PromptPart]:
        """Yields the parts of the shard with a prompt that has no answer yet.

        After an interruption parts have the same prompts as before, and so the same batches and
        the same last digits.
        """
        finished_keys = answers.from_finished["key"]
        answered_keys = answers.parts["key"].implode()
        for start in range(0, len(self.instances), ROWS_A_PART):
            prompts = without_keys(self.instances.slice(start, ROWS_A_PART), finished_keys)
            is_answered = prompts["key"].is_in(answered_keys)
            if not is_answered.all():
                yield PromptPart(prompts, is_answered)


class AnswerBuffer:
    """Answers that are not written yet; a context manager that writes them at its end."""

    def __init__(self, store: AnswerStore, answers: Answers, progress: Progress, back_end: BackEnd):
        """Begins empty.

        Args:
            store: written to, unless the back end stores its answers itself.
            answers: written answers are added to it.
            progress: counts written answers.
            back_end: gives the answers.
        """
        self.store, self.answers, self.progress = store, answers, progress
        self.back_end = back_end
        self.tables: list[pl.DataFrame] = []
        self.inputs_before = back_end.inputs
        self.since = time.perf_counter()

    def __enter__(self) -> Self:
        """Starts the time that the first answers are said to have taken."""
        self.since = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        """Writes the rest, also if the job is told to end."""
        self.write()

    def add(self, table: pl.DataFrame) -> None:
        """Adds answers, and writes all if the last file is `SECONDS_A_FILE` old.

        Args:
            table: `instance`, `key` and columns of the answer kind, which may be incomplete.
        """
        self.tables.append(table)
        if time.perf_counter() - self.since >= SECONDS_A_FILE:
            self.write()

    def write(self) -> None:
        """Writes all answers; if it is interrupted, they stay for the next call."""
        if not self.tables:
            return
        table = with_all_columns(pl.concat(self.tables, how="diagonal"), self.store.schema)
        now = time.perf_counter()
        inputs = self.back_end.inputs
        new_inputs = subtract_if_known(inputs, self.inputs_before)
        cost = PartCost(now - self.since, self.back_end.device, new_inputs)
        if not self.back_end.keeps_answers:
            self.store.write_part(table, cost)
        self.tables, self.since, self.inputs_before = [], now, inputs
        self.answers.add_part(table, cost)
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
    """Predicts the rows [N (shard-1)/shards, N shard/shards) of an instances table of N rows.

    Args:
        files: the files of the shard.
        shard: the number of the shard, from 1.
        shards: the number of shards.
        path: the reference of the back end, see `registry.RegistryEntry`.
        settings: how to predict.
        provenance: the provenance of the table; the facts of record, instances and back end are
            added here.
        source: the source of the model in the config, which its record must agree with; None to
            not check that.

    Raises:
        ModelError: the model cannot be used for these instances.
        TableError: the instances table is damaged, or of another dataset.
        UserError: record or capabilities are of another model.
    """
    began = time.perf_counter()
    back_end: type[BackEnd] = load_reference(path)
    row_count = count_rows(files.instances)
    rows = range(row_count * (shard - 1) // shards, row_count * shard // shards)
    record = read_record(files.model)
    if source is not None:
        check_record(files.model, record, source)
    capabilities = read_capabilities(files.capabilities, files.model) if files.capabilities else {}
    settings = replace(settings, capabilities=capabilities, cell=files.answers)
    identity = {"model": record, "task": settings.task, **back_end.identity(record, settings)}
    # Another version, code or library may answer differently, and so has a folder of its own.
    versions = {key: provenance.get(key) for key in ("biasgrid", "code", "libraries")}
    folder = files.answers / digest(versions | identity)[:16]
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
        ranges = [shard_rows.answer(range_of_rows) for range_of_rows in split_rows(rows)]
    table = ranges[0].table
    if len(ranges) > 1:
        schema = answer_schema(settings.answer)
        table = join_tables([answered.table for answered in ranges], schema)
    with whole_file(files.predictions) as partial:
        link_or_copy(table, partial)
    write_timing(len(rows), ranges, time.perf_counter() - began, files.timing)
    files.progress.unlink(missing_ok=True)


def split_rows(rows: range) -> list[range]:
    """Splits the rows of a shard into ranges that fit into memory; no rows are one empty range."""
    starts = range(0, max(1, len(rows)), ROWS_IN_MEMORY)
    return [rows[start : start + ROWS_IN_MEMORY] for start in starts]


class AnsweredRange(NamedTuple):
    """A range of a shard's rows with all its answers.

    Attributes:
        table: its table in the store.
        from_finished_count: the number of rows whose answers are from finished shards of earlier
            runs, see `Timing.found`.
        seconds_in_all_runs: how long the other rows took, also in runs that were killed.
        inputs_in_all_runs: what was read for them; None if that is unknown.
        gpu_peak_mb: see `Timing`.
        devices: the devices of its answers.
    """

    table: Path
    from_finished_count: int
    seconds_in_all_runs: float
    inputs_in_all_runs: InputCounts | None
    gpu_peak_mb: int | None
    devices: Sequence[str]


@dataclass(frozen=True)
class ShardRows:
    """Answers the rows of a shard, range by range.

    Attributes:
        instances: the file of the instances table.
        settings: how to predict.
        back_end: the class that answers.
        record: the record of the model.
        folder: the folder of the store of answers.
        facts: the provenance that all ranges have in common, with `instances_sha256`.
        progress: counts the rows.
    """

    instances: Path
    settings: InferenceSettings
    back_end: type[BackEnd]
    record: Mapping[str, Any]
    folder: Path
    facts: Mapping[str, Any]
    progress: Progress

    def answer(self, rows: range) -> AnsweredRange:
        """Answers a range of rows, and writes their table to the store."""
        instances = with_keys(read_requests(self.instances, self.back_end.READS, rows))
        row_range = RowRange(self.facts["instances_sha256"], rows.start, rows.stop)
        store = AnswerStore(self.folder, answer_schema(self.settings.answer), instances, row_range)
        settings = replace(self.settings, cell_cache=store.folder, shard_cache=store.parts_folder)
        answers = store.find()
        from_finished_count = len(answers.from_finished)
        earlier_count = from_finished_count + len(answers.parts)
        if earlier_count:
            logger.info("%s: %s rows come from an earlier run", settings.model, earlier_count)
        self.progress.resume(earlier_count)
        shard = ShardAnswers(instances, settings, self.back_end, self.record, store)
        gpu_peak = shard.ask(answers, self.progress)
        devices = sorted(answers.devices)
        own_facts = {"audits": answers.audits, KEPT_AS: store.name, "devices": devices}
        own_facts |= names_fact(answers.answered_as)
        table = answers_in_order(pl.concat([answers.from_finished, answers.parts])).drop("key")
        store.keep(table, {**self.facts, **own_facts})
        return AnsweredRange(
            table=store.table,
            from_finished_count=from_finished_count,
            seconds_in_all_runs=answers.seconds,
            inputs_in_all_runs=answers.inputs,
            gpu_peak_mb=gpu_peak,
            devices=devices,
        )


def with_keys(requests: pl.DataFrame) -> pl.DataFrame:
    """Returns requests with `key` in place of the column that counts equal ones."""
    return requests.with_columns(request_keys(requests)).drop(ASKED_BEFORE)


def without_keys(instances: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """Returns the instances whose key is not among some keys."""
    # `filter` would copy a large table if there is nothing to leave out.
    return instances.filter(~pl.col("key").is_in(keys.implode())) if len(keys) else instances


def answers_in_order(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns answers sorted by `instance`."""
    # `sort` would copy a large table that is sorted already.
    return answers if answers["instance"].is_sorted() else answers.sort("instance")


def with_all_columns(answers: pl.DataFrame, schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Returns answers with exactly the columns of a schema; absent ones are null."""
    missing = [
        pl.lit(None, column.dtype.type).alias(name)
        for name, column in schema.columns.items()
        if name not in answers.columns
    ]
    return answers.with_columns(missing).select(list(schema.columns))


def write_timing(
    rows: int, ranges: Sequence[AnsweredRange], job_seconds: float, path: Path
) -> None:
    """Writes `Timing` to a file.

    Args:
        rows: the number of rows of the shard.
        ranges: its ranges.
        job_seconds: see `Timing`.
        path: the file.
    """
    from_finished_count = sum(answered.from_finished_count for answered in ranges)
    # Rows of killed runs are among them: `seconds_in_all_runs` has their time, too.
    other_count = rows - from_finished_count
    seconds = sum(answered.seconds_in_all_runs for answered in ranges)
    inputs: InputCounts | None = InputCounts()
    for answered in ranges:
        inputs = add_if_known(inputs, answered.inputs_in_all_runs)
    if not other_count:
        inputs = None
    gpu_peaks = [answered.gpu_peak_mb for answered in ranges if answered.gpu_peak_mb is not None]
    # Without duplicates, in the order of ranges.
    devices = dict.fromkeys(device for answered in ranges for device in answered.devices)
    timing = Timing(
        rows=rows,
        found=from_finished_count,
        seconds=round(seconds, 3),
        rows_per_second=round(other_count / seconds, 1) if seconds else None,
        job_seconds=round(job_seconds, 3),
        sequences=None if inputs is None else round(inputs.sequences),
        tokens=None if inputs is None else round(inputs.tokens),
        # In kB on Linux.
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        gpu_peak_mb=max(gpu_peaks, default=None),
        device=", ".join(devices),
        host=socket.gethostname(),
    )
    write_text(path, json.dumps(asdict(timing), indent=2) + "\n")
