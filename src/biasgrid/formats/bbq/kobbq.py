"""Reads KoBBQ (Jin et al., TACL 2024): a table with tabs, whose ids describe the rows.

An id is `CATEGORY-TEMPLATEc-NUMBER-amb-bsd-ORDER`: c is `b` or `d` where the context agrees with
the stereotype, `amb` or `dis` the condition, `bsd` or `cnt` whether the question is the biased one
or its counterpart.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault, InputError, one_of
from biasgrid.base.rows import explain_csv
from biasgrid.base.text import read_text
from biasgrid.families.multiple_choice.items import (
    AMBIGUOUS,
    CONDITIONS,
    LABEL,
    OPTIONS,
    POLARITIES,
    Item,
    Record,
    check_label,
    unknown_option,
)

TABLE = "a table of KoBBQ"
COLUMNS = (
    "sample_id",
    "label_annotation",
    "context",
    "question",
    "choices",
    "biased_answer",
    "answer",
)
IDENTIFIER = re.compile(
    r"(?P<category>.+)-(?P<template>\d+)[a-z]-\d+-(?P<condition>amb|dis)-(?P<polarity>bsd|cnt)-\d+"
)
CONDITION = dict(zip(("amb", "dis"), CONDITIONS, strict=True))
POLARITY = dict(zip(("bsd", "cnt"), POLARITIES, strict=True))


class SampleRow(NamedTuple):
    """A row, read before it is known which of its options is `unknown`.

    Attributes:
        record: the row.
        parts: the parts of its id, by the names of the groups of `IDENTIFIER`.
        choices: the options.
    """

    record: Record
    parts: dict[str, str]
    choices: tuple[str, ...]

    @property
    def condition(self) -> str:
        """One of `CONDITIONS`."""
        return CONDITION[self.parts["condition"]]


def items_of(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of KoBBQ."""
    rows = []
    for record in tsv_records(path, faults):
        row = sample_row(record)
        if row is not None:
            rows.append(row)
    # The table does not mark the option `unknown`, but in ambiguous contexts it is the right one.
    unknown_texts = {row.record.text("answer") for row in rows if row.condition == AMBIGUOUS}
    for row in rows:
        before = len(faults)
        item = read_item(row, unknown_texts)
        if len(faults) == before:
            yield item


def sample_row(record: Record) -> SampleRow | None:
    """Reads id and choices of a row; None, and a fault of the record, if one cannot be read."""
    identifier, written = record.text("sample_id"), record.text("choices")
    match = IDENTIFIER.fullmatch(identifier)
    if identifier and not match:
        record.refuse("sample_id", repr(identifier), "an id such as age-001a-001-amb-bsd-0")
    choices = parse_choices(written)
    if choices is None:
        record.refuse("choices", repr(written), "a list of three different texts")
    if match is None or choices is None:
        return None
    return SampleRow(record, match.groupdict(), choices)


def parse_choices(written: str) -> tuple[str, ...] | None:
    """Parses a Python list of three different texts; None if it is anything else."""
    try:
        values = ast.literal_eval(written)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(values, list):
        return None
    choices = tuple(map(str, values))
    is_usable = len(set(choices)) == len(choices) == OPTIONS
    return choices if is_usable else None


def read_item(row: SampleRow, unknown_texts: set[str]) -> Item:
    """Reads an item, given the texts of all options that are `unknown` in some row."""
    record, parts, choices = row
    unknown = unknown_option(record, "choices", [choice in unknown_texts for choice in choices])
    label = place_of(record, "answer", choices)
    target = place_of(record, "biased_answer", choices)
    check_label(record, "answer", row.condition, label, unknown)
    if target == unknown:
        record.refuse("biased_answer", repr(choices[target]), "an option that names somebody")
    return Item(
        name=record.text("sample_id"),
        category=parts["category"],
        template=parts["template"],
        condition=row.condition,
        polarity=POLARITY[parts["polarity"]],
        context=record.text("context"),
        question=record.text("question"),
        options=choices,
        spoken=choices,
        unknown=unknown,
        label=label,
        target=target,
        label_type=LABEL,
        crossed=record.text("label_annotation") or None,
        where=f"line {record.line}",
    )


def place_of(record: Record, field: str, choices: tuple[str, ...]) -> int:
    """Returns the number of the choice in a field; 0, and a fault of the record, if it is none."""
    value = record.text(field)
    if value in choices:
        return choices.index(value)
    record.refuse(field, repr(value), one_of(choices))
    return 0


def tsv_records(path: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the rows of a table with tabs, whose first line names its columns.

    Nothing is raised: a table that cannot be read, or lacks a column, is a fault and has no rows.
    """
    try:
        lines = read_text(path, TABLE).splitlines(keepends=True)
        reader = csv.DictReader(lines, delimiter="\t", restkey="")
        with explain_csv(path, reader, TABLE):
            names = reader.fieldnames or ()
            missing = [name for name in COLUMNS if name not in names]
            for name in missing:
                faults.append(Fault(str(path), "line 1", f"no column {name!r}", one_of(COLUMNS)))
            if missing:
                return
            for row in reader:
                yield Record(str(path), reader.line_num, row, faults)
    except InputError as error:
        faults += error.faults
