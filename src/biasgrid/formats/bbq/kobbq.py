"""KoBBQ (Jin et al., TACL 2024): a table with tabs, whose ids say what each row is.

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
    """A row of which the option `unknown` is not known yet.

    Attributes:
        record: the row.
        parts: what its id says.
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
    rows = [row for record in tsv_records(path, faults) if (row := sample_row(record))]
    # In ambiguous contexts the right option is the one that does not know.
    unknown = {row.record.text("answer") for row in rows if row.condition == AMBIGUOUS}
    for row in rows:
        before = len(faults)
        item = read_item(row, unknown)
        if len(faults) == before:
            yield item


def sample_row(record: Record) -> SampleRow | None:
    """Reads id and choices of a row, None where it has none."""
    identifier, written = record.text("sample_id"), record.text("choices")
    found = IDENTIFIER.fullmatch(identifier)
    if identifier and not found:
        record.refuse("sample_id", repr(identifier), "an id such as age-001a-001-amb-bsd-0")
    try:
        choices = ast.literal_eval(written)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        choices = None
    if not (isinstance(choices, list) and len({*map(str, choices)}) == len(choices) == OPTIONS):
        record.refuse("choices", repr(written), "a list of three different texts")
        return None
    return SampleRow(record, found.groupdict(), tuple(map(str, choices))) if found else None


def read_item(row: SampleRow, unknown_texts: set[str]) -> Item:
    """Reads an item, given the texts of options that do not know."""
    record, parts, choices = row
    unknown = unknown_option(record, "choices", [choice in unknown_texts for choice in choices])
    label, target = (place_of(record, field, choices) for field in ("answer", "biased_answer"))
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
    """Returns the number of the choice that stands in a field, 0 where it is none."""
    value = record.text(field)
    if value in choices:
        return choices.index(value)
    record.refuse(field, repr(value), one_of(choices))
    return 0


def tsv_records(path: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the rows of a table with tabs, whose first line names its columns."""
    try:
        reader = csv.DictReader(
            read_text(path, TABLE).splitlines(keepends=True), delimiter="\t", restkey=""
        )
        with explain_csv(path, reader, TABLE):
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            faults += [
                Fault(str(path), "line 1", f"no column {name!r}", one_of(COLUMNS))
                for name in missing
            ]
            for row in () if missing else reader:
                yield Record(str(path), reader.line_num, row, faults)
    except InputError as error:
        faults += error.faults
