"""The engine: answers one shard of a dataset's instances with one model.

Batches hold rows of one length, so there is no padding and no attention mask, and a prediction does not depend on
its neighbours. A shard is made of parts of a fixed number of rows; each is written when it is done, so that a
killed job goes on where it was.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.models.back_end import BackEnd
from biasgrid.models.checkpoint import ModelError, load_model, load_tokenizer, name_of, read_record
from biasgrid.models.encoding import IntArray, Rows, check_lengths, longest_input
from biasgrid.models.fill_mask import FillMask
from biasgrid.models.question_answering import QuestionAnswering
from biasgrid.progress import Progress
from biasgrid.tables import INSTANCES, TableError, empty_table, read_table, write_table

logger = logging.getLogger(__name__)

BACK_ENDS: dict[str, type[FillMask] | type[QuestionAnswering]] = {
    "fill-mask": FillMask,
    "question-answering": QuestionAnswering,
}
PART_ROWS = 32768
AUDIT_ROWS = 32
LARGEST_FLOAT32_DRIFT = 1e-3
"""More than rounding: in float32 the audit repeats the same arithmetic on other batch shapes."""
NEEDED_COLUMNS = [
    "instance", "context", "question", "candidate1", "candidate2", "position1", "position2", "cluster1", "cluster2",
]  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How a shard is predicted.

    Attributes:
        task: `fill-mask` or `question-answering`.
        scoring: `exact` or `unqover`.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        pronouns: the pronoun of each cluster of subjects, empty for none.
        token_budget: how many tokens a batch may have; changes speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
    """

    task: str
    scoring: str
    precision: str
    pronouns: Mapping[str, str]
    token_budget: int
    device: str


def predict_shard(
    instances_path: Path, record_path: Path, out: Path, shard: int, shards: int, parts: Path, settings: Settings,
    provenance: Mapping[str, Any],
) -> None:  # fmt: skip
    """Predicts rows [N (shard-1)/shards, N shard/shards) of an instances table.

    Args:
        instances_path: the instances table.
        record_path: the record of the model's checkpoint.
        out: where the predictions table goes.
        shard: which shard, counted from 1.
        shards: how many there are.
        parts: a folder for the parts of an unfinished shard; removed when the shard is complete.
        settings: how to predict.
        provenance: what the table shall carry besides what is added here; the parts' validity depends on it.

    Raises:
        ModelError: the model cannot be used for these instances.
        TableError: the instances table is damaged.
    """
    instances = read_table(instances_path, INSTANCES, NEEDED_COLUMNS)
    count = len(instances)
    instances = instances.slice(count * (shard - 1) // shards, count * shard // shards - count * (shard - 1) // shards)
    record = read_record(record_path)
    device = choose_device(settings.device)
    precision = choose_precision(settings.precision, device)
    facts = {
        **provenance,
        "model": record,
        "task": settings.task,
        "scoring": settings.scoring,
        "precision": precision,
        "pronouns": dict(settings.pronouns),
    }
    if instances.is_empty():
        write_table(empty_table(BACK_ENDS[settings.task].schema), out, BACK_ENDS[settings.task].schema, facts)
        return
    back_end = load_back_end(record, settings, device)
    audited, expected = audit(back_end, instances)
    set_precision(back_end, precision)
    state = sha256(f"{facts} {sha256(instances_path.read_bytes()).hexdigest()} {shard}/{shards}".encode())
    folder = parts / state.hexdigest()[:16]
    table = pl.concat(predict_parts(back_end, instances, folder, settings.token_budget, name_of(record)))
    facts["audit"] = compare_audit(table, audited, expected, precision)
    facts["device"] = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    write_table(table, out, back_end.schema, facts)
    shutil.rmtree(parts, ignore_errors=True)


def choose_device(name: str) -> torch.device:
    """Returns the device: with `auto` the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def choose_precision(name: str, device: torch.device) -> str:
    """Returns the precision: with `auto` bfloat16 on GPUs that have it, else float32."""
    if name != "auto":
        return name
    return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def load_back_end(record: dict[str, Any], settings: Settings, device: torch.device) -> BackEnd:
    """Loads model and tokenizer behind the interface that all tasks share."""
    model = load_model(record, settings.task, device)
    return BACK_ENDS[settings.task](model, load_tokenizer(record), settings.scoring, settings.pronouns)


def set_precision(back_end: BackEnd, precision: str) -> None:
    """Turns a float32 model to the precision of the run."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    if precision in ("float16", "bfloat16"):
        back_end.model.to(getattr(torch, precision))


def predict_parts(
    back_end: BackEnd,
    instances: pl.DataFrame,
    folder: Path,
    token_budget: int,
    name: str,
) -> list[pl.DataFrame]:
    """Returns the predictions of all parts, reading those that an earlier run has written to the folder."""
    finished = {
        start: read_part(folder / f"{start}.parquet", back_end) for start in range(0, len(instances), PART_ROWS)
    }
    done = sum(len(part) for part in finished.values() if part is not None)
    if done:
        logger.info("%s: %s rows are there from an earlier run", name, done)
    parts = []
    with Progress(name, len(instances), done) as progress:
        for start, part in finished.items():
            if part is None:
                part = predict_rows(back_end, instances.slice(start, PART_ROWS), token_budget, progress)
                write_table(part, folder / f"{start}.parquet", back_end.schema, {})
            parts.append(part)
    return parts


def read_part(path: Path, back_end: BackEnd) -> pl.DataFrame | None:
    """Reads a part, None where it is missing or damaged."""
    if not path.exists():
        return None
    try:
        return read_table(path, back_end.schema)
    except TableError:
        logger.warning("%s is damaged and made again", path)
        return None


def predict_rows(back_end: BackEnd, instances: pl.DataFrame, token_budget: int, progress: Progress) -> pl.DataFrame:
    """Predicts some instances in batches of one length; out of memory halves the batch and goes on."""
    encoded = back_end.encode(instances)
    first_instance = int(instances["instance"][0])
    check_lengths(encoded.rows, longest_input(back_end.model, back_end.tokenizer), instances["instance"])
    columns: dict[str, npt.NDArray[Any]] = {}
    for rows in batches(encoded.rows, token_budget):
        for piece, outcome in run_within_memory(back_end, encoded, rows):
            check_finite(outcome, piece, first_instance)
            for name, values in outcome.items():
                columns.setdefault(name, np.zeros(len(instances), values.dtype))[piece] = values
            progress.advance(len(piece))
    return back_end.table(instances["instance"], encoded, columns)


def batches(rows: Rows, token_budget: int) -> Iterator[IntArray]:
    """Yields batches of rows of one length, of at most `token_budget` tokens (but at least one row)."""
    lengths = rows.lengths
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        size = max(1, token_budget // int(length))
        for start in range(0, len(members), size):
            yield members[start : start + size]


def run_within_memory(
    back_end: BackEnd, encoded: Any, rows: IntArray
) -> Iterator[tuple[IntArray, dict[str, npt.NDArray[Any]]]]:
    """Runs a batch, in halves where it does not fit into memory."""
    try:
        outcome = back_end.run(encoded, rows)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if "memory" not in str(error) or len(rows) == 1:
            raise
        logger.warning("%s rows do not fit into memory; trying %s", len(rows), len(rows) // 2)
    else:
        yield rows, outcome
        return
    torch.cuda.empty_cache()
    yield from run_within_memory(back_end, encoded, rows[: len(rows) // 2])
    yield from run_within_memory(back_end, encoded, rows[len(rows) // 2 :])


def check_finite(outcome: dict[str, npt.NDArray[Any]], rows: IntArray, first_instance: int) -> None:
    """Refuses scores that are not finite."""
    for values in outcome.values():
        if not np.isfinite(values).all():
            row = first_instance + int(rows[~np.isfinite(values)][0])
            raise ModelError(f"the model returned non-finite scores on instance {row}; expected probabilities")


def audit(back_end: BackEnd, instances: pl.DataFrame) -> tuple[IntArray, dict[str, npt.NDArray[Any]]]:
    """Predicts a sample one row at a time in float32, without the shortcuts of the engine."""
    sample = np.unique(np.linspace(0, len(instances) - 1, num=min(len(instances), AUDIT_ROWS), dtype=np.int64))
    encoded = back_end.encode(instances[sample])
    check_lengths(encoded.rows, longest_input(back_end.model, back_end.tokenizer), instances["instance"][sample])
    outcomes = [back_end.run(encoded, np.array([row]), plain=True) for row in range(len(sample))]
    for row, outcome in zip(sample, outcomes, strict=True):
        check_finite(outcome, np.array([row]), int(instances["instance"][0]))
    return sample, {name: np.concatenate([outcome[name] for outcome in outcomes]) for name in outcomes[0]}


def compare_audit(
    table: pl.DataFrame, sample: IntArray, expected: dict[str, npt.NDArray[Any]], precision: str
) -> dict[str, float]:
    """Returns how far the audited rows are from their float32 predictions.

    Raises:
        ModelError: a float32 run is further away than rounding explains.
    """
    names = [name for name in expected if name in table.columns]
    drift = np.stack([np.abs(table[name].to_numpy()[sample] - expected[name]) for name in names])
    facts = {"rows": len(sample), "largest_drift": float(drift.max()), "mean_drift": float(drift.mean())}
    logger.info("audit: %s", facts)
    if precision == "float32" and facts["largest_drift"] > LARGEST_FLOAT32_DRIFT:
        raise ModelError(
            f"the batched predictions are up to {facts['largest_drift']:.2g} away from those of single rows; "
            "expected rounding only: this architecture does not work with the engine"
        )
    return facts
