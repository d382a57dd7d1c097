"""Reads UnQover's `source.json` and `output.json` into tables.

The files may have several GB: entries are read one by one, and the tables hold each distinct text
once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import explain_refusal
from biasgrid.base.text import explain_unreadable
from biasgrid.families.underspecified.ask import KEYS
from biasgrid.families.underspecified.lists import read_subjects
from biasgrid.formats.unqover.entries import (
    FILE_TYPES,
    EntryQuestion,
    FileType,
    Malformed,
    entry_file_type,
    read_key,
    read_questions,
    source_line,
)
from biasgrid.formats.unqover.order import ITEM, number_rows
from biasgrid.formats.unqover.stream import Member, members
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import instances_schema
from biasgrid.tables.keys import Repetitions, digest_rows
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

BATCH = 8192
ENTRY_COLUMNS = {
    "line": pl.UInt32,
    "source_line": pl.UInt32,
    "group1": pl.Categorical,
    "group2": pl.Categorical,
    "subject1": pl.Categorical,
    "subject2": pl.Categorical,
    "template": pl.UInt16,
    "attribute_group": pl.Categorical,
    "attribute": pl.Categorical,
}
"""Columns of an entry, in the order of `EntryRow`: its line in the file, its position in
`source.json`, and the fields of `EntryNames`.
"""
QUESTION_COLUMNS = {
    "text_pair": pl.Categorical,
    "text": pl.Categorical,
    "candidate1": pl.Categorical,
    "candidate2": pl.Categorical,
    "position1": pl.UInt16,
    "position2": pl.UInt16,
    "start1": pl.Float32,
    "end1": pl.Float32,
    "start2": pl.Float32,
    "end2": pl.Float32,
    "answer": pl.Categorical,
}
"""Columns of a question, in the order of the fields of `EntryQuestion`."""
UNUSED_COLUMNS: dict[FileType, set[str]] = {
    "source": {"start1", "end1", "start2", "end2", "answer"},
    "spans": set(),
    "masks": {"end1", "end2", "answer"},
}
"""Columns of a question that have no information in a type of file."""
ANSWER_KINDS: dict[FileType, str] = {"spans": "span", "masks": "choice"}
"""The answer kind of each type of file with answers."""
TASK_FILE_TYPES: dict[str, FileType] = {"question-answering": "spans", "fill-mask": "masks"}
"""The type of the dumps of each task."""


class EntryRow(NamedTuple):
    """An entry as a row of `ENTRY_COLUMNS`; its two questions are rows of `QUESTION_COLUMNS`."""

    names: tuple[Any, ...]
    plain: EntryQuestion
    negation: EntryQuestion


class ImportedTables(NamedTuple):
    """The tables of a file.

    Attributes:
        instances: a whole table of the family's instances.
        predictions: answers of the kind `span` or `choice`; None for a `source.json`.
    """

    instances: pl.DataFrame
    predictions: pl.DataFrame | None


def read_unqover(path: Path, expected: FileType | None = None) -> ImportedTables:
    """Reads a `source.json` or an `output.json`; the first entry decides which type it is.

    Instances are in the order of the `source.json`. The `output.json` of a masked language model
    does not have that order: there they are in the order of the file, and the context is determined
    by `entries.split_context`.

    Args:
        path: the file.
        expected: the only type of file to accept; None for any.

    Raises:
        InputError: the file cannot be read or is malformed; with the line of the first fault.
    """
    all_members = members(path)
    first = next(all_members, None)
    if first is None:
        raise InputError([Fault(str(path), "", "no entries", "at least one swap group")])
    try:
        file_type = entry_file_type(first.value)
        if expected not in (None, file_type):
            problem = f"an entry of {FILE_TYPES[file_type]}"
            raise Malformed(problem, f"an entry of {FILE_TYPES[expected]}")
    except Malformed as error:
        raise _entry_error(path, first, error) from None
    batches = list(_batches(path, chain([first], all_members), file_type))
    entries = pl.concat([batch_entries for batch_entries, _ in batches])
    questions = pl.concat([batch_questions for _, batch_questions in batches])
    del batches
    if file_type == "spans":
        entries, questions = _sort_by_source(path, entries, questions)
    groups = _swap_groups(entries)
    _check_halves(path, groups, entries["line"])
    _check_names(path, entries, questions)

    # Every entry is followed by its negation, which shares its keys.
    keys = groups.with_columns(entries.drop("line", "source_line").get_columns())
    rows = np.arange(questions.height, dtype=np.uint32)
    questions = questions.with_columns(
        instance=pl.Series(rows),
        asked_before=Repetitions().asked_before(digest_rows(questions)),
        system=pl.lit(None, pl.Categorical),
        negated=pl.Series(rows % 2 == 1),
        **{name: keys[name][rows // 2] for name in keys.columns},
    )
    instances = questions.select(list(instances_schema(KEYS, questions.schema).columns))
    predictions = None
    if file_type in ANSWER_KINDS:
        predictions = _predictions(questions, ANSWER_KINDS[file_type])
    return ImportedTables(instances, predictions)


def _batches(
    path: Path, entries: Iterable[Member], file_type: FileType
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yields entries and their questions: two rows for each entry, the plain one first."""
    rows = _parse(path, entries, file_type)
    columns = [name for name in QUESTION_COLUMNS if name not in UNUSED_COLUMNS[file_type]]
    while True:
        batch = list(islice(rows, BATCH))
        if not batch:
            return
        names = [row.names for row in batch]
        questions = [question for row in batch for question in (row.plain, row.negation)]
        question_table = _as_table(questions, QUESTION_COLUMNS).select(columns)
        yield _as_table(names, ENTRY_COLUMNS), question_table


def _as_table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Returns rows as a table, with the values of each row in the order of the columns."""
    # Polars builds a table from columns several times as fast as from rows.
    values = zip(*rows, strict=True)
    series = [
        pl.Series(name, column, dtype)
        for (name, dtype), column in zip(columns.items(), values, strict=True)
    ]
    return pl.DataFrame(series)


def _parse(path: Path, entries: Iterable[Member], file_type: FileType) -> Iterator[EntryRow]:
    """Yields a row for each entry.

    Raises:
        InputError: an entry is malformed, or of another type of file; with its line and key.
    """
    for position, member in enumerate(entries):
        line, key, entry = member
        try:
            entry_type = entry_file_type(entry)
            if entry_type != file_type:
                expected = f"an entry of {FILE_TYPES[file_type]}, like the first one"
                raise Malformed(f"an entry of {FILE_TYPES[entry_type]}", expected)
            line_in_source = source_line(entry, default=position)
            names = read_key(key)
            plain, negation = read_questions(entry, entry_type)
        except Malformed as error:
            raise _entry_error(path, member, error) from None
        yield EntryRow((line, line_in_source, *names), plain, negation)


def _entry_error(path: Path, member: Member, error: Malformed) -> InputError:
    where = f"line {member.line}, entry {member.key!r}"
    return InputError([Fault(str(path), where, error.problem, error.expected)])


def _sort_by_source(
    path: Path, entries: pl.DataFrame, questions: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns entries and their questions in the order of the `source.json`.

    Args:
        path: the file, for messages.
        entries: a row per entry.
        questions: two rows per entry, in the same order. Loses its columns, to save memory.

    Raises:
        InputError: two entries have the same position in the `source.json`.
    """
    order = np.argsort(entries["source_line"].to_numpy(), kind="stable").astype(np.uint32)
    entries = entries[order]
    source_lines = entries["source_line"].to_numpy()
    duplicates = np.flatnonzero(source_lines[1:] == source_lines[:-1])
    if len(duplicates):
        duplicate = int(duplicates[0])
        where = f"line {entries['line'][duplicate + 1]}"
        problem = f'"line": {source_lines[duplicate]} appears twice'
        expected = "the row number in source.json, each number once"
        raise InputError([Fault(str(path), where, problem, expected)])
    rows = np.repeat(2 * order, 2)
    rows[1::2] += 1
    # Column by column, so that the whole table is never in memory twice.
    columns = [questions.drop_in_place(name)[rows] for name in questions.columns]
    return entries, pl.DataFrame(columns)


def _swap_groups(entries: pl.DataFrame) -> pl.DataFrame:
    """Returns `swap_group` and `swapped` of entries, in their order.

    As in the expansion of word lists, swap groups are numbered from 0 in the order of their first
    entry, and the first order of the subjects of a pair is not swapped.
    """
    first_subject = entries["subject1"].to_physical()
    second_subject = entries["subject2"].to_physical()
    pairs = entries.select(
        *ITEM,
        low=pl.min_horizontal(first_subject, second_subject),
        high=pl.max_horizontal(first_subject, second_subject),
    )
    distinct_pairs = number_rows(pairs, ["low", "high"])
    pair = distinct_pairs.numbers
    groups = number_rows(pairs.select(*ITEM, pair=pl.Series(pair)), ["pair", *ITEM])
    first_of_pair = first_subject.gather(distinct_pairs.first_rows).gather(pair)
    swap_group = pl.Series(groups.numbers, dtype=pl.UInt32)
    return pl.DataFrame({"swap_group": swap_group, "swapped": first_subject != first_of_pair})


def _check_halves(path: Path, groups: pl.DataFrame, lines: pl.Series) -> None:
    """Refuses swap groups without exactly one entry for either order of their subjects.

    Args:
        path: the file, for messages.
        groups: `swap_group` and `swapped` of each entry.
        lines: the line of each entry, for messages.
    """
    half = 2 * groups["swap_group"].to_numpy().astype(np.int64) + groups["swapped"].to_numpy()
    group_count = int(half.max()) // 2 + 1
    entry_counts = np.bincount(half, minlength=2 * group_count).reshape(-1, 2)
    malformed_groups = np.flatnonzero((entry_counts != 1).any(axis=1))
    if len(malformed_groups):
        group = malformed_groups[0]
        line = lines[int(np.argmax(half // 2 == group))]
        in_order, in_reverse = entry_counts[group]
        problem = (
            f"the entry appears {in_order} times and, with its subjects swapped, {in_reverse} "
            f"times (so {len(malformed_groups)} of {group_count} swap groups are malformed)"
        )
        raise InputError([Fault(str(path), f"line {line}", problem, "once in each order")])


def _check_names(path: Path, entries: pl.DataFrame, questions: pl.DataFrame) -> None:
    """Refuses keys whose subjects are not the subjects of the answers.

    The scores of the answers would go to the wrong subjects. A key may have another form of a
    subject than its template (`China`, `Chinese`), but not a form of another subject, and the same
    form in all keys of the template.

    Raises:
        InputError: with the line of such a key; if a template names a subject in two ways, the
            last one.
    """
    sides = []
    for place in (1, 2):
        subject = pl.col(f"subject{place}").cast(pl.String)
        side = entries.select("line", "template", subject=subject)
        # A plain question and its negation have the same answers.
        answer = questions[f"candidate{place}"].cast(pl.String).gather_every(2)
        sides.append(side.with_columns(answer=answer))
    names = pl.concat(sides).with_columns(pl.col("subject", "answer").str.to_lowercase())
    names = names.unique(["template", "subject", "answer"], keep="first", maintain_order=True)

    subjects = names["subject"].unique().implode()
    is_other_subject = pl.col("answer").is_in(subjects) & (pl.col("answer") != pl.col("subject"))
    is_ambiguous = (
        pl.struct("template", "answer").is_duplicated()
        | pl.struct("template", "subject").is_duplicated()
    )
    misnamed = names.filter(is_other_subject).head(1)
    if misnamed.is_empty():
        # The form that comes first in the file is taken as the right one.
        misnamed = names.filter(is_ambiguous).sort("line").tail(1)
    for line, _, subject_text, answer_text in misnamed.iter_rows():
        problem = f"the key names {subject_text!r}, but the answer is {answer_text!r}"
        expected = "the subject of the answer, named as in the other keys of the template"
        raise InputError([Fault(str(path), f"line {line}", problem, expected)])


def _predictions(questions: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Returns the predictions of an answer kind.

    Columns that a dump lacks, such as the tokens of subjects, are null.
    """
    list_sources = {"probabilities": "start", "starts": "start", "ends": "end"}
    columns: dict[str, pl.Expr] = {}
    for name, column in answer_schema(kind).columns.items():
        if name in list_sources:
            source = list_sources[name]
            columns[name] = pl.concat_list(f"{source}1", f"{source}2")
        elif name in questions.columns:
            columns[name] = pl.col(name)
        else:
            columns[name] = pl.lit(None, column.dtype.type)
    return questions.select(**columns)


def import_unqover(path: Path, folder: Path) -> list[Path]:
    """Reads a file of UnQover and writes it as `instances.parquet` and `predictions.parquet`.

    Returns:
        The tables that were written.

    Raises:
        InputError: see `read_unqover`.
    """
    tables = read_unqover(path)
    facts = table_provenance(dump={"file": path.name, "url": None, "sha256": file_digest(path)})
    if tables.predictions is not None:
        facts["scoring"] = "unqover"
    return write_imported(tables, folder, facts)


def import_dump(
    path: Path,
    origin: Mapping[str, str | None],
    task: str,
    scoring: str,
    subject_lists: Sequence[Path],
    folder: Path,
    provenance: Mapping[str, Any],
) -> None:
    """Writes a dump as a cell's instances and predictions.

    Args:
        path: the dump, an `output.json`.
        origin: `file`, `url` and `sha256` of the config; None for a missing key.
        task: the model's task.
        scoring: the scoring of the dump, see `base.sections.Scoring`.
        subject_lists: the subject lists of the dataset; without any, subjects are not checked.
        folder: the folder of `instances.parquet` and `predictions.parquet`.
        provenance: further facts for the tables.

    Raises:
        InputError: the dump has another digest, or answers of another task or dataset, or is
            malformed.
    """
    tables, digest = read_dump(path, origin["sha256"], task, subject_lists)
    facts = {"task": task, "scoring": scoring, "dump": {**origin, "sha256": digest}}
    write_imported(tables, folder, {**provenance, **facts})


def read_dump(
    path: Path, sha256: str | None, task: str, subject_lists: Sequence[Path]
) -> tuple[ImportedTables, str]:
    """Reads a dump of a cell, and its digest.

    Args:
        path: the dump.
        sha256: the digest that it must have; None for any.
        task: the model's task.
        subject_lists: see `import_dump`.

    Raises:
        InputError: as for `import_dump`.
    """
    digest = file_digest(path)
    if sha256 not in (None, digest):
        expected = f"{sha256}, as in the config"
        raise InputError([Fault(str(path), "", f"sha256 is {digest}", expected)])
    tables = read_unqover(path, TASK_FILE_TYPES[task])
    check_subjects(path, tables.instances, subject_lists)
    return tables, digest


def check_subjects(path: Path, instances: pl.DataFrame, subject_lists: Sequence[Path]) -> None:
    """Refuses a dump of another dataset; case does not count.

    Args:
        path: the dump, for messages.
        instances: its instances.
        subject_lists: the subject lists of the dataset. Without any, nothing is checked.

    Raises:
        InputError: none of its subjects is in a list, or the subject in a key is another one than
            the answer.
    """
    lines = subject_lines_by_name(subject_lists)
    if not lines:
        return
    subjects = instances["subject1"].unique().sort().to_list()
    if lines.keys().isdisjoint(name.casefold() for name in subjects):
        examples = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
        problem = f"none of its subjects ({examples}) is in {' or '.join(map(str, subject_lists))}"
        expected = "a dump of the dataset that the config lists it under"
        raise InputError([Fault(str(path), "", problem, expected)])
    for place in (1, 2):
        names = instances.select(f"subject{place}", f"candidate{place}")
        for subject, answer in names.unique(maintain_order=True).iter_rows():
            subject_lines = lines.get(subject.casefold())
            answer_lines = lines.get(answer.casefold())
            if subject_lines and answer_lines and subject_lines.isdisjoint(answer_lines):
                problem = f"a key names {subject!r}, but the answer is {answer!r}"
                expected = "the same subject of the lists in the key and the answer"
                raise InputError([Fault(str(path), "", problem, expected)])


def subject_lines_by_name(subject_lists: Sequence[Path]) -> dict[str, set[tuple[Path, int]]]:
    """Returns the lines of subject lists by the names in them, in lower case.

    A line is a file and a line number. The forms of a subject, such as China and Chinese, share a
    line. Lists with faults are used as far as they can be read.
    """
    lines: dict[str, set[tuple[Path, int]]] = {}
    for file in subject_lists:
        # Faults of the list are reported elsewhere: they are no faults of the dump.
        for terms in read_subjects(file, 1, []).forms.values():
            for line, name in enumerate(terms):
                lines.setdefault(name.casefold(), set()).add((file, line))
    return lines


def file_digest(path: Path) -> str:
    """Returns a file's sha256 in hexadecimal.

    Raises:
        InputError: it cannot be read.
    """
    with explain_unreadable(path, "a file of UnQover"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_imported(
    tables: ImportedTables, folder: Path, provenance: Mapping[str, Any]
) -> list[Path]:
    """Writes the tables of a file, and removes predictions of an earlier import.

    Returns:
        The paths of the tables.
    """
    instances, predictions = tables
    instances_path, predictions_path = folder / "instances.parquet", folder / "predictions.parquet"
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
        predictions_path.unlink(missing_ok=True)
    write_table(instances, instances_path, instances_schema(KEYS, instances.schema), provenance)
    if predictions is None:
        return [instances_path]
    schema = answer_schema("span" if "answer" in predictions.columns else "choice")
    write_table(predictions, predictions_path, schema, provenance)
    return [instances_path, predictions_path]
