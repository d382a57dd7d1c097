"""Reads rows of discrim-eval: decisions about people, explicit or implicit.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.records import Record
from biasgrid.base.rows import Columns, read_file_rows
from biasgrid.families.sampling import Sample, sample_content

COMPARED = ("gender", "race")
"""The columns whose groups are compared with a reference."""
COLUMNS = ("filled_template", "decision_question_id", "age", *COMPARED)
EXPECTED = f"rows of discrim-eval with {', '.join(COLUMNS)}"


@dataclass(frozen=True)
class DecisionFiles:
    """The file of a dataset and the options that determine its instances and numbers.

    Attributes:
        file: the rows.
        prompt: the prompt, with a place for the decision.
        system: the system text, None if there is none.
        references: gender and race with which others are compared.
        sample: the sample of questions, None to ask all.
    """

    file: Path
    prompt: str
    system: str | None
    references: tuple[str, str]
    sample: Sample | None


class Decision(NamedTuple):
    """A row of the file.

    Attributes:
        text: the question, with a person filled in.
        question: the id of the question, shared by the rows about all persons.
        age: the person's age in years.
        gender: the person's gender.
        race: the person's race.
    """

    text: str
    question: str
    age: float
    gender: str
    race: str


@dataclass(frozen=True)
class Decisions:
    """The rows of a dataset, with the options that determine its instances."""

    files: DecisionFiles
    rows: tuple[Decision, ...]

    @property
    def questions(self) -> list[str]:
        """The ids of the questions, in the order of the file."""
        return list(dict.fromkeys(row.question for row in self.rows))

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances."""
        files = self.files
        options: dict[str, Any] = {"prompt": files.prompt, "system": files.system}
        if files.sample:
            options["sample"] = sample_content(files.sample)
        return digest_fields(options, self.rows)


def read(files: DecisionFiles) -> tuple[Decisions, list[Fault]]:
    """Reads the rows of a dataset: JSON lines, CSV or Parquet.

    Refused are blank texts, ages that are no numbers, invisible characters, a person who appears
    twice in a question, and a reference that nobody has. Nothing is set aside.

    Returns:
        The rows with valid values, and the first faults of the file.
    """
    faults: list[Fault] = []
    rows: list[Decision] = []
    first_places: dict[tuple[str, float, str, str], str] = {}
    try:
        for where, values in read_file_rows(files.file, Columns(COLUMNS), EXPECTED):
            record = Record(files.file, where, values, faults)
            decision = read_decision(record)
            if not record.is_valid:
                continue
            rows.append(decision)
            question, age, gender, race = decision[1:]
            first_place = first_places.setdefault((question, age, gender, race), where)
            if first_place != where:
                person = f"{age:g}, {gender}, {race}"
                problem = f"question {question} about {person} is already in {first_place}"
                expected = "each person once per question"
                faults.append(Fault(str(files.file), where, problem, expected))
    except InputError as error:
        faults += error.faults
    if not (faults or rows):
        faults.append(Fault(str(files.file), "", "no rows", EXPECTED))
    if not faults:
        faults += reference_faults(files, rows)
    return Decisions(files, tuple(rows)), first_faults(faults, files.file)


def read_decision(record: Record) -> Decision:
    """Returns the decision of a row, which is only of use if the record `is_valid` afterwards."""
    question = record.values["decision_question_id"]
    # True and False are numbers in Python.
    is_number = isinstance(question, int | float) and not isinstance(question, bool)
    check_text(record, "filled_template")
    if not is_number:
        check_text(record, "decision_question_id", "a number or a text")
    age = read_age(record)
    for name in COMPARED:
        check_text(record, name)
    text, gender, race = (record.values[name] for name in ("filled_template", *COMPARED))
    return Decision(text, str(question), age, gender, race)


def check_text(record: Record, field: str, expected: str = "text") -> None:
    """Adds a fault if a value is no text, blank, or has invisible characters."""
    value = record.values[field]
    if isinstance(value, str) and value.strip():
        record.note_hidden_characters(field, value)
    else:
        record.add_fault(field, value_text(value), expected)


def read_age(record: Record) -> float:
    """Returns the age in years, which is a text in a CSV file; NaN with a fault if it is none."""
    value = record.values["age"]
    try:
        age = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        age = math.nan
    if not math.isfinite(age):
        record.add_fault("age", value_text(value), "a number of years")
    elif isinstance(value, str):
        # Python reads numbers between spaces of any kind.
        record.note_hidden_characters("age", value)
    return age


def reference_faults(files: DecisionFiles, rows: Sequence[Decision]) -> Iterator[Fault]:
    """Yields a fault for a gender or race of reference that no row is about."""
    for name, reference in zip(COMPARED, files.references, strict=True):
        groups = {getattr(row, name) for row in rows}
        if reference not in groups:
            problem = f"nobody has the {name} {reference!r}{nearest_name(reference, groups)}"
            expected = f"`reference_{name}` of the dataset to be {one_of(groups)}"
            yield Fault(str(files.file), "", problem, expected)
