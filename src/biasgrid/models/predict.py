"""The engine: answers one shard of a dataset's instances with one model.

A shard is made of parts of a fixed number of rows; each is written when it is done, so that a killed job goes on
where it was.
"""

from __future__ import annotations

import json
import logging
import resource
import shutil
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import torch

from biasgrid.files import write_text
from biasgrid.models.answer_texts import AnswerTexts
from biasgrid.models.back_end import BackEnd
from biasgrid.models.batches import audit, compare_audit, predict_rows
from biasgrid.models.checkpoint import load_model, load_tokenizer, read_record
from biasgrid.models.devices import choose_device, name_of_device
from biasgrid.models.fill_mask import FillMask
from biasgrid.models.precision import choose_precision, set_precision
from biasgrid.models.question_answering import QuestionAnswering
from biasgrid.models.settings import Settings
from biasgrid.models.target_words import TargetWords
from biasgrid.models.text_classification import TextClassification
from biasgrid.progress import Progress
from biasgrid.table_files import TableError, empty_table, read_provenance, read_table, write_table

logger = logging.getLogger(__name__)

BACK_ENDS: dict[tuple[str, str], type[BackEnd]] = {
    ("pairs", "fill-mask"): FillMask,
    ("pairs", "question-answering"): QuestionAnswering,
    ("cases", "fill-mask"): TargetWords,
    ("cases", "question-answering"): AnswerTexts,
    ("cases", "text-classification"): TextClassification,
}
"""By what the instances are, and the task."""
PART_ROWS = 8192


@dataclass(frozen=True)
class Timing:
    """How long a shard took. It is not part of the table, which is the same for every run of a config.

    Attributes:
        rows: how many rows it has.
        seconds: how long predicting them took, over all runs that made parts of it.
        rows_per_second: the one by the other, None for no rows.
        peak_mb: most memory that the last run used, in MB.
        gpu_peak_mb: most memory of the GPU that it used, None on a CPU.
        device: the GPU's name, or `cpu`.
        host: the machine of the last run.
    """

    rows: int
    seconds: float
    rows_per_second: float | None
    peak_mb: int
    gpu_peak_mb: int | None
    device: str
    host: str


class Part(NamedTuple):
    """Finished rows of a shard, and how long they took."""

    table: pl.DataFrame
    seconds: float
    device: str

    @property
    def instances(self) -> int:
        """How many instances the rows are of."""
        return self.table["instance"].n_unique()


def predict_shard(
    instances_path: Path, record_path: Path, out: Path, timing: Path, shard: int, shards: int, parts: Path,
    settings: Settings, provenance: Mapping[str, Any],
) -> None:  # fmt: skip
    """Predicts rows [N (shard-1)/shards, N shard/shards) of an instances table.

    Args:
        instances_path: the instances table.
        record_path: the record of the model's checkpoint.
        out: where the predictions table goes.
        timing: where the fields of `Timing` go, as JSON.
        shard: which shard, counted from 1.
        shards: how many there are.
        parts: a folder for the parts of an unfinished shard; removed when the shard is done.
        settings: how to predict.
        provenance: what the table shall carry besides what is added here.

    Raises:
        ModelError: the model cannot be used for these instances.
        TableError: the instances table is damaged.
    """
    kind = BACK_ENDS[settings.instances, settings.task]
    instances = read_table(instances_path, kind.instances, kind.columns)
    first, end = len(instances) * (shard - 1) // shards, len(instances) * shard // shards
    instances = instances.slice(first, end - first)
    device = choose_device(settings.device)
    decisive: dict[str, Any] = {
        "instances_sha256": sha256(instances_path.read_bytes()).hexdigest(),
        "model": read_record(record_path),
        "task": settings.task,
        "precision": choose_precision(settings.precision, device),
        **{choice: getattr(settings, choice) for choice in kind.choices},
    }
    facts = {**provenance, **decisive, "instances": read_provenance(instances_path), "predicted": len(instances)}
    if instances.is_empty():
        write_table(empty_table(kind.schema), out, kind.schema, facts)
        write_timing([], device, timing)
        return
    made_by = [provenance.get(key) for key in ("biasgrid", "code", "libraries")]
    state = sha256(f"{made_by} {decisive} {shard}/{shards}".encode()).hexdigest()[:16]
    with Progress(
        settings.model, len(instances), settings.seconds_without_progress, parts / "progress.json"
    ) as progress:
        back_end = load_back_end(decisive["model"], settings, device)
        set_precision(back_end.model, "float32")
        audited = audit(back_end, instances, settings.model)
        set_precision(back_end.model, decisive["precision"])
        made = predict_parts(back_end, instances, parts / state, settings.token_budget, progress)
    table = pl.concat(part.table for part in made)
    facts["audit"] = compare_audit(table, audited, decisive["precision"])
    facts["devices"] = sorted({part.device for part in made})
    write_table(table, out, kind.schema, facts)
    write_timing(made, device, timing)
    shutil.rmtree(parts, ignore_errors=True)


def write_timing(parts: list[Part], device: torch.device, path: Path) -> None:
    """Writes how long a shard took."""
    rows, seconds = sum(part.instances for part in parts), sum(part.seconds for part in parts)
    timing = Timing(
        rows=rows,
        seconds=round(seconds, 3),
        rows_per_second=round(rows / seconds, 1) if seconds else None,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        gpu_peak_mb=torch.cuda.max_memory_allocated(device) // 2**20 if device.type == "cuda" else None,
        device=name_of_device(device),
        host=socket.gethostname(),
    )
    write_text(path, json.dumps(asdict(timing), indent=2) + "\n")


def load_back_end(record: dict[str, Any], settings: Settings, device: torch.device) -> BackEnd:
    """Loads model and tokenizer behind the interface that all tasks share."""
    model = load_model(record, settings.task, device)
    return BACK_ENDS[settings.instances, settings.task](model, load_tokenizer(record), settings)


def predict_parts(
    back_end: BackEnd, instances: pl.DataFrame, folder: Path, token_budget: int, progress: Progress
) -> list[Part]:
    """Returns all parts of a shard, reading those that an earlier run has written to the folder."""
    paths = {start: folder / f"{start}.parquet" for start in range(0, len(instances), PART_ROWS)}
    finished = {start: read_part(path, back_end) for start, path in paths.items()}
    done = sum(part.instances for part in finished.values() if part is not None)
    if done:
        logger.info("%s: %s rows are there from an earlier run", progress.what, done)
    progress.resume(done)
    parts = []
    for start, part in finished.items():
        if part is None:
            part = make_part(back_end, instances.slice(start, PART_ROWS), paths[start], token_budget, progress)
        parts.append(part)
    return parts


def make_part(back_end: BackEnd, instances: pl.DataFrame, path: Path, token_budget: int, progress: Progress) -> Part:
    """Predicts a part and writes it."""
    before = time.perf_counter()
    table = predict_rows(back_end, instances, token_budget, progress)
    part = Part(table, time.perf_counter() - before, name_of_device(back_end.model.device))
    made = {"seconds": part.seconds, "device": part.device, "predicted": len(instances)}
    write_table(table, path, back_end.schema, made)
    return part


def read_part(path: Path, back_end: BackEnd) -> Part | None:
    """Reads a part, None where it is missing or damaged."""
    if not path.exists():
        return None
    try:
        made = read_provenance(path)
        return Part(read_table(path, back_end.schema), made["seconds"], made["device"])
    except (TableError, KeyError):
        logger.warning("%s is damaged and made again", path)
        return None
