"""Files of stereotypes: to which group a stereotype gives an attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name
from biasgrid.base.text import word_list_lines
from biasgrid.families.underspecified.pack import WordLists

STEREOTYPE_LINE = "an attribute and the group that its stereotype names: attribute | group"


def read_stereotypes(path: Path, faults: list[Fault]) -> dict[str, tuple[int, str]]:
    """Reads `attribute | group` lines.

    Args:
        path: the file.
        faults: where to add what is wrong with it.

    Returns:
        The number of the line and the group, by attribute.
    """
    found: dict[str, tuple[int, str]] = {}
    for number, line in word_list_lines(path, faults):
        attribute, _, group = (part.strip() for part in line.partition("|"))
        if not attribute or not group or "|" in group:
            faults.append(Fault(str(path), f"line {number}", repr(line), STEREOTYPE_LINE))
        elif attribute in found:
            problem = f"attribute {attribute!r} is already in line {found[attribute][0]}"
            faults.append(Fault(str(path), f"line {number}", problem, "each attribute once"))
        else:
            found[attribute] = number, group
    return found


def groups_named(path: Path) -> Mapping[str, str]:
    """Returns the group that is named, by attribute; `stereotype_form_faults` tells what is
    wrong.
    """
    return {attribute: group for attribute, (_, group) in read_stereotypes(path, []).items()}


def stereotype_form_faults(path: Path) -> list[Fault]:
    """Returns what is wrong with a file of stereotypes, whatever it is about."""
    faults: list[Fault] = []
    read_stereotypes(path, faults)
    return faults


def unknown_stereotype_faults(path: Path, lists: WordLists) -> Iterator[Fault]:
    """Yields what a file of stereotypes names that a dataset does not have.

    Args:
        path: the file.
        lists: the word lists of a variant of the dataset.
    """
    attributes = {row.name for rows in lists.attributes.values() for row in rows}
    subject_groups = {
        subject_group
        for subjects in lists.subjects
        for subject_group in subjects.groups
        if subject_group is not None
    }
    names = {name for subjects in lists.subjects for name in subjects.forms.get("[subj]", [])}
    groups = subject_groups or names
    for attribute, (number, group) in read_stereotypes(path, []).items():
        where = f"line {number}"
        if attribute not in attributes:
            problem = f"unknown attribute {attribute!r}{nearest_name(attribute, attributes)}"
            yield Fault(
                str(path), where, problem, "an attribute spelled as in the list of the dataset"
            )
        if group not in groups:
            expected = (
                "a group of the subjects in the dataset"
                if subject_groups
                else "a subject of the dataset"
            )
            yield Fault(
                str(path), where, f"unknown group {group!r}{nearest_name(group, groups)}", expected
            )
