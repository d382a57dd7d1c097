"""Pairs of sentences as they are read, whatever the layout of their file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.text import read_text
from biasgrid.families.sampling import Sample, sample_content

STEREO, ANTISTEREO = "stereo", "antistereo"
DIRECTIONS = {STEREO: STEREO, ANTISTEREO: ANTISTEREO, "0": STEREO, "1": ANTISTEREO}
"""By what files say: the words, or the numbers of classes that lm-evaluation-harness's copy has in
their place.
"""
MORE, LESS, UNRELATED = "more", "less", "unrelated"
ROLES = (MORE, LESS, UNRELATED)
"""What a sentence is in its pair: it states the stereotype more, less, or nothing that has to do
with it.
"""
INTRASENTENCE: Literal["intrasentence"] = "intrasentence"
INTERSENTENCE: Literal["intersentence"] = "intersentence"
TASKS = (INTRASENTENCE, INTERSENTENCE)
"""StereoSet's: a word at a blank, or a sentence that follows another one."""
ALONE, PARTNER, CONTEXT, CHOICE = "alone", "partner", "context", "choice"
"""What a model reads: a sentence alone, beside its partner, beside its context, or both sentences
to choose from.
"""
DELIMITERS = (",", "\t", ";")


@dataclass(frozen=True)
class PairFiles:
    """What makes the instances of a dataset.

    Attributes:
        files: the files.
        layout: how they are written, a module of `layouts`.
        tasks: those of StereoSet's tasks that are read.
        variant: what a model reads: `ALONE`, `PARTNER`, `CONTEXT` or `CHOICE`.
        prompt: with `CHOICE`, what a model is asked.
        system: with `CHOICE`, the system text, None where there is none.
        sample: which pairs are asked, None for all.
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
    """Two sentences that differ in whom, or in what they say of somebody.

    Attributes:
        name: its id, unique in a dataset.
        more: the sentence that states the stereotype more.
        less: the one that states it less.
        type: the bias type.
        direction: of CrowS-Pairs: whether the disadvantaged group is in `more` (`stereo`) or in
            `less`; None where it is not said.
        cluster: what pairs that reword each other have in common; None where each stands for
            itself.
        writer: who wrote it, None where that is not said.
        is_doubted: whether too few annotators named its type; None where none are known.
        target: of StereoSet, the term that both are about.
        task: of StereoSet, one of `TASKS`.
        context: of StereoSet, the sentence with a blank, or the one before.
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
        """Returns the sentence of a role, None where there is none."""
        return {MORE: self.more, LESS: self.less, UNRELATED: self.unrelated}[role]

    def sentence_id(self, role: str) -> str:
        """Returns the id of a sentence, by which published scores are found."""
        return self.ids[ROLES.index(role)] if self.ids else f"{self.name}/{role}"

    @property
    def first(self) -> str:
        """The role of the sentence that original code calls the first: the one about the
        disadvantaged group.
        """
        return LESS if self.direction == ANTISTEREO else MORE


@dataclass(frozen=True)
class PairSet:
    """The pairs of a dataset.

    Attributes:
        files: where they come from, and how they are asked.
        pairs: the pairs.
    """

    files: PairFiles
    pairs: tuple[SentencePair, ...]

    @cached_property
    def templates(self) -> dict[str, int]:
        """The numbers of clusters of pairs, by the cluster or, of pairs without one, by their
        names.
        """
        names = (pair.cluster or pair.name for pair in self.pairs)
        return {name: place for place, name in enumerate(dict.fromkeys(names))}

    def template(self, pair: SentencePair) -> int:
        """Returns the number of a pair's cluster."""
        return self.templates[pair.cluster or pair.name]

    def roles(self, pair: SentencePair) -> list[str]:
        """Returns by which sentences of a pair models are asked, each once; of a choice, the one
        that stands first.
        """
        roles = ROLES if self.files.variant in (ALONE, CONTEXT) else (MORE, LESS)
        return [role for role in roles if pair.sentence(role) is not None]

    @property
    def count(self) -> int:
        """How many instances there are without a sample."""
        return sum(len(self.roles(pair)) for pair in self.pairs)

    def digest(self) -> str:
        """A digest of what makes the instances."""
        files = self.files
        sample = sample_content(files.sample) if files.sample else None
        asked = [
            files.variant,
            *((files.prompt, files.system) if files.variant == CHOICE else ()),
            sample,
        ]
        pairs = [astuple(replace(pair, where="")) for pair in self.pairs]
        return sha256(json.dumps([asked, pairs]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PairRecord:
    """A row of a file, whose fields are checked as they are read; what is wrong is added to the
    faults.

    Attributes:
        file: the file.
        where: its place.
        values: what stands in it, by column.
        faults: takes what is wrong.
    """

    file: str
    where: str
    values: Mapping[str, str | None]
    faults: list[Fault]

    def refuse(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault of a field."""
        self.faults.append(Fault(self.file, f"{self.where}, {field}", problem, expected))

    def text(self, field: str) -> str:
        """Returns a text as it stands there; empty where there is none."""
        value = self.values.get(field) or ""
        if not value.strip():
            self.refuse(field, "empty", "text")
        return value

    def optional(self, field: str) -> str | None:
        """Returns a text, None where there is none."""
        return (self.values.get(field) or "").strip() or None

    def direction(self, field: str, *, is_needed: bool) -> str | None:
        """Returns a direction, by its word or its number."""
        value = self.optional(field)
        if value is None and not is_needed:
            return None
        if value not in DIRECTIONS:
            self.refuse(field, "empty" if value is None else repr(value), one_of(DIRECTIONS))
        return DIRECTIONS.get(value or "")

    def check_sentences(self, fields: tuple[str, str]) -> tuple[str, str]:
        """Returns both sentences, which must differ."""
        one, other = (self.text(field) for field in fields)
        if one.strip() and one == other:
            self.refuse(fields[1], f"the same sentence as {fields[0]}", "two sentences that differ")
        return one, other


def table_records(
    path: Path, columns: tuple[str, ...], expected: str, faults: list[Fault]
) -> Iterator[PairRecord]:
    """Yields the rows of a table of text, whose columns are divided by commas, tabs or semicolons.

    Args:
        path: the file.
        columns: those that it must have; others may be there.
        expected: what it should be, for messages.
        faults: takes what is wrong.
    """
    try:
        lines = read_text(path, expected).splitlines(keepends=True)
    except InputError as error:
        faults += error.faults
        return
    head = lines[0] if lines else ""
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        if missing := [name for name in columns if name not in names]:
            faults += [
                Fault(
                    str(path), "line 1", f"no column {name!r}{nearest_name(name, names)}", expected
                )
                for name in missing
            ]
            return
        reader.fieldnames = names
        for row in reader:
            record = PairRecord(str(path), f"line {reader.line_num}", row, faults)
            if None in row or None in row.values():
                record.refuse(
                    "columns",
                    f"not the same number of values as the {len(names)} columns of line 1",
                    "a value for each column",
                )
            else:
                yield record
    except csv.Error as error:
        faults.append(
            Fault(str(path), f"line {reader.line_num}", f"cannot be read ({error})", expected)
        )
