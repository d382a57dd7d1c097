"""The stage `predict`: answers one shard of a dataset's instances with one model.

What earlier runs have answered is taken from the store of answers. The rest is asked in slices of a fixed number of
rows of the shard; each is written when it is answered, so that a killed job goes on where it was.
"""

from __future__ import annotations

import json
import logging
import resource
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import tee
from pathlib import Path
from typing import Any, NamedTuple

import pandera.polars as pa
import polars as pl

from biasgrid.base.files import write_text
from biasgrid.base.references import load_reference
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.engine.back_end import BackEnd, Opener
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.answer_store import Answers, AnswerStore
from biasgrid.inference.models.prerequisites import check_record, read_capabilities
from biasgrid.jobs.progress import Progress
from biasgrid.tables.files import read_provenance, write_table
from biasgrid.tables.instances import ASKED_BEFORE, read_requests
from biasgrid.tables.keys import request_keys
from biasgrid.tables.provenance import KEPT_AS, digest
from biasgrid.tables.schema import answer_schema

logger = logging.getLogger(__name__)

ROWS_A_PART = 8192


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
    """How long a shard took. It is not part of the table, which is the same for every run of a config.

    Attributes:
        rows: how many rows it has.
        found: how many of them were found in shards that earlier runs have finished.
        seconds: how long answering the others took, over all runs that did.
        rows_per_second: the others by the seconds, None where there are none.
        peak_mb: most memory that the last run used, in MB.
        gpu_peak_mb: most memory of the GPU that it used, None on a CPU and where nothing was asked.
        device: the GPU's name, or `cpu`.
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
        instances: what it asks.
        settings: how to predict.
        back_end: what answers.
        record: what the model is.
        store: the answers of earlier runs.
        opener: what opens the back end.
    """

    instances: pl.DataFrame
    settings: InferenceSettings
    back_end: type[BackEnd]
    record: Mapping[str, Any]
    store: AnswerStore
    opener: Opener

    def ask(self, answers: Answers, progress: Progress) -> int | None:
        """Adds what the model says of what it was never asked, and an audit of all that no finished shard holds.

        Returns:
            The most memory of a GPU that it used, in MB.
        """
        unfinished = without(self.instances, answers.finished["key"])
        # A model that has nothing left to say is not even loaded.
        if unfinished.is_empty():
            return None
        with ExitStack() as held:
            back_end = self.opener.open(self.back_end, self.record, self.settings, unfinished)
            held.callback(back_end.release)
            return self.ask_back_end(back_end, answers, progress)

    def ask_back_end(self, back_end: BackEnd, answers: Answers, progress: Progress) -> int | None:
        """Adds what a back end says of what it was never asked; see `ask`."""
        device = self.back_end.runs_on(self.settings)
        # The back end takes some parts before it has answered the first.
        slices, asked = tee(self.slices(answers))
        before = time.perf_counter()
        with closing(back_end.answer_parts((instances for _, instances in slices), progress)) as answered:
            for (start, instances), columns in zip(asked, answered, strict=True):
                said = instances.select("instance", "key").hstack(columns)
                before, seconds = time.perf_counter(), time.perf_counter() - before
                part = complete(said, self.store.schema), seconds, device
                self.store.write_part(start, *part)
                answers.add_part(*part)
                progress.keep(len(instances))
        answers.parts = answers_in_order(answers.parts)
        facts = back_end.close(answers.parts)
        if "audit" in facts:
            answers.audits[self.store.name] = facts["audit"]
        return facts.get("gpu_peak_mb")

    def slices(self, answers: Answers) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yields what is not answered, by slices of the shard, with where each begins.

        Slices are the same whether a job was killed or not, and so are the batches and with them the last bits.
        """
        known = self.instances["key"].is_in(pl.concat([answers.finished["key"], answers.parts["key"]]).implode())
        for start in range(0, len(self.instances), ROWS_A_PART):
            rows = self.instances.slice(start, ROWS_A_PART).filter(~known.slice(start, ROWS_A_PART))
            if len(rows):
                yield start, rows


def predict_shard(
    files: ShardFiles,
    shard: int,
    shards: int,
    path: str,
    settings: InferenceSettings,
    provenance: Mapping[str, Any],
    opener: Opener | None = None,
    source: Mapping[str, Any] | None = None,
) -> None:
    """Predicts rows [N (shard-1)/shards, N shard/shards) of an instances table.

    Args:
        files: where everything lies.
        shard: which shard, counted from 1.
        shards: how many there are.
        path: where the back end is, see `back_ends.Entry`.
        settings: how to predict.
        provenance: what the table shall carry besides what is added here.
        opener: what opens the back end and keeps it for the next shard; None keeps nothing.
        source: where the config has the model from, which its record must say; None where that is not asked.

    Raises:
        ModelError: the model cannot be used for these instances.
        TableError: the instances table is damaged, or of another dataset.
        UserError: the record is of another model, or what was found out is.
    """
    back_end: type[BackEnd] = load_reference(path)
    instances = read_requests(files.instances, back_end.READS)
    first, end = (len(instances) * number // shards for number in (shard - 1, shard))
    instances = with_keys(instances.slice(first, end - first))
    record = read_record(files.model)
    if source is not None:
        check_record(files.model, record, source)
    capabilities = read_capabilities(files.capabilities, files.model) if files.capabilities else {}
    settings = replace(settings, capabilities=capabilities, cell=files.answers)
    decisive = {"model": record, "task": settings.task, **back_end.decisive(settings)}
    made_by = {key: provenance.get(key) for key in ("biasgrid", "code", "libraries")}
    folder = files.answers / digest(made_by | decisive)[:16]
    store = AnswerStore(folder, answer_schema(settings.answer), instances)
    settings = replace(settings, kept=store.folder, kept_of_shard=store.parts)
    with Progress(settings.model, len(instances), settings.seconds_without_progress, files.progress) as progress:
        answers = store.find()
        there_before = len(answers.finished)
        if there := there_before + len(answers.parts):
            logger.info("%s: %s rows come from an earlier run", settings.model, there)
        progress.resume(there)
        gpu_peak = ShardAnswers(instances, settings, back_end, record, store, opener or Opener()).ask(answers, progress)
    facts = {
        **provenance,
        **decisive,
        **back_end.facts(record, settings),
        "instances_sha256": sha256(files.instances.read_bytes()).hexdigest(),
        "instances": read_provenance(files.instances),
        "audits": answers.audits,
        "store": folder.name,
        KEPT_AS: store.name,
        "devices": sorted(answers.devices),
    }
    table = answers_in_order(pl.concat([answers.finished, answers.parts])).drop("key")
    write_table(table, files.predictions, store.predictions_schema, facts)
    store.keep(files.predictions)
    device = back_end.runs_on(settings)
    write_timing(len(table), there_before, answers.seconds, device, gpu_peak, files.timing)
    files.progress.unlink(missing_ok=True)


def with_keys(requests: pl.DataFrame) -> pl.DataFrame:
    """Returns requests with their keys in place of what tells those apart that ask the same."""
    return requests.with_columns(request_keys(requests)).drop(ASKED_BEFORE)


def without(instances: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """Returns the instances but those of some keys; without any keys not a copy, which may be large."""
    return instances.filter(~pl.col("key").is_in(keys.implode())) if len(keys) else instances


def answers_in_order(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns answers by the numbers of their instances; not a copy, which may be large, where they are."""
    return answers if answers["instance"].is_sorted() else answers.sort("instance")


def complete(answers: pl.DataFrame, schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Returns answers with all columns of their schema; a back end leaves out those of which it says nothing."""
    missing = [
        pl.lit(None, column.dtype.type).alias(name)
        for name, column in schema.columns.items()
        if name not in answers.columns
    ]
    return answers.with_columns(missing).select(list(schema.columns))


def write_timing(rows: int, found: int, seconds: float, device: str, gpu_peak_mb: int | None, path: Path) -> None:
    """Writes how long a shard took, see `Timing`."""
    timing = Timing(
        rows=rows,
        found=found,
        seconds=round(seconds, 3),
        rows_per_second=round((rows - found) / seconds, 1) if seconds else None,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        gpu_peak_mb=gpu_peak_mb,
        device=device,
        host=socket.gethostname(),
    )
    write_text(path, json.dumps(asdict(timing), indent=2) + "\n")
