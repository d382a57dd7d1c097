"""Takes a file of UnQover over as tables, with their provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasgrid.faults import Fault, InputError
from biasgrid.provenance import provenance
from biasgrid.tables import INSTANCES, MASK_PREDICTIONS, SPAN_PREDICTIONS, write_table
from biasgrid.unqover.entries import Kind
from biasgrid.unqover.reading import Imported, read_unqover

KINDS_OF_TASKS: dict[str, Kind] = {"question-answering": "spans", "fill-mask": "masks"}


def import_unqover(path: Path, folder: Path) -> list[Path]:
    """Reads a file of UnQover and writes what it holds as `instances.parquet` and `predictions.parquet`.

    Returns:
        The tables that were written.

    Raises:
        InputError: see `read_unqover`.
    """
    imported = read_unqover(path)
    facts = provenance(dump={"file": path.name, "url": None, "sha256": digest_of(path)})
    if imported.predictions is not None:
        facts["scoring"] = "unqover"
    return write_imported(imported, folder, facts)


def import_dump(
    path: Path, origin: Mapping[str, str | None], task: str, scoring: str, folder: Path, provenance: Mapping[str, Any]
) -> None:
    """Takes a dump over in place of a cell's instances and predictions.

    Args:
        path: the dump, an `output.json`.
        origin: `file`, `url` and `sha256` of the config; None for what is not there.
        task: the model's task.
        scoring: how the dump was scored.
        folder: where `instances.parquet` and `predictions.parquet` go.
        provenance: what the tables shall carry besides what is added here.

    Raises:
        InputError: the dump has another digest, or answers of another task, or is malformed.
    """
    found = digest_of(path)
    if origin["sha256"] not in (None, found):
        raise InputError([Fault(str(path), "", f"sha256 is {found}", f"{origin['sha256']}, which the config says")])
    imported = read_unqover(path, KINDS_OF_TASKS[task])
    facts = {"task": task, "scoring": scoring, "dump": {**origin, "sha256": found}}
    write_imported(imported, folder, {**provenance, **facts})


def digest_of(path: Path) -> str:
    """Returns a file's sha256 in hexadecimal.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise InputError([Fault(str(path), "", problem, "a file of UnQover")]) from None


def write_imported(imported: Imported, folder: Path, provenance: Mapping[str, Any]) -> list[Path]:
    """Writes what was read; returns the tables' paths."""
    tables = [(folder / "instances.parquet", imported.instances, INSTANCES)]
    if imported.predictions is not None:
        schema = SPAN_PREDICTIONS if "answer" in imported.predictions.columns else MASK_PREDICTIONS
        tables.append((folder / "predictions.parquet", imported.predictions, schema))
    # Those of an earlier import must not stay beside other instances.
    (folder / "predictions.parquet").unlink(missing_ok=True)
    for path, table, schema in tables:
        write_table(table, path, schema, provenance)
    return [path for path, _, _ in tables]
