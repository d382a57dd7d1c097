"""Layouts of files of items: BBQ and MBBQ, EsBBQ and CaBBQ, KoBBQ.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, one_of
from biasgrid.base.records import JSON_LINE, Record, json_line_records, table_records
from biasgrid.families.multiple_choice.items import (
    AMBIGUOUS,
    CONDITIONS,
    DISAMBIGUATED,
    LABEL,
    NAME,
    NEGATIVE,
    OPTIONS,
    POLARITIES,
    Item,
)

UNKNOWN = "unknown"
"""The group of the option `unknown`."""
CROSSED = "_x_"
"""Part of the names of categories that cross two dimensions."""
CONTROL = "_control"
"""Part of the names of MBBQ's files of controls, which have first names in place of groups."""
IDENTIFIERS = ("sample_id", "example_id", "instance_id")
"""Fields with the id of an item: of KoBBQ, of BBQ and of EsBBQ."""


def option_number(record: Record, field: str) -> int:
    """Returns the number of an option; anything else is a fault and gives 0."""
    value = record.values.get(field)
    # Not isinstance: True is an int, too.
    if type(value) is int and 0 <= value < OPTIONS:
        return value
    record.add_fault(field, record.describe(field), "0, 1 or 2")
    return 0


def unknown_option(record: Record, field: str, is_unknown: Sequence[bool]) -> int:
    """Returns the number of the option `unknown`; if there is not exactly one, a fault and 0."""
    count = sum(is_unknown)
    if count != 1:
        record.add_fault(field, f"{count} options are `unknown`", "exactly one")
        return 0
    return list(is_unknown).index(True)


def check_label(record: Record, field: str, condition: str, label: int, unknown: int) -> None:
    """Adds faults for a label that contradicts the context: only an ambiguous one has `unknown`."""
    if condition == AMBIGUOUS and label != unknown:
        record.add_fault(
            field, f"{label} in an ambiguous context", f"{unknown}, the option `unknown`"
        )
    if condition == DISAMBIGUATED and label == unknown:
        problem = f"{label}, the option `unknown`, in a context that answers the question"
        record.add_fault(field, problem, "a different option")


def category_name(category: str, file: str) -> str:
    """Returns the name of a category; items of MBBQ's files of controls have one of their own."""
    return f"{category} (control)" if CONTROL in Path(file).stem else category


def name_of_item(fields: Mapping[str, Any], file: str) -> tuple[str, str] | None:
    """Returns the name of an item, as in `Item`, and its category.

    Args:
        fields: the fields of the item, in a file of the benchmark or the log of a harness.
        file: path of the file, which shows whether items are controls; may be empty.

    Returns:
        None without an id or a category.
    """
    texts = {}
    for field, value in fields.items():
        if type(value) in (str, int):
            texts[field] = str(value).strip()
    present = [field for field in IDENTIFIERS if texts.get(field)]
    if not present:
        return None
    identifier = texts[present[0]]
    category = texts.get("category", "")
    # Ids of KoBBQ begin with the category and are unique in the benchmark. Those of the others are
    # unique in a category.
    is_whole_name = present[0] == IDENTIFIERS[0]
    if not category and is_whole_name:
        category = identifier.partition("-")[0]
    if not category:
        return None
    category = category_name(category, file)
    return identifier if is_whole_name else f"{category} {identifier}", category


# BBQ (Parrish et al., Findings of ACL 2022) and MBBQ (Neplenbroek et al., COLM 2024)

GENDER = re.compile(r"^[mf]-")
FIRST_NAMES = re.compile(r"[MF](-.*)?")
"""The groups of people with first names."""
SAME_GROUP = {"man": "m", "boy": "m", "woman": "f", "girl": "f"}
TRANS = "trans"


class AnswerInfo(NamedTuple):
    """BBQ's `answer_info` of an option.

    Attributes:
        text: the option as a person would say it.
        group: the group of the person that it names, or `UNKNOWN`.
    """

    text: str
    group: str


def read_bbq(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of BBQ or MBBQ, a JSON object in each line.

    A line is refused if a field is missing or has another type or value than BBQ's, if not exactly
    one option is `unknown`, or if the label contradicts the context. Items in which both or none of
    the people are of the stereotyped groups are excluded from the measures.
    """
    stereotyped = "additional_metadata.stereotyped_groups"
    for record in json_line_records(path, JSON_LINE, faults):
        item = bbq_item(record, "example_id", "question_index", stereotyped)
        if record.is_valid:
            yield item


def bbq_item(record: Record, identifier: str, template: str, stereotyped: str) -> Item:
    """Returns an item of BBQ, or of a relative that gives some fields other names.

    Args:
        record: the line; the item is of use only if the line is valid afterwards.
        identifier: the field of the id.
        template: the field of the template.
        stereotyped: the field of the groups that the stereotype is about.
    """
    is_control = CONTROL in record.file.stem
    category = category_name(record.label("category"), str(record.file))
    condition = record.choice("context_condition", CONDITIONS)
    polarity = record.choice("question_polarity", POLARITIES)
    answers = read_answer_info(record)
    is_unknown = [answer.group.casefold() == UNKNOWN for answer in answers]
    unknown = unknown_option(record, "answer_info", is_unknown)
    label = option_number(record, "label")
    check_label(record, "label", condition, label, unknown)
    groups = record.texts(stereotyped)
    numbers = [number for number in range(OPTIONS) if number != unknown]
    people = [answers[number] for number in numbers]
    # The lines of crossed categories say which race is stereotyped, and not which gender or status.
    has_rule = CROSSED not in category and not is_control
    target = None
    if has_rule:
        target = target_option(people, numbers, groups, polarity == NEGATIVE)
    return Item(
        name=f"{category} {record.label(identifier)}",
        category=category,
        template=record.label(template),
        condition=condition,
        polarity=polarity,
        context=record.label("context"),
        question=record.label("question"),
        options=tuple(record.label(f"ans{number}") for number in range(OPTIONS)),
        spoken=tuple(answer.text for answer in answers),
        unknown=unknown,
        label=label,
        target=target,
        label_type=bbq_label_type(category, people, is_control=is_control),
        group=", ".join(groups) or None,
        is_excluded=has_rule and target is None,
        where=record.where,
    )


def read_answer_info(record: Record) -> list[AnswerInfo]:
    """Returns text and group of each option, empty where they are missing, which is a fault."""
    answers = []
    for number in range(OPTIONS):
        field = f"answer_info.ans{number}"
        texts = record.texts(field)
        if texts and len(texts) < 2:
            record.add_fault(field, f"{len(texts)} texts", "the text of the option and its group")
        text, group, *_ = [*texts, "", ""]
        answers.append(AnswerInfo(text, group))
    return answers


def bbq_label_type(category: str, people: Sequence[AnswerInfo], *, is_control: bool) -> str | None:
    """Returns `LABEL` if options name groups, `NAME` for first names, None in crossed categories.

    Controls of MBBQ have nothing but names, and count as `LABEL`.
    """
    if CROSSED in category:
        return None
    has_names = all(FIRST_NAMES.fullmatch(person.group) for person in people)
    return NAME if has_names and not is_control else LABEL


def target_option(
    people: Sequence[tuple[str, str]],
    numbers: Sequence[int],
    stereotyped: Sequence[str],
    is_negative: bool,
) -> int | None:
    """Returns the number of the option that agrees with the stereotype.

    Args:
        people: text and group of both options that name a person.
        numbers: the numbers of these options.
        stereotyped: the groups that the stereotype is about.
        is_negative: whether the stereotype gives their member as the answer; otherwise it gives
            the other person.

    Returns:
        None if both or none of the people are of these groups.
    """
    names = {fold_group(name) for name in stereotyped}
    is_stereotyped = [is_of_group(text, group, names) for text, group in people]
    if sum(is_stereotyped) != 1:
        return None
    return numbers[is_stereotyped.index(is_negative)]


def is_of_group(text: str, group: str, group_names: set[str]) -> bool:
    """Whether a person is of some groups, by their group or by the text of the option.

    Args:
        text: the option that names the person.
        group: the group of the person, which may have a gender before it, such as `F-Black`.
        group_names: names of groups, from `fold_group`.
    """
    own_group = group.casefold()
    if any(name.startswith(TRANS) for name in group_names):
        return own_group.startswith(TRANS)
    own_names = {
        fold_group(own_group),
        fold_group(GENDER.sub("", own_group)),
        fold_group(text),
    }
    return not own_names.isdisjoint(group_names)


def fold_group(name: str) -> str:
    """Returns the name of a group for comparison: `low SES` and `lowSES` are the same.

    So are `woman`, `girl` and `F`.
    """
    folded = "".join(name.casefold().split())
    return SAME_GROUP.get(folded, folded)


# EsBBQ and CaBBQ (2025), of Spain

PRO, ANTI, NONE = QUESTION_TYPES = ("pro-stereo", "anti-stereo", "n/a")
"""Whether the right option agrees with the stereotype; `n/a` in ambiguous contexts."""


def read_esbbq(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of EsBBQ or CaBBQ: lines of BBQ with other names of fields.

    Lines are refused as those of BBQ, or if `question_type` contradicts the label. Items without a
    target, by their `question_type` or else by BBQ's rule, are excluded from the measures.
    """
    for record in json_line_records(path, JSON_LINE, faults):
        item = bbq_item(record, "instance_id", "template_id", "stereotyped_groups")
        question_type = record.choice("question_type", QUESTION_TYPES)
        target = item.target
        if (question_type == NONE) != (item.label == item.unknown):
            expected = "`n/a` if the label is the option `unknown`, and only then"
            record.add_fault("question_type", repr(question_type), expected)
        elif question_type == PRO:
            target = item.label
        elif question_type == ANTI:
            (target,) = (number for number in item.people if number != item.label)
        has_names = record.values.get("proper_nouns_only") is True
        value = record.values.get("relevant_social_value")
        if record.is_valid:
            yield replace(
                item,
                target=target,
                label_type=NAME if has_names else LABEL,
                value=str(value or "") or None,
                is_excluded=target is None,
            )


# KoBBQ (Jin et al., TACL 2024)

KOBBQ_COLUMNS = (
    "sample_id",
    "label_annotation",
    "context",
    "question",
    "choices",
    "biased_answer",
    "answer",
)
# `b` or `d` after the template says whether the context agrees with the stereotype, the last number
# is the order of the options.
KOBBQ_ID = re.compile(
    r"(?P<category>.+)-(?P<template>\d+)[a-z]-\d+-(?P<condition>amb|dis)-(?P<polarity>bsd|cnt)-\d+"
)
KOBBQ_CONDITIONS = dict(zip(("amb", "dis"), CONDITIONS, strict=True))
KOBBQ_POLARITIES = dict(zip(("bsd", "cnt"), POLARITIES, strict=True))


class KobbqRow(NamedTuple):
    """A row of KoBBQ whose id and choices are valid.

    Attributes:
        record: the row.
        parts: the parts of its id, by the names of the groups of `KOBBQ_ID`.
        choices: the texts of the options.
    """

    record: Record
    parts: dict[str, str]
    choices: tuple[str, ...]

    @property
    def condition(self) -> str:
        """One of `CONDITIONS`."""
        return KOBBQ_CONDITIONS[self.parts["condition"]]


def kobbq_records(path: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the rows of a table of KoBBQ, whose columns are separated by tabs."""
    expected = f"a table of KoBBQ, with the columns {', '.join(KOBBQ_COLUMNS)}"
    return table_records(path, KOBBQ_COLUMNS, expected, faults, delimiters=("\t",))


def read_kobbq(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of KoBBQ, whose ids tell category, template and condition.

    A row is refused if a text is missing, if its id has another form, if its choices are not three
    different texts with exactly one `unknown`, or if an answer is none of its choices. Nothing is
    excluded from the measures.
    """
    rows = []
    for record in kobbq_records(path, faults):
        row = kobbq_row(record)
        if row is not None:
            rows.append(row)
    # The table does not mark the option `unknown`, but in ambiguous contexts it is the right one.
    unknown_texts = set()
    for row in rows:
        if row.condition == AMBIGUOUS:
            unknown_texts.add(row.record.optional("answer"))
    for row in rows:
        item = kobbq_item(row, unknown_texts)
        if row.record.is_valid:
            yield item


def kobbq_row(record: Record) -> KobbqRow | None:
    """Returns a row with the parts of its id and its choices; None if either is a fault."""
    identifier, written = record.label("sample_id"), record.label("choices")
    match = KOBBQ_ID.fullmatch(identifier)
    if identifier and not match:
        record.add_fault("sample_id", repr(identifier), "an id such as age-001a-001-amb-bsd-0")
    choices = parse_choices(written)
    if choices is None:
        record.add_fault("choices", repr(written), "a list of three different texts")
    if match is None or choices is None:
        return None
    return KobbqRow(record, match.groupdict(), choices)


def parse_choices(written: str) -> tuple[str, ...] | None:
    """Returns the texts of a Python list of three different texts; None for anything else."""
    try:
        values = ast.literal_eval(written)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        # `literal_eval` documents all of these for malformed or deeply nested text.
        return None
    if not isinstance(values, list):
        return None
    choices = tuple(map(str, values))
    is_usable = len(set(choices)) == len(choices) == OPTIONS
    return choices if is_usable else None


def kobbq_item(row: KobbqRow, unknown_texts: set[str | None]) -> Item:
    """Returns the item of a row; it is of use only if the row is valid afterwards.

    Args:
        row: the row.
        unknown_texts: the texts of all options that are `unknown` in some row.
    """
    record, parts, choices = row
    is_unknown = [choice in unknown_texts for choice in choices]
    unknown = unknown_option(record, "choices", is_unknown)
    label = chosen_option(record, "answer", choices)
    target = chosen_option(record, "biased_answer", choices)
    check_label(record, "answer", row.condition, label, unknown)
    if target == unknown:
        record.add_fault("biased_answer", repr(choices[target]), "an option that names somebody")
    return Item(
        name=record.label("sample_id"),
        category=parts["category"],
        template=parts["template"],
        condition=row.condition,
        polarity=KOBBQ_POLARITIES[parts["polarity"]],
        context=record.label("context"),
        question=record.label("question"),
        options=choices,
        spoken=choices,
        unknown=unknown,
        label=label,
        target=target,
        label_type=LABEL,
        crossed=record.label("label_annotation") or None,
        where=record.where,
    )


def chosen_option(record: Record, field: str, choices: tuple[str, ...]) -> int:
    """Returns the number of the choice that a field repeats; any other text is a fault and 0."""
    value = record.label(field)
    if value in choices:
        return choices.index(value)
    record.add_fault(field, repr(value), one_of(choices))
    return 0


class ItemLayout(NamedTuple):
    """A layout of files of items; adding one to `LAYOUTS` is all that a new one needs.

    Attributes:
        read: yields the items of a file, and adds its faults to a list.
        ending: the ending of the files' names.
        files: which files have the layout, for the description of the config key.
    """

    read: Callable[[Path, list[Fault]], Iterator[Item]]
    ending: str
    files: str


LAYOUTS = {
    "bbq": ItemLayout(read_bbq, ".jsonl", "BBQ, MBBQ"),
    "esbbq": ItemLayout(read_esbbq, ".jsonl", "EsBBQ, CaBBQ"),
    "kobbq": ItemLayout(read_kobbq, ".tsv", "KoBBQ"),
}
