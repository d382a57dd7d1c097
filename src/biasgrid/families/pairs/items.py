"""Pairs of sentences in any layout of files, and a reader of tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.text import read_text
from biasgrid.families.sampling import Sample, sample_content

STEREO, ANTISTEREO = "stereo", "antistereo"
DIRECTIONS = {STEREO: STEREO, ANTISTEREO: ANTISTEREO, "0": STEREO, "1": ANTISTEREO}
"""Directions by their words in files, or by the numbers of classes in their place.

The copy of lm-evaluation-harness has the numbers.
"""
MORE, LESS, UNRELATED = "more", "less", "unrelated"
ROLES = (MORE, LESS, UNRELATED)
"""Roles of sentences in a pair: they state the stereotype more, less, or are unrelated to it."""
INTRASENTENCE: Literal["intrasentence"] = "intrasentence"
INTERSENTENCE: Literal["intersentence"] = "intersentence"
TASKS = (INTRASENTENCE, INTERSENTENCE)
"""StereoSet's: a word at a blank, or a sentence that follows another one."""
ALONE, PARTNER, CONTEXT, CHOICE = "alone", "partner", "context", "choice"
"""Texts that a model reads: a sentence alone, with its partner, with its context, or a choice."""
DELIMITERS = (",", "\t", ";")


@dataclass(frozen=True)
class PairFiles:
    """The files of a dataset, and how its pairs are asked.

    Attributes:
        files: the files.
        layout: their layout, a key of `reading.LAYOUTS`.
        tasks: the tasks of StereoSet that are read.
        variant: the texts that a model reads: `ALONE`, `PARTNER`, `CONTEXT` or `CHOICE`.
        prompt: with `CHOICE`, the prompt.
        system: with `CHOICE`, the system text, None if there is none.
        sample: the sample of pairs that are asked, None for all.
    """

    files: tuple[Path, ...]
    layout: str
    tasks: tuple[str, ...]
    variant: str
    prompt: str
    system: str | None
    sample: Sample | None


@dataclass(frozen=True)
class SentencePair:
    """Two sentences about different people, or with different statements about them.

    Attributes:
        name: its id, unique in a dataset.
        more: the sentence that states the stereotype more.
        less: the sentence that states it less.
        type: the bias type.
        direction: of CrowS-Pairs: whether the disadvantaged group is in `more` (`stereo`) or in
            `less` (`antistereo`); None if it is unknown.
        cluster: the cluster of pairs that reword each other; None if it is a cluster by itself.
        writer: the person who wrote it, None if unknown.
        is_doubted: whether too few annotators named its type; None without annotations.
        target: of StereoSet, the term that both are about.
        task: of StereoSet, one of `TASKS`.
        context: of StereoSet, the sentence with a blank, or the sentence before.
        unrelated: of StereoSet, a third sentence that makes no sense.
        ids: of StereoSet, the ids of the sentences, in the order of `ROLES`.
        where: its line, or the path of its key, for messages.
    """

    name: str
    more: str
    less: str
    type: str
    direction: str | None = None
    cluster: str | None = None
    writer: str | None = None
    is_doubted: bool | None = None
    target: str | None = None
    task: str | None = None
    context: str | None = None
    unrelated: str | None = None
    ids: tuple[str, ...] = ()
    where: str = ""

    def sentence(self, role: str) -> str | None:
        """Returns the sentence of a role, None if there is none."""
        return {MORE: self.more, LESS: self.less, UNRELATED: self.unrelated}[role]

    def sentence_id(self, role: str) -> str:
        """Returns the id of a sentence, with which published scores are matched."""
        return self.ids[ROLES.index(role)] if self.ids else f"{self.name}/{role}"

    @property
    def first(self) -> str:
        """The role of the sentence about the disadvantaged group, the first in original code."""
        return LESS if self.direction == ANTISTEREO else MORE


@dataclass(frozen=True)
class PairSet:
    """The pairs of a dataset.

    Attributes:
        files: their files, and how they are asked.
        pairs: the pairs.
    """

    files: PairFiles
    pairs: tuple[SentencePair, ...]

    @cached_property
    def templates(self) -> dict[str, int]:
        """The numbers of clusters by their names; a pair without one is a cluster by itself."""
        names = dict.fromkeys(pair.cluster or pair.name for pair in self.pairs)
        return {name: number for number, name in enumerate(names)}

    def template(self, pair: SentencePair) -> int:
        """Returns the number of a pair's cluster."""
        return self.templates[pair.cluster or pair.name]

    def roles(self, pair: SentencePair) -> list[str]:
        """Returns the roles of the sentences of a pair that models are asked about.

        Of a choice, each is the role of the sentence that comes first.
        """
        roles = ROLES if self.files.variant in (ALONE, CONTEXT) else (MORE, LESS)
        return [role for role in roles if pair.sentence(role) is not None]

    @property
    def count(self) -> int:
        """How many instances there are without a sample."""
        return sum(len(self.roles(pair)) for pair in self.pairs)

    def digest(self) -> str:
        """Digests the content of the instances: pairs, variant, prompt and sample."""
        files = self.files
        options: list[Any] = [files.variant]
        if files.variant == CHOICE:
            options += [files.prompt, files.system]
        options.append(sample_content(files.sample) if files.sample else None)
        # The same pairs in other lines of a file are the same instances.
        pairs = [astuple(replace(pair, where="")) for pair in self.pairs]
        return sha256(json.dumps([options, pairs]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PairRecord:
    """A row of a file, whose fields are checked as they are read.

    Attributes:
        file: the file.
        where: the place of the row.
        values: its values by column.
        faults: the list to which faults are added.
    """

    file: str
    where: str
    values: Mapping[str, str | None]
    faults: list[Fault]

    def refuse(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault of a field."""
        self.faults.append(Fault(self.file, f"{self.where}, {field}", problem, expected))

    def text(self, field: str) -> str:
        """Returns a text as it is in the file; adds a fault if it is empty."""
        value = self.values.get(field) or ""
        if not value.strip():
            self.refuse(field, "empty", "text")
        return value

    def optional(self, field: str) -> str | None:
        """Returns a stripped text, None if there is none."""
        return (self.values.get(field) or "").strip() or None

    def direction(self, field: str, *, is_needed: bool) -> str | None:
        """Returns a direction, by its word or its number; None if there is none.

        Args:
            field: the column.
            is_needed: whether no direction is a fault.
        """
        value = self.optional(field)
        if value in DIRECTIONS:
            return DIRECTIONS[value]
        if value is not None:
            self.refuse(field, repr(value), one_of(DIRECTIONS))
        elif is_needed:
            self.refuse(field, "empty", one_of(DIRECTIONS))
        return None

    def check_sentences(self, fields: tuple[str, str]) -> tuple[str, str]:
        """Returns both sentences; adds a fault if they do not differ."""
        first_field, second_field = fields
        first, second = self.text(first_field), self.text(second_field)
        if first.strip() and first == second:
            problem = f"the same sentence as {first_field}"
            self.refuse(second_field, problem, "two sentences that differ")
        return first, second


def table_records(
    path: Path, columns: tuple[str, ...], expected: str, faults: list[Fault]
) -> Iterator[PairRecord]:
    """Yields the rows of a table of text, whose columns are divided by commas, tabs or semicolons.

    Args:
        path: the file.
        columns: the columns that it must have; others may be there.
        expected: a description of the file, for faults.
        faults: the list to which faults are added.
    """
    file = str(path)
    try:
        lines = read_text(path, expected).splitlines(keepends=True)
    except InputError as error:
        faults += error.faults
        return
    header = lines[0] if lines else ""
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        missing = list(missing_column_faults(file, names, columns, expected))
        if missing:
            faults += missing
            return
        reader.fieldnames = names
        for row in reader:
            record = PairRecord(file, f"line {reader.line_num}", row, faults)
            # The reader puts further values under None, and None in place of missing ones.
            if None in row or None in row.values():
                problem = f"not the same number of values as the {len(names)} columns of line 1"
                record.refuse("columns", problem, "a value for each column")
            else:
                yield record
    except csv.Error as error:
        where = f"line {reader.line_num}"
        faults.append(Fault(file, where, f"cannot be read ({error})", expected))


def missing_column_faults(
    file: str, names: Sequence[str], columns: Sequence[str], expected: str
) -> Iterator[Fault]:
    """Yields the columns that are not among the names in the first line of a table."""
    for name in columns:
        if name not in names:
            problem = f"no column {name!r}{nearest_name(name, names)}"
            yield Fault(file, "line 1", problem, expected)
