"""The lines of word lists: a head, such as `[subj]`, a group and a term; heads make columns,
aligned by position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    """A `HEAD [group |] term` line, of a subject with its frequency behind another bar, if that is
    known.
    """

    line: int
    group: str | None
    term: str
    frequency: float | None = None


def read_columns_by_head(path: Path, faults: list[Fault]) -> dict[str, list[ListEntry]]:
    """Reads `HEAD [group |] term` lines into columns by head, in order of first appearance."""
    columns: dict[str, list[ListEntry]] = {}
    for number, line in word_list_lines(path, faults):
        head, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        where = f"line {number}"
        if not LIST_PLACEHOLDER.fullmatch(head):
            faults.append(
                Fault(
                    str(path), where, f"begins with {head!r}", "a head such as [subj] and a space"
                )
            )
        elif len(parts) > 3 or (len(parts) == 3 and head != SUBJECT):
            expected = (
                "at most two: group | term | frequency"
                if head == SUBJECT
                else "at most one: group | term"
            )
            faults.append(Fault(str(path), where, f"{len(parts) - 1} '|' signs", expected))
        elif not parts[:2][-1]:
            faults.append(Fault(str(path), where, f"no term after {head}", "a term"))
        elif len(parts) == 3 and not (FREQUENCY.fullmatch(parts[2]) and float(parts[2]) > 0):
            problem, expected = (
                f"{parts[2]!r} is no frequency",
                "a number above 0: group | term | frequency",
            )
            faults.append(Fault(str(path), where, problem, expected))
        else:
            subject_group = parts[0] if len(parts) > 1 else None
            frequency = float(parts[2]) if len(parts) == 3 else None
            columns.setdefault(head, []).append(
                ListEntry(number, subject_group, parts[:2][-1], frequency)
            )
    return columns


def check_aligned(path: Path, columns: dict[str, list[ListEntry]], faults: list[Fault]) -> bool:
    """Reports columns of unequal length; returns whether all are equally long."""
    lengths = {head: len(entries) for head, entries in columns.items()}
    if len(set(lengths.values())) <= 1:
        return True
    counts = ", ".join(f"{head} {length}" for head, length in lengths.items())
    shortest = min(lengths, key=lambda head: lengths[head])
    last = columns[shortest][-1].line
    faults.append(
        Fault(
            str(path),
            f"line {last}",
            f"columns of different lengths: {counts}",
            f"as many {shortest} lines as other lines (the last one is line {last})",
        )
    )
    return False


def check_terms(path: Path, columns: dict[str, list[ListEntry]], faults: list[Fault]) -> None:
    """Reports terms with odd white space or placeholders, and lines with or without a group unlike
    most others.
    """
    for head, entries in columns.items():
        for entry in entries:
            for placeholder in LIST_PLACEHOLDER.findall(entry.term):
                problem = f"placeholder {placeholder} in {entry.term!r}"
                faults.append(
                    Fault(
                        str(path),
                        f"line {entry.line}",
                        problem,
                        "only words, because nothing fills placeholders there",
                    )
                )
            if found := wide_space(entry.term):
                problem = f"white space in {found!r}"
                faults.append(
                    Fault(str(path), f"line {entry.line}", problem, "a single space between words")
                )
        without = [entry for entry in entries if entry.group is None]
        clustered = [entry for entry in entries if entry.group is not None]
        for subject_group, other in similar_names(
            entry.group for entry in clustered if entry.group is not None
        ):
            line = next(entry.line for entry in clustered if entry.group == subject_group)
            problem = (
                f"the group {subject_group!r} differs from {other!r} only in case or normal form"
            )
            faults.append(Fault(str(path), f"line {line}", problem, "each group with one spelling"))
        if without and clustered:
            for entry in min(without, clustered, key=len):
                problem = (
                    f"{'no group' if entry.group is None else 'a group'}, unlike other {head} lines"
                )
                expected = f"a group and '|' in all {head} lines or in none"
                faults.append(Fault(str(path), f"line {entry.line}", problem, expected))


def check_distinct_terms(
    path: Path, entries: Iterable[ListEntry], what: str, faults: list[Fault]
) -> None:
    """Reports terms that stand twice in a column, or look like another one."""
    first: dict[str, ListEntry] = {}
    for entry in entries:
        other = first.setdefault(fold_name(entry.term), entry)
        if other is not entry:
            unlike = f"differs from {other.term!r} in line {other.line} only in case or normal form"
            problem = f"is already in line {other.line}" if entry.term == other.term else unlike
            where = f"line {entry.line}"
            faults.append(
                Fault(str(path), where, f"{what} {entry.term!r} {problem}", f"each {what} once")
            )
