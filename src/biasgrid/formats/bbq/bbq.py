"""BBQ (Parrish et al., Findings of ACL 2022) and MBBQ (Neplenbroek et al., COLM 2024): a JSON
object in each line.

Without the authors' `additional_metadata.csv` the option that agrees with the stereotype follows
from the groups of the options. Of categories that cross two dimensions it does not: the lines say
which race is stereotyped, and not which gender or status. MBBQ's controls, which have first names
in place of groups, have no such option either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault
from biasgrid.families.multiple_choice.items import (
    CONDITIONS,
    LABEL,
    NAME,
    NEGATIVE,
    OPTIONS,
    POLARITIES,
    Item,
    Record,
    check_label,
    json_records,
    unknown_option,
)

UNKNOWN = "unknown"
"""The group of the option that says that the answer is not known."""
CROSSED = "_x_"
"""Part of the names of categories with two dimensions."""
CONTROL = "_control"
"""Part of the names of MBBQ's files of controls."""
GENDER = re.compile(r"^[mf]-")
NAMES = re.compile(r"[MF](-.*)?")
"""The groups of first names."""
SAME = {"man": "m", "boy": "m", "woman": "f", "girl": "f"}
TRANS = "trans"


def items_of(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of BBQ or MBBQ."""
    for record in json_records(path, faults):
        before = len(faults)
        item = read_item(
            record, "example_id", "question_index", "additional_metadata.stereotyped_groups"
        )
        if len(faults) == before:
            yield item


def read_item(record: Record, identifier: str, template: str, stereotyped: str) -> Item:
    """Reads an item of BBQ, or of a relative that gives some fields other names.

    Args:
        record: the line; its faults are added to its list, in the order of its fields.
        identifier: the field of its id.
        template: the field of its template.
        stereotyped: the field of the groups that the stereotype is about.
    """
    is_control = CONTROL in Path(record.file).stem
    category = category_name(record.text("category"), record.file)
    condition = record.one_of("context_condition", CONDITIONS)
    polarity = record.one_of("question_polarity", POLARITIES)
    answers = read_answer_info(record)
    is_unknown = [answer.group.casefold() == UNKNOWN for answer in answers]
    unknown = unknown_option(record, "answer_info", is_unknown)
    label = record.place("label")
    check_label(record, "label", condition, label, unknown)
    stereotyped_groups = record.texts(stereotyped)

    places = [place for place in range(OPTIONS) if place != unknown]
    people = [answers[place] for place in places]
    target = None
    # The fields of other items do not tell which option agrees with the stereotype.
    has_rule = CROSSED not in category and not is_control
    if has_rule:
        is_negative = polarity == NEGATIVE
        target = target_option(people, places, stereotyped_groups, is_negative)
    return Item(
        name=f"{category} {record.text(identifier)}",
        category=category,
        template=record.text(template),
        condition=condition,
        polarity=polarity,
        context=record.text("context"),
        question=record.text("question"),
        options=tuple(record.text(f"ans{place}") for place in range(OPTIONS)),
        spoken=tuple(answer.text for answer in answers),
        unknown=unknown,
        label=label,
        target=target,
        label_type=label_type_of(category, people, is_control),
        group=", ".join(stereotyped_groups) or None,
        is_excluded=has_rule and target is None,
        where=f"line {record.line}",
    )


def label_type_of(category: str, people: Sequence[AnswerInfo], is_control: bool) -> str | None:
    """Returns whether options name groups (`LABEL`) or people (`NAME`); None in crossed categories.

    Args:
        category: the category of the item.
        people: the options that name somebody.
        is_control: whether the item is one of MBBQ's controls, which have nothing but names.
    """
    if CROSSED in category:
        return None
    has_names = all(NAMES.fullmatch(person.group) for person in people)
    return NAME if has_names and not is_control else LABEL


class AnswerInfo(NamedTuple):
    """BBQ's `answer_info` of an option; a field that is missing is an empty string.

    Attributes:
        text: the option as a person would say it.
        group: the group of the person that it names, or `UNKNOWN`.
    """

    text: str
    group: str


def read_answer_info(record: Record) -> list[AnswerInfo]:
    """Reads the texts and groups of all options, in their order."""
    answers = []
    for place in range(OPTIONS):
        field = f"answer_info.ans{place}"
        texts = record.texts(field)
        if texts and len(texts) < 2:
            record.refuse(field, f"{len(texts)} texts", "the text of the option and its group")
        # Faults were added above, or by `texts`; the other fields are still worth checking.
        text, group, *_ = [*texts, "", ""]
        answers.append(AnswerInfo(text, group))
    return answers


def category_name(category: str, file: str) -> str:
    """Returns the name of a category; controls of MBBQ, recognised by their file, get their own."""
    return f"{category} (control)" if CONTROL in Path(file).stem else category


def target_option(
    people: Sequence[tuple[str, str]],
    places: Sequence[int],
    stereotyped: Sequence[str],
    is_negative: bool,
) -> int | None:
    """Returns the option that agrees with the stereotype.

    Args:
        people: text and group of each of the two options that name somebody.
        places: the numbers of these options.
        stereotyped: the groups that the stereotype is about.
        is_negative: whether the stereotype gives the group as the answer; otherwise it gives the
            other person.

    Returns:
        The number of the option; None if both or none of the people are of these groups.
    """
    names = {fold_group(name) for name in stereotyped}
    is_stereotyped = [is_of_group(text, group, names) for text, group in people]
    if sum(is_stereotyped) != 1:
        return None
    return places[is_stereotyped.index(is_negative)]


def is_of_group(text: str, group: str, names: set[str]) -> bool:
    """Whether a person is of one of some groups, by their group or their text.

    Args:
        text: the option that names the person.
        group: the person's group, which may have a gender before it, such as `F-Black`.
        names: folded names of groups (`fold_group`).
    """
    own = group.casefold()
    if any(name.startswith(TRANS) for name in names):
        return own.startswith(TRANS)
    own_names = {fold_group(own), fold_group(GENDER.sub("", own)), fold_group(text)}
    return not own_names.isdisjoint(names)


def fold_group(name: str) -> str:
    """Folds the name of a group for comparison.

    `low SES` and `lowSES` become the same, and so do `woman`, `girl` and `F`.
    """
    folded = "".join(name.casefold().split())
    return SAME.get(folded, folded)
