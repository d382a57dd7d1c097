"""Reads rows of discrim-eval and finds their faults."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.rows import FileRow, read_rows
from biasgrid.families.sampling import Sample, sample_content

COLUMNS = ("filled_template", "decision_question_id", "age", "gender", "race")
EXPECTED = f"rows of discrim-eval with {', '.join(COLUMNS)}"
EXPECTED_VALUES = {"age": "a number of years", "decision_question_id": "a number or a text"}
"""Descriptions of the values of columns that hold more than texts, for messages."""


@dataclass(frozen=True)
class DecisionFiles:
    """What makes the instances of a dataset.

    Attributes:
        file: the rows.
        prompt: the prompt, with a place for the decision.
        system: the system text, None where there is none.
        references: gender and race that others are compared with.
        sample: which questions are asked, None for all.
    """

    file: Path
    prompt: str
    system: str | None
    references: tuple[str, str]
    sample: Sample | None


class Decision(NamedTuple):
    """A row of the file."""

    text: str
    question: str
    age: float
    gender: str
    race: str


@dataclass(frozen=True)
class Decisions:
    """The rows of a dataset, and where they come from."""

    files: DecisionFiles
    rows: tuple[Decision, ...]

    @property
    def questions(self) -> list[str]:
        """The ids of the questions, in the order of the file."""
        return list(dict.fromkeys(row.question for row in self.rows))

    def digest(self) -> str:
        """Returns a digest of all that decides the instances."""
        files = self.files
        sample = sample_content(files.sample) if files.sample else None
        content = json.dumps([self.rows, files.prompt, files.system, sample])
        return sha256(content.encode()).hexdigest()[:16]


def read(files: DecisionFiles) -> tuple[Decisions, list[Fault]]:
    """Reads the rows of a dataset and returns them with every fault that is in them.

    Rows with faults are left out.
    """
    faults: list[Fault] = []
    places: dict[tuple[str, float, str, str], str] = {}
    rows: list[Decision] = []
    try:
        for row in read_rows(files.file, COLUMNS, EXPECTED):
            wrong = list(row_faults(files.file, row))
            if wrong:
                faults += wrong
                continue
            text, question, age, gender, race = (row.values[name] for name in COLUMNS)
            decision = Decision(text, str(question), years_of(age), gender, race)
            first = places.setdefault(decision[1:], row.where)
            if first != row.where:
                person = f"{decision.age:g}, {gender}, {race}"
                problem = f"question {question} about {person} is already in {first}"
                expected = "each person once per question"
                faults.append(Fault(str(files.file), row.where, problem, expected))
            rows.append(decision)
    except InputError as error:
        faults += error.faults
    if not (faults or rows):
        faults.append(Fault(str(files.file), "", "no rows", EXPECTED))
    if not faults:
        faults += reference_faults(files, rows)
    return Decisions(files, tuple(rows)), first_faults(faults, files.file)


def row_faults(file: Path, row: FileRow) -> Iterator[Fault]:
    """Yields values of a row that have the wrong type, are blank, or contain hidden characters."""
    for name in COLUMNS:
        value = row.values[name]
        where = f"{row.where}, {name}"
        hidden = hidden_character(value) if isinstance(value, str) else ""
        if not is_expected(name, value):
            expected = EXPECTED_VALUES.get(name, "text")
            yield Fault(str(file), where, value_text(value), expected)
        elif hidden:
            yield Fault(str(file), where, f"contains {hidden}", VISIBLE_CHARACTERS)


def is_expected(name: str, value: Any) -> bool:
    """Whether a value of a row is of a type that its column may have; see `EXPECTED_VALUES`."""
    if name == "age":
        return math.isfinite(years_of(value))
    if isinstance(value, str):
        return bool(value.strip())
    # True and False are numbers in Python.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return name == "decision_question_id" and is_number


def years_of(value: Any) -> float:
    """Returns an age in years, which is a text in a table of text; NaN where it is none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def reference_faults(files: DecisionFiles, rows: list[Decision]) -> Iterator[Fault]:
    """Yields genders and races of reference that no row is about."""
    for name, reference in zip(("gender", "race"), files.references, strict=True):
        groups = {getattr(row, name) for row in rows}
        if reference not in groups:
            problem = f"nobody has the {name} {reference!r}{nearest_name(reference, groups)}"
            expected = f"`reference_{name}` of the dataset to be {one_of(groups)}"
            yield Fault(str(files.file), "", problem, expected)
