"""Takes a file of UnQover over as tables, with their provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import explain_refusal
from biasgrid.base.text import explain_unreadable
from biasgrid.families.underspecified.keys import KEYS
from biasgrid.families.underspecified.reading import read_subjects
from biasgrid.formats.unqover.entries import FileType
from biasgrid.formats.unqover.reading import Imported, read_unqover
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

KINDS_OF_TASKS: dict[str, FileType] = {"question-answering": "spans", "fill-mask": "masks"}


def import_unqover(path: Path, folder: Path) -> list[Path]:
    """Reads a file of UnQover and writes what it holds as `instances.parquet` and `predictions.parquet`.

    Returns:
        The tables that were written.

    Raises:
        InputError: see `read_unqover`.
    """
    imported = read_unqover(path)
    facts = table_provenance(dump={"file": path.name, "url": None, "sha256": file_digest(path)})
    if imported.predictions is not None:
        facts["scoring"] = "unqover"
    return write_imported(imported, folder, facts)


def import_dump(
    path: Path,
    origin: Mapping[str, str | None],
    task: str,
    scoring: str,
    subject_lists: Sequence[Path],
    folder: Path,
    provenance: Mapping[str, Any],
) -> None:
    """Takes a dump over in place of a cell's instances and predictions.

    Args:
        path: the dump, an `output.json`.
        origin: `file`, `url` and `sha256` of the config; None for what is not there.
        task: the model's task.
        scoring: how the dump was scored.
        subject_lists: the subject lists of the dataset, none where they are not at hand.
        folder: where `instances.parquet` and `predictions.parquet` go.
        provenance: what the tables shall carry besides what is added here.

    Raises:
        InputError: the dump has another digest, or answers of another task or dataset, or is malformed.
    """
    imported, found = read_dump(path, origin["sha256"], task, subject_lists)
    facts = {"task": task, "scoring": scoring, "dump": {**origin, "sha256": found}}
    write_imported(imported, folder, {**provenance, **facts})


def read_dump(path: Path, sha256: str | None, task: str, subject_lists: Sequence[Path]) -> tuple[Imported, str]:
    """Reads a dump that stands in place of a cell, and its digest; see `import_dump`."""
    found = file_digest(path)
    if sha256 not in (None, found):
        raise InputError([Fault(str(path), "", f"sha256 is {found}", f"{sha256}, as in the config")])
    imported = read_unqover(path, KINDS_OF_TASKS[task])
    check_subjects(path, imported.instances["subject1"].unique().sort().to_list(), subject_lists)
    check_answers(path, imported, subject_lists)
    return imported, found


def check_subjects(path: Path, subjects: Sequence[str], subject_lists: Sequence[Path]) -> None:
    """Refuses a dump of another dataset: one of whose subjects none is in the dataset's lists, in whatever case.

    Raises:
        InputError: with some of its subjects.
    """
    # A list with faults is no fault of the dump: what can be read of it is compared.
    columns = [terms for file in subject_lists for terms in read_subjects(file, 1, []).forms.values()]
    listed = {name.casefold() for terms in columns for name in terms}
    if listed and listed.isdisjoint(name.casefold() for name in subjects):
        some = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
        problem = f"none of its subjects ({some}) is in {' or '.join(map(str, subject_lists))}"
        raise InputError([Fault(str(path), "", problem, "a dump of the dataset under which the config lists it")])


def check_answers(path: Path, imported: Imported, subject_lists: Sequence[Path]) -> None:
    """Refuses a dump whose keys name a subject of the dataset and whose answers are another one, in whatever case.

    Raises:
        InputError: with the first such pair.
    """
    lines: dict[str, set[tuple[Path, int]]] = {}
    for file in subject_lists:
        # A subject's forms, such as China and Chinese, are in one line of each column.
        for terms in read_subjects(file, 1, []).forms.values():
            for line, name in enumerate(terms):
                lines.setdefault(name.casefold(), set()).add((file, line))
    for which in (1, 2):
        pairs = imported.instances.select(f"subject{which}", f"candidate{which}").unique(maintain_order=True)
        for subject, answer in pairs.iter_rows():
            named, answered = lines.get(subject.casefold()), lines.get(answer.casefold())
            if named and answered and named.isdisjoint(answered):
                problem = f"a key names {subject!r}, but the answer is {answer!r}"
                raise InputError([Fault(str(path), "", problem, "one subject of the lists in key and answer")])


def file_digest(path: Path) -> str:
    """Returns a file's sha256 in hexadecimal.

    Raises:
        InputError: it cannot be read.
    """
    with explain_unreadable(path, "a file of UnQover"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_imported(imported: Imported, folder: Path, provenance: Mapping[str, Any]) -> list[Path]:
    """Writes what was read; returns the tables' paths."""
    instances = imported.instances
    tables = [(folder / "instances.parquet", instances, schema_of_instances(KEYS, instances.schema))]
    if imported.predictions is not None:
        schema = answer_schema("span" if "answer" in imported.predictions.columns else "choice")
        tables.append((folder / "predictions.parquet", imported.predictions, schema))
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Those of an earlier import must not stay beside other instances.
        (folder / "predictions.parquet").unlink(missing_ok=True)
    for path, table, schema in tables:
        write_table(table, path, schema, provenance)
    return [path for path, _, _ in tables]
