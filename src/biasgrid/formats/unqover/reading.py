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
from biasgrid.families.underspecified.keys import KEYS
from biasgrid.families.underspecified.lists.subjects import read_subjects
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
"""What is read of an entry: its line in the file, its row number in `source.json`, and the fields
of `Names`.
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
"""What is read of a question: the fields of `Question`."""
UNUSED: dict[FileType, set[str]] = {
    "source": {"start1", "end1", "start2", "end2", "answer"},
    "spans": set(),
    "masks": {"end1", "end2", "answer"},
}
ANSWER_KINDS: dict[FileType, str] = {"spans": "span", "masks": "choice"}
KINDS_OF_TASKS: dict[str, FileType] = {"question-answering": "spans", "fill-mask": "masks"}


class Imported(NamedTuple):
    """What was read.

    Attributes:
        instances: a whole table of the family's instances.
        predictions: answers of the kind `span` or `choice`, None of a `source.json`.
    """

    instances: pl.DataFrame
    predictions: pl.DataFrame | None


def read_unqover(path: Path, expected: FileType | None = None) -> Imported:
    """Reads a `source.json` or an `output.json`; which of them it is shows in its first entry.

    Instances are in the order of the `source.json`. The `output.json` of a masked language model
    does not tell it: there they are in the order of the file, and the context is what
    `entries.split_context` takes for it.

    Args:
        path: the file.
        expected: the only kind of file to take, None for any.

    Raises:
        InputError: with file, line, and what was expected.
    """
    found = members(path)
    first = next(found, None)
    if first is None:
        raise InputError([Fault(str(path), "", "no entries", "at least one swap group")])
    try:
        kind = file_type(first.value)
        if expected not in (None, kind):
            raise Malformed(
                f"an entry of {FILE_TYPES[kind]}", f"an entry of {FILE_TYPES[expected]}"
            )
    except Malformed as error:
        raise _at(path, first, error) from None
    entries, questions = map(
        pl.concat, zip(*_batches(path, chain([first], found), kind), strict=True)
    )
    if kind == "spans":
        entries, questions = _in_source_order(path, entries, questions)
    groups = _swap_groups(entries)
    _check_halves(path, groups, entries["line"])
    _check_names(path, entries, questions)
    shared = groups.with_columns(entries.drop("line", "number").get_columns())
    rows = np.arange(questions.height, dtype=np.uint32)
    questions = questions.with_columns(
        instance=pl.Series(rows),
        asked_before=Repetitions().asked_before(digest_rows(questions)),
        system=pl.lit(None, pl.Categorical),
        negated=pl.Series(rows % 2 == 1),
        **{name: shared[name][rows // 2] for name in shared.columns},
    )
    instances = questions.select(list(instances_schema(KEYS, questions.schema).columns))
    return Imported(
        instances, _predictions(questions, ANSWER_KINDS[kind]) if kind in ANSWER_KINDS else None
    )


def _batches(
    path: Path, entries: Iterable[Member], kind: FileType
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yields entries, and their questions (two rows each) with the columns that a kind of file
    has.
    """
    parsed = _parse(path, entries, kind)
    kept = [name for name in QUESTION_COLUMNS if name not in UNUSED[kind]]
    while batch := list(islice(parsed, BATCH)):
        names = _as_table((entry for entry, _, _ in batch), ENTRY_COLUMNS)
        questions = _as_table(
            (question for _, *both in batch for question in both), QUESTION_COLUMNS
        )
        yield names, questions.select(kept)


def _as_table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Returns rows as a table; from columns polars makes it several times as fast as from rows."""
    values = zip(*rows, strict=True)
    return pl.DataFrame(
        [
            pl.Series(name, column, dtype)
            for (name, dtype), column in zip(columns.items(), values, strict=True)
        ]
    )


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
            found = file_type(entry)
            if found != kind:
                raise Malformed(
                    f"an entry of {FILE_TYPES[found]}",
                    f"an entry of {FILE_TYPES[kind]}, like the first one",
                )
            number, names = read_number(entry, count), read_key(key)
            plain, negated = read_questions(entry, kind)
        except Malformed as error:
            raise _at(path, member, error) from None
        yield (line, number, *names), plain, negated


def _at(path: Path, member: Member, error: Malformed) -> InputError:
    """Says where a malformed entry is."""
    where = f"line {member.line}, entry {member.key!r}"
    return InputError([Fault(str(path), where, error.problem, error.expected)])


def _in_source_order(
    path: Path, entries: pl.DataFrame, questions: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns entries and their questions in the order of the `source.json`; takes the columns of
    the questions away.

    Raises:
        InputError: two entries have one row number.
    """
    order = np.argsort(entries["number"].to_numpy(), kind="stable").astype(np.uint32)
    entries = entries[order]
    numbers = entries["number"].to_numpy()
    repeated = np.flatnonzero(numbers[1:] == numbers[:-1])
    if len(repeated):
        where, number = f"line {entries['line'][int(repeated[0]) + 1]}", numbers[repeated[0]]
        expected = "the row number in source.json, each number once"
        raise InputError([Fault(str(path), where, f'"line": {number} appears twice', expected)])
    rows = np.repeat(2 * order, 2)
    rows[1::2] += 1
    # Column by column, so that there is no moment at which the whole table is there twice.
    return entries, pl.DataFrame(
        [questions.drop_in_place(name)[rows] for name in questions.columns]
    )


def _swap_groups(entries: pl.DataFrame) -> pl.DataFrame:
    """Returns `swap_group` and `swapped` of entries.

    As where word lists are expanded, swap groups are numbered as they appear, and that order of a
    pair's subjects which appears first is not swapped.
    """
    one, two = (entries[f"subject{which}"].to_physical() for which in (1, 2))
    keyed = entries.select(*ITEM, low=pl.min_horizontal(one, two), high=pl.max_horizontal(one, two))
    pair, first = number_rows(keyed, ["low", "high"])
    group = number_rows(keyed.select(*ITEM, pair=pl.Series(pair)), ["pair", *ITEM]).numbers
    swapped = one != one.gather(first).gather(pair)
    return pl.DataFrame({"swap_group": pl.Series(group, dtype=pl.UInt32), "swapped": swapped})


def _check_halves(path: Path, groups: pl.DataFrame, lines: pl.Series) -> None:
    """Refuses swap groups that have not exactly one entry for either order of their subjects."""
    half = 2 * groups["swap_group"].to_numpy().astype(np.int64) + groups["swapped"].to_numpy()
    counts = np.bincount(half, minlength=2 * (int(half.max()) // 2 + 1)).reshape(-1, 2)
    malformed = np.flatnonzero((counts != 1).any(axis=1))
    if len(malformed):
        line = lines[int(np.argmax(half // 2 == malformed[0]))]
        one, other = counts[malformed[0]]
        problem = f"the entry appears {one} times and, with its subjects swapped, {other} times"
        problem += f" (so {len(malformed)} of {len(counts)} swap groups are malformed)"
        raise InputError([Fault(str(path), f"line {line}", problem, "once in each order")])


def _check_names(path: Path, entries: pl.DataFrame, questions: pl.DataFrame) -> None:
    """Refuses keys that name other subjects than the answers, to which their scores would go.

    A key may name a subject otherwise than its template does (`China`, `Chinese`), but not as
    another subject is named, nor otherwise than the other keys of the template.

    Raises:
        InputError: with the line of the first one.
    """
    sides = [
        entries.select(
            "line", "template", subject=pl.col(f"subject{which}").cast(pl.String)
        ).with_columns(answer=questions[f"candidate{which}"].cast(pl.String).gather_every(2))
        for which in (1, 2)
    ]
    named = pl.concat(sides).with_columns(pl.col("subject", "answer").str.to_lowercase())
    distinct_names = named.unique(
        ["template", "subject", "answer"], keep="first", maintain_order=True
    )
    subjects = distinct_names["subject"].unique().implode()
    others = pl.col("answer").is_in(subjects) & (pl.col("answer") != pl.col("subject"))
    twice = (
        pl.struct("template", "answer").is_duplicated()
        | pl.struct("template", "subject").is_duplicated()
    )
    wrong = distinct_names.filter(others).head(1)
    wrong = wrong if len(wrong) else distinct_names.filter(twice).sort("line").tail(1)
    for line, _, subject, answer in wrong.iter_rows():
        problem = f"the key names {subject!r}, but the answer is {answer!r}"
        expected = "the subject of the answer, named as in the other keys of the template"
        raise InputError([Fault(str(path), f"line {line}", problem, expected)])


def _predictions(questions: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Returns the predictions of an answer kind; what a dump does not tell, such as the tokens of
    subjects, is null.
    """
    numbers = {"probabilities": "start", "starts": "start", "ends": "end"}
    schema = answer_schema(kind).columns
    known = {
        name: pl.concat_list(f"{numbers[name]}{which}" for which in (1, 2))
        for name in schema
        if name in numbers
    }
    kept = {name: pl.col(name) for name in schema if name in questions.columns}
    nothing = {name: pl.lit(None, column.dtype.type) for name, column in schema.items()}
    return questions.select(**nothing | kept | known)


def import_unqover(path: Path, folder: Path) -> list[Path]:
    """Reads a file of UnQover and writes what it holds as `instances.parquet` and
    `predictions.parquet`.

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
        InputError: the dump has another digest, or answers of another task or dataset, or is
            malformed.
    """
    imported, found = read_dump(path, origin["sha256"], task, subject_lists)
    facts = {"task": task, "scoring": scoring, "dump": {**origin, "sha256": found}}
    write_imported(imported, folder, {**provenance, **facts})


def read_dump(
    path: Path, sha256: str | None, task: str, subject_lists: Sequence[Path]
) -> tuple[Imported, str]:
    """Reads a dump that stands in place of a cell, and its digest; see `import_dump`."""
    found = file_digest(path)
    if sha256 not in (None, found):
        raise InputError(
            [Fault(str(path), "", f"sha256 is {found}", f"{sha256}, as in the config")]
        )
    imported = read_unqover(path, KINDS_OF_TASKS[task])
    check_subjects(path, imported.instances, subject_lists)
    return imported, found


def check_subjects(path: Path, instances: pl.DataFrame, subject_lists: Sequence[Path]) -> None:
    """Refuses a dump of another dataset: its subjects are in no list, or an answer is another
    subject than its key.

    Case does not count.

    Raises:
        InputError: with some of its subjects, or with the first key and answer that differ.
    """
    lines: dict[str, set[tuple[Path, int]]] = {}
    for file in subject_lists:
        # A list with faults is no fault of the dump: what can be read of it is compared. A
        # subject's forms, such as China and Chinese, are in one line of each column.
        for terms in read_subjects(file, 1, []).forms.values():
            for line, name in enumerate(terms):
                lines.setdefault(name.casefold(), set()).add((file, line))
    subjects = instances["subject1"].unique().sort().to_list()
    if lines and lines.keys().isdisjoint(name.casefold() for name in subjects):
        some = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
        problem = f"none of its subjects ({some}) is in {' or '.join(map(str, subject_lists))}"
        raise InputError(
            [Fault(str(path), "", problem, "a dump of the dataset that the config lists it under")]
        )
    for which in (1, 2):
        pairs = instances.select(f"subject{which}", f"candidate{which}").unique(maintain_order=True)
        for subject, answer in pairs.iter_rows():
            named, answered = lines.get(subject.casefold()), lines.get(answer.casefold())
            if named and answered and named.isdisjoint(answered):
                problem = f"a key names {subject!r}, but the answer is {answer!r}"
                raise InputError(
                    [
                        Fault(
                            str(path),
                            "",
                            problem,
                            "the same subject of the lists in the key and the answer",
                        )
                    ]
                )


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
    tables = [(folder / "instances.parquet", instances, instances_schema(KEYS, instances.schema))]
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
