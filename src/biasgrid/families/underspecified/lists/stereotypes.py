"""Files of stereotypes: to which group a stereotype gives an attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name
from biasgrid.base.text import word_list_lines
from biasgrid.families.underspecified.lists.entries import SUBJECT
from biasgrid.families.underspecified.pack import WordLists

STEREOTYPE_LINE = "an attribute and the group that its stereotype names: attribute | group"


def read_stereotypes(path: Path, faults: list[Fault]) -> dict[str, tuple[int, str]]:
    """Reads `attribute | group` lines.

    Args:
        path: the file.
        faults: the list to which faults are added.

    Returns:
        The number of the line and the group, by attribute.
    """
    stereotypes: dict[str, tuple[int, str]] = {}
    for number, line in word_list_lines(path, faults):
        where = f"line {number}"
        attribute, _, group = (part.strip() for part in line.partition("|"))
        if not attribute or not group or "|" in group:
            faults.append(Fault(str(path), where, repr(line), STEREOTYPE_LINE))
        elif attribute in stereotypes:
            first_line, _ = stereotypes[attribute]
            problem = f"attribute {attribute!r} is already in line {first_line}"
            faults.append(Fault(str(path), where, problem, "each attribute once"))
        else:
            stereotypes[attribute] = number, group
    return stereotypes


def groups_named(path: Path) -> Mapping[str, str]:
    """Returns the group that the stereotype of each attribute names.

    Faulty lines are left out; `stereotype_form_faults` reports them.
    """
    return {attribute: group for attribute, (_, group) in read_stereotypes(path, []).items()}


def stereotype_form_faults(path: Path) -> list[Fault]:
    """Returns the faults of a file of stereotypes that need no dataset to be seen."""
    faults: list[Fault] = []
    read_stereotypes(path, faults)
    return faults


def unknown_stereotype_faults(path: Path, lists: WordLists) -> Iterator[Fault]:
    """Yields the attributes and groups in a file of stereotypes that a dataset does not have.

    Args:
        path: the file.
        lists: the word lists of a variant of the dataset. If its subjects have no groups, each
            subject is one.
    """
    attributes = {row.name for rows in lists.attributes.values() for row in rows}
    names: set[str] = set()
    subject_groups: set[str] = set()
    for subjects in lists.subjects:
        names.update(subjects.forms.get(SUBJECT, []))
        subject_groups.update(group for group in subjects.groups if group is not None)
    groups, expected_group = names, "a subject of the dataset"
    if subject_groups:
        groups, expected_group = subject_groups, "a group of the subjects in the dataset"
    for attribute, (number, group) in read_stereotypes(path, []).items():
        where = f"line {number}"
        if attribute not in attributes:
            problem = f"unknown attribute {attribute!r}{nearest_name(attribute, attributes)}"
            expected = "an attribute spelled as in the list of the dataset"
            yield Fault(str(path), where, problem, expected)
        if group not in groups:
            problem = f"unknown group {group!r}{nearest_name(group, groups)}"
            yield Fault(str(path), where, problem, expected_group)
