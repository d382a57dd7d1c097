"""The lines of word lists: a head, such as `[subj]`, a group and a term.

The lines of a head are a column; columns are aligned by position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.base.names import fold_name, similar_names, wide_space
from biasgrid.base.text import word_list_lines

LIST_PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]")
SUBJECT = "[subj]"
FREQUENCY = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class ListEntry:
    """A line `HEAD [group |] term`, or of a subject `[subj] group | term | frequency`.

    Attributes:
        line: the number of the line, from 1.
        group: the group, None if the line has none.
        term: the term.
        frequency: the frequency of a subject, None if it is unknown.
    """

    line: int
    group: str | None
    term: str
    frequency: float | None = None


def read_columns_by_head(path: Path, faults: list[Fault]) -> dict[str, list[ListEntry]]:
    """Reads a word list into columns by head, in order of first appearance.

    Args:
        path: the file. Lines with faults are left out.
        faults: the list to which faults are added.
    """
    columns: dict[str, list[ListEntry]] = {}
    for number, line in word_list_lines(path, faults):
        head, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        problem = entry_problem(head, parts)
        if problem:
            faults.append(Fault(str(path), f"line {number}", *problem))
            continue
        group = parts[0] if len(parts) > 1 else None
        frequency = float(parts[2]) if len(parts) == 3 else None
        entry = ListEntry(number, group, term_of(parts), frequency)
        columns.setdefault(head, []).append(entry)
    return columns


def term_of(parts: Sequence[str]) -> str:
    """Returns the term of a line: it follows the group if there is one."""
    return parts[0] if len(parts) == 1 else parts[1]


def entry_problem(head: str, parts: Sequence[str]) -> tuple[str, str] | None:
    """Returns the problem of a line and the expected content, None without a problem.

    Args:
        head: the first word of the line.
        parts: the stripped parts between the signs `|` in the rest of the line.
    """
    if not LIST_PLACEHOLDER.fullmatch(head):
        return f"begins with {head!r}", "a head such as [subj] and a space"
    most_parts, expected = 2, "at most one: group | term"
    if head == SUBJECT:
        most_parts, expected = 3, "at most two: group | term | frequency"
    if len(parts) > most_parts:
        return f"{len(parts) - 1} '|' signs", expected
    if not term_of(parts):
        return f"no term after {head}", "a term"
    if len(parts) == 3 and not is_frequency(parts[2]):
        return f"{parts[2]!r} is no frequency", "a number above 0: group | term | frequency"
    return None


def is_frequency(text: str) -> bool:
    """Whether a text is a decimal number above 0."""
    return FREQUENCY.fullmatch(text) is not None and float(text) > 0


def check_aligned(path: Path, columns: dict[str, list[ListEntry]], faults: list[Fault]) -> bool:
    """Whether columns are equally long; reports unequal lengths."""
    lengths = {head: len(entries) for head, entries in columns.items()}
    if len(set(lengths.values())) <= 1:
        return True
    counts = ", ".join(f"{head} {length}" for head, length in lengths.items())
    shortest = min(lengths, key=lambda head: lengths[head])
    last = columns[shortest][-1].line
    problem = f"columns of different lengths: {counts}"
    expected = f"as many {shortest} lines as other lines (the last one is line {last})"
    faults.append(Fault(str(path), f"line {last}", problem, expected))
    return False


def check_terms(path: Path, columns: dict[str, list[ListEntry]], faults: list[Fault]) -> None:
    """Reports faulty terms and groups of a word list.

    Terms must have no placeholders and no odd white space. The groups of a head must have one
    spelling each, and all of its lines or none must have a group.
    """
    for head, entries in columns.items():
        for entry in entries:
            where = f"line {entry.line}"
            for placeholder in LIST_PLACEHOLDER.findall(entry.term):
                problem = f"placeholder {placeholder} in {entry.term!r}"
                expected = "only words, because nothing fills placeholders there"
                faults.append(Fault(str(path), where, problem, expected))
            spaced = wide_space(entry.term)
            if spaced:
                problem = f"white space in {spaced!r}"
                faults.append(Fault(str(path), where, problem, "a single space between words"))
        check_similar_groups(path, entries, faults)
        check_missing_groups(path, head, entries, faults)


def check_similar_groups(path: Path, entries: Iterable[ListEntry], faults: list[Fault]) -> None:
    """Reports groups of a column that differ only in case or normal form."""
    first_line: dict[str, int] = {}
    for entry in entries:
        if entry.group is not None:
            first_line.setdefault(entry.group, entry.line)
    for group, similar in similar_names(first_line):
        problem = f"the group {group!r} differs from {similar!r} only in case or normal form"
        where = f"line {first_line[group]}"
        faults.append(Fault(str(path), where, problem, "each group with one spelling"))


def check_missing_groups(
    path: Path, head: str, entries: Sequence[ListEntry], faults: list[Fault]
) -> None:
    """Reports the lines of a head with a group if most have none, or those without one."""
    with_group = [entry for entry in entries if entry.group is not None]
    without_group = [entry for entry in entries if entry.group is None]
    if not with_group or not without_group:
        return
    # The fewer lines are more likely to be wrong.
    for entry in min(without_group, with_group, key=len):
        own = "no group" if entry.group is None else "a group"
        problem = f"{own}, unlike other {head} lines"
        expected = f"a group and '|' in all {head} lines or in none"
        faults.append(Fault(str(path), f"line {entry.line}", problem, expected))


def check_distinct_terms(
    path: Path, entries: Iterable[ListEntry], noun: str, faults: list[Fault]
) -> None:
    """Reports repeated terms of a column, and terms that differ only in case or normal form.

    Args:
        path: the file.
        entries: the column.
        noun: `subject` or `attribute`.
        faults: the list to which faults are added.
    """
    first_entry: dict[str, ListEntry] = {}
    for entry in entries:
        first = first_entry.setdefault(fold_name(entry.term), entry)
        if first is entry:
            continue
        if entry.term == first.term:
            problem = f"is already in line {first.line}"
        else:
            place = f"{first.term!r} in line {first.line}"
            problem = f"differs from {place} only in case or normal form"
        named = f"{noun} {entry.term!r} {problem}"
        faults.append(Fault(str(path), f"line {entry.line}", named, f"each {noun} once"))
