"""Reads UnQover's `source.json` and `output.json` into tables.

The files may have several GB: entries are read one by one, and of every text the tables keep a
number only.
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
    file_type,
    read_key,
    read_number,
    read_questions,
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
    "number": pl.UInt32,
    "group1": pl.Categorical,
    "group2": pl.Categorical,
    "subject1": pl.Categorical,
    "subject2": pl.Categorical,
    "template": pl.UInt16,
    "attribute_group": pl.Categorical,
    "attribute": pl.Categorical,
}
"""Columns of an entry: its line in the file, its row number in `source.json`, and the fields of
`EntryNames`.
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
"""Columns of a question: the fields of `EntryQuestion`."""
UNUSED: dict[FileType, set[str]] = {
    "source": {"start1", "end1", "start2", "end2", "answer"},
    "spans": set(),
    "masks": {"end1", "end2", "answer"},
}
ANSWER_KINDS: dict[FileType, str] = {"spans": "span", "masks": "choice"}
KINDS_OF_TASKS: dict[str, FileType] = {"question-answering": "spans", "fill-mask": "masks"}


class Imported(NamedTuple):
    """The tables of a file.

    Attributes:
        instances: a whole table of the family's instances.
        predictions: answers of the kind `span` or `choice`, None of a `source.json`.
    """

    instances: pl.DataFrame
    predictions: pl.DataFrame | None


def read_unqover(path: Path, expected: FileType | None = None) -> Imported:
    """Reads a `source.json` or an `output.json`; its first entry shows which of them it is.

    Instances are in the order of the `source.json`. The `output.json` of a masked language model
    does not tell it: there they are in the order of the file, and the context is determined by
    `entries.split_context`.

    Args:
        path: the file.
        expected: the only kind of file to take, None for any.

    Raises:
        InputError: with file, line, and a description of what was expected.
    """
    all_members = members(path)
    first = next(all_members, None)
    if first is None:
        raise InputError([Fault(str(path), "", "no entries", "at least one swap group")])
    try:
        kind = file_type(first.value)
        if expected not in (None, kind):
            problem = f"an entry of {FILE_TYPES[kind]}"
            raise Malformed(problem, f"an entry of {FILE_TYPES[expected]}")
    except Malformed as error:
        raise _at(path, first, error) from None
    batches = list(_batches(path, chain([first], all_members), kind))
    entries = pl.concat([batch_entries for batch_entries, _ in batches])
    questions = pl.concat([batch_questions for _, batch_questions in batches])
    del batches
    if kind == "spans":
        entries, questions = _in_source_order(path, entries, questions)
    groups = _swap_groups(entries)
    _check_halves(path, groups, entries["line"])
    _check_names(path, entries, questions)

    # Every entry is followed by its negation, which shares its keys.
    keys = groups.with_columns(entries.drop("line", "number").get_columns())
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
    if kind in ANSWER_KINDS:
        predictions = _predictions(questions, ANSWER_KINDS[kind])
    return Imported(instances, predictions)


def _batches(
    path: Path, entries: Iterable[Member], kind: FileType
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yields entries and their questions, two rows each, with the columns of a kind of file."""
    parsed = _parse(path, entries, kind)
    kept = [name for name in QUESTION_COLUMNS if name not in UNUSED[kind]]
    while True:
        batch = list(islice(parsed, BATCH))
        if not batch:
            return
        names = [entry for entry, _, _ in batch]
        questions = [question for _, *both in batch for question in both]
        yield _as_table(names, ENTRY_COLUMNS), _as_table(questions, QUESTION_COLUMNS).select(kept)


def _as_table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Returns rows as a table; from columns polars makes it several times as fast as from rows."""
    values = zip(*rows, strict=True)
    series = [
        pl.Series(name, column, dtype)
        for (name, dtype), column in zip(columns.items(), values, strict=True)
    ]
    return pl.DataFrame(series)


def _parse(
    path: Path, entries: Iterable[Member], kind: FileType
) -> Iterator[tuple[tuple[Any, ...], EntryQuestion, EntryQuestion]]:
    """Yields for each entry the fields of `ENTRY_COLUMNS` and its two questions.

    Raises:
        InputError: an entry is malformed, with its line and key.
    """
    for count, member in enumerate(entries):
        line, key, entry = member
        try:
            kind_of_entry = file_type(entry)
            if kind_of_entry != kind:
                expected = f"an entry of {FILE_TYPES[kind]}, like the first one"
                raise Malformed(f"an entry of {FILE_TYPES[kind_of_entry]}", expected)
            number = read_number(entry, count)
            names = read_key(key)
            plain, negated = read_questions(entry, kind)
        except Malformed as error:
            raise _at(path, member, error) from None
        yield (line, number, *names), plain, negated


def _at(path: Path, member: Member, error: Malformed) -> InputError:
    """Returns the error of a malformed entry, with its place in the file."""
    where = f"line {member.line}, entry {member.key!r}"
    return InputError([Fault(str(path), where, error.problem, error.expected)])


def _in_source_order(
    path: Path, entries: pl.DataFrame, questions: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns entries and their questions in the order of the `source.json`.

    The table of questions that is passed loses its columns.

    Raises:
        InputError: two entries have one row number.
    """
    order = np.argsort(entries["number"].to_numpy(), kind="stable").astype(np.uint32)
    entries = entries[order]
    numbers = entries["number"].to_numpy()
    repeated = np.flatnonzero(numbers[1:] == numbers[:-1])
    if len(repeated):
        first = int(repeated[0])
        where = f"line {entries['line'][first + 1]}"
        problem = f'"line": {numbers[first]} appears twice'
        expected = "the row number in source.json, each number once"
        raise InputError([Fault(str(path), where, problem, expected)])
    rows = np.repeat(2 * order, 2)
    rows[1::2] += 1
    # Column by column, so that there is no moment at which the whole table is there twice.
    ordered = [questions.drop_in_place(name)[rows] for name in questions.columns]
    return entries, pl.DataFrame(ordered)


def _swap_groups(entries: pl.DataFrame) -> pl.DataFrame:
    """Returns `swap_group` and `swapped` of entries.

    As in the expansion of word lists, swap groups are numbered as they appear, and the order of a
    pair's subjects that appears first is not swapped.
    """
    first_subject = entries["subject1"].to_physical()
    second_subject = entries["subject2"].to_physical()
    pairs = entries.select(
        *ITEM,
        low=pl.min_horizontal(first_subject, second_subject),
        high=pl.max_horizontal(first_subject, second_subject),
    )
    pair, first_row = number_rows(pairs, ["low", "high"])
    groups = number_rows(pairs.select(*ITEM, pair=pl.Series(pair)), ["pair", *ITEM])
    swapped = first_subject != first_subject.gather(first_row).gather(pair)
    swap_group = pl.Series(groups.numbers, dtype=pl.UInt32)
    return pl.DataFrame({"swap_group": swap_group, "swapped": swapped})


def _check_halves(path: Path, groups: pl.DataFrame, lines: pl.Series) -> None:
    """Refuses swap groups that have not exactly one entry for either order of their subjects."""
    half = 2 * groups["swap_group"].to_numpy().astype(np.int64) + groups["swapped"].to_numpy()
    group_count = int(half.max()) // 2 + 1
    counts = np.bincount(half, minlength=2 * group_count).reshape(-1, 2)
    malformed = np.flatnonzero((counts != 1).any(axis=1))
    if len(malformed):
        line = lines[int(np.argmax(half // 2 == malformed[0]))]
        in_order, swapped = counts[malformed[0]]
        problem = (
            f"the entry appears {in_order} times and, with its subjects swapped, {swapped} times "
            f"(so {len(malformed)} of {len(counts)} swap groups are malformed)"
        )
        raise InputError([Fault(str(path), f"line {line}", problem, "once in each order")])


def _check_names(path: Path, entries: pl.DataFrame, questions: pl.DataFrame) -> None:
    """Refuses keys that name other subjects than the answers, to which their scores would go.

    A key may name a subject otherwise than its template does (`China`, `Chinese`), but not as
    another subject is named, nor otherwise than the other keys of the template.

    Raises:
        InputError: with the line of the first one.
    """
    sides = []
    for number in (1, 2):
        subject = pl.col(f"subject{number}").cast(pl.String)
        side = entries.select("line", "template", subject=subject)
        # Questions come in pairs, which share their answers.
        answer = questions[f"candidate{number}"].cast(pl.String).gather_every(2)
        sides.append(side.with_columns(answer=answer))
    names = pl.concat(sides).with_columns(pl.col("subject", "answer").str.to_lowercase())
    names = names.unique(["template", "subject", "answer"], keep="first", maintain_order=True)

    subjects = names["subject"].unique().implode()
    is_other_subject = pl.col("answer").is_in(subjects) & (pl.col("answer") != pl.col("subject"))
    is_ambiguous = (
        pl.struct("template", "answer").is_duplicated()
        | pl.struct("template", "subject").is_duplicated()
    )
    wrong = names.filter(is_other_subject).head(1)
    if wrong.is_empty():
        wrong = names.filter(is_ambiguous).sort("line").tail(1)
    for line, _, subject_text, answer_text in wrong.iter_rows():
        problem = f"the key names {subject_text!r}, but the answer is {answer_text!r}"
        expected = "the subject of the answer, named as in the other keys of the template"
        raise InputError([Fault(str(path), f"line {line}", problem, expected)])


def _predictions(questions: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Returns the predictions of an answer kind.

    Columns that a dump does not tell, such as the tokens of subjects, are null.
    """
    numbers = {"probabilities": "start", "starts": "start", "ends": "end"}
    columns: dict[str, pl.Expr] = {}
    for name, column in answer_schema(kind).columns.items():
        if name in numbers:
            number = numbers[name]
            columns[name] = pl.concat_list(f"{number}1", f"{number}2")
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
    """Writes a dump as a cell's instances and predictions.

    Args:
        path: the dump, an `output.json`.
        origin: `file`, `url` and `sha256` of the config; None for a key that is missing.
        task: the model's task.
        scoring: the way in which the dump was scored.
        subject_lists: the subject lists of the dataset, empty if they are not at hand.
        folder: the folder of `instances.parquet` and `predictions.parquet`.
        provenance: facts for the tables, besides those that are added here.

    Raises:
        InputError: the dump has another digest, or answers of another task or dataset, or is
            malformed.
    """
    imported, digest = read_dump(path, origin["sha256"], task, subject_lists)
    facts = {"task": task, "scoring": scoring, "dump": {**origin, "sha256": digest}}
    write_imported(imported, folder, {**provenance, **facts})


def read_dump(
    path: Path, sha256: str | None, task: str, subject_lists: Sequence[Path]
) -> tuple[Imported, str]:
    """Reads a dump of a cell, and its digest; see `import_dump`."""
    digest = file_digest(path)
    if sha256 not in (None, digest):
        expected = f"{sha256}, as in the config"
        raise InputError([Fault(str(path), "", f"sha256 is {digest}", expected)])
    imported = read_unqover(path, KINDS_OF_TASKS[task])
    check_subjects(path, imported.instances, subject_lists)
    return imported, digest


def check_subjects(path: Path, instances: pl.DataFrame, subject_lists: Sequence[Path]) -> None:
    """Refuses a dump of another dataset.

    Its subjects are in no list, or an answer is another subject than its key. Case does not count.

    Raises:
        InputError: with some of its subjects, or with the first key and answer that differ.
    """
    lines = lines_of_subjects(subject_lists)
    if not lines:
        return
    subjects = instances["subject1"].unique().sort().to_list()
    if lines.keys().isdisjoint(name.casefold() for name in subjects):
        examples = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
        problem = f"none of its subjects ({examples}) is in {' or '.join(map(str, subject_lists))}"
        expected = "a dump of the dataset that the config lists it under"
        raise InputError([Fault(str(path), "", problem, expected)])
    for number in (1, 2):
        names = instances.select(f"subject{number}", f"candidate{number}")
        for subject, answer in names.unique(maintain_order=True).iter_rows():
            subject_lines = lines.get(subject.casefold())
            answer_lines = lines.get(answer.casefold())
            if subject_lines and answer_lines and subject_lines.isdisjoint(answer_lines):
                problem = f"a key names {subject!r}, but the answer is {answer!r}"
                expected = "the same subject of the lists in the key and the answer"
                raise InputError([Fault(str(path), "", problem, expected)])


def lines_of_subjects(subject_lists: Sequence[Path]) -> dict[str, set[tuple[Path, int]]]:
    """Returns the lines, by file, in which subject lists have each name, in lower case.

    A subject's forms, such as China and Chinese, share a line.
    """
    lines: dict[str, set[tuple[Path, int]]] = {}
    for file in subject_lists:
        # A list with faults is no fault of the dump: only what can be read of it is compared.
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


def write_imported(imported: Imported, folder: Path, provenance: Mapping[str, Any]) -> list[Path]:
    """Writes the tables of a file; returns their paths."""
    instances, predictions = imported
    predictions_path = folder / "predictions.parquet"
    tables = [(folder / "instances.parquet", instances, instances_schema(KEYS, instances.schema))]
    if predictions is not None:
        schema = answer_schema("span" if "answer" in predictions.columns else "choice")
        tables.append((predictions_path, predictions, schema))
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Predictions of an earlier import must not stay beside other instances.
        predictions_path.unlink(missing_ok=True)
    for path, table, schema in tables:
        write_table(table, path, schema, provenance)
    return [path for path, _, _ in tables]
