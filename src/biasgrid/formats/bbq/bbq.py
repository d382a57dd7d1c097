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
"""What stands in the names of categories with two dimensions."""
CONTROL = "_control"
"""What stands in the names of MBBQ's files of controls."""
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
    """Reads an item of BBQ, or of a relative that calls some fields otherwise.

    Args:
        record: the line.
        identifier: the field of its id.
        template: the field of its template.
        stereotyped: the field of the groups that the stereotype is about.
    """
    is_control = CONTROL in Path(record.file).stem
    category = category_name(record.text("category"), record.file)
    condition, polarity = (
        record.one_of("context_condition", CONDITIONS),
        record.one_of("question_polarity", POLARITIES),
    )
    spoken, groups = [], []
    for place in range(OPTIONS):
        field = f"answer_info.ans{place}"
        named = record.texts(field)
        if named and len(named) < 2:
            record.refuse(field, f"{len(named)} texts", "the text of the option and its group")
        spoken.append(named[0] if named else "")
        groups.append(named[1] if len(named) > 1 else "")
    unknown = unknown_option(
        record, "answer_info", [group.casefold() == UNKNOWN for group in groups]
    )
    label = record.place("label")
    check_label(record, "label", condition, label, unknown)
    names = record.texts(stereotyped)
    known = [place for place in range(OPTIONS) if place != unknown]
    is_crossed = CROSSED in category
    has_rule = not (is_crossed or is_control)
    target = target_option(
        [(spoken[place], groups[place]) for place in known], known, names, polarity == NEGATIVE
    )
    is_named = all(NAMES.fullmatch(groups[place]) for place in known)
    return Item(
        name=f"{category} {record.text(identifier)}",
        category=category,
        template=record.text(template),
        condition=condition,
        polarity=polarity,
        context=record.text("context"),
        question=record.text("question"),
        options=tuple(record.text(f"ans{place}") for place in range(OPTIONS)),
        spoken=tuple(spoken),
        unknown=unknown,
        label=label,
        target=target if has_rule else None,
        label_type=None if is_crossed else NAME if is_named and not is_control else LABEL,
        group=", ".join(names) or None,
        is_excluded=has_rule and target is None,
        where=f"line {record.line}",
    )


def category_name(category: str, file: str) -> str:
    """Returns the name of a category: controls of MBBQ, which the name of their file tells, have
    their own.
    """
    return f"{category} (control)" if CONTROL in Path(file).stem else category


def target_option(
    people: Sequence[tuple[str, str]],
    places: Sequence[int],
    stereotyped: Sequence[str],
    is_negative: bool,
) -> int | None:
    """Returns the option that agrees with the stereotype: that of its group, or the other one where
    that is denied.

    Args:
        people: text and group of each of the two options that name somebody.
        places: the numbers of these options.
        stereotyped: the groups that the stereotype is about.
        is_negative: whether the stereotype gives the group as the answer.

    Returns:
        None where both or none of the options are of these groups.
    """
    names = {fold_group(name) for name in stereotyped}
    of_group = [is_of_group(text, group, names) for text, group in people]
    return places[of_group.index(is_negative)] if sum(of_group) == 1 else None


def is_of_group(text: str, group: str, names: set[str]) -> bool:
    """Says whether a person is of one of some groups: their group, with or without its gender, or
    their text.
    """
    own = group.casefold()
    if any(name.startswith(TRANS) for name in names):
        return own.startswith(TRANS)
    return bool({fold_group(own), fold_group(GENDER.sub("", own)), fold_group(text)} & names)


def fold_group(name: str) -> str:
    """Returns the name of a group as it is compared: `low SES` is `lowSES`, `woman` and `girl` are
    `F`.
    """
    folded = "".join(name.casefold().split())
    return SAME.get(folded, folded)
