"""Word lists: their lines, such as `[subj] female | Linda`, the subjects in them, and stereotypes.

The first word of a line is its head. The lines of a head are a column, and the columns of a file
are aligned: the first line of each is about the same subject or attribute, and so on.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice
from pathlib import Path
from statistics import fmean, geometric_mean

from biasgrid.base.faults import Fault, nearest_name
from biasgrid.base.names import fold_name, similar_names, wide_space
from biasgrid.base.records import ListLine, list_lines
from biasgrid.families.family import TokenCounts
from biasgrid.families.sampling import Balance, balanced_rows

LineProblem = tuple[str, str]
"""A problem of a line and the expected content."""
LIST_PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]")
HEAD = re.compile(rf"{LIST_PLACEHOLDER.pattern}(?= |$)")
SUBJECT = "[subj]"
FREQUENCY = re.compile(r"[0-9]+(\.[0-9]+)?")


class ListFile:
    """A word list that is read.

    Attributes:
        path: the file.
        faults: list to which faults are added; all files of a dataset share it.
        lines: its lines that are neither blank nor comments; a list without any is a fault.
    """

    def __init__(self, path: Path, faults: list[Fault]) -> None:
        self.path = path
        self.faults = faults
        self.lines = list_lines(path, "a word list", faults, is_needed=True)

    def add_fault(self, problem: str, expected: str, line: int | None = None) -> None:
        """Adds a fault of a line, or of the whole file."""
        where = f"line {line}" if line else ""
        self.faults.append(Fault(str(self.path), where, problem, expected))


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


Columns = Mapping[str, Sequence[ListEntry]]
"""The lines of each head, in order of the heads' first appearance."""


def read_columns(file: ListFile, example_head: str = SUBJECT) -> dict[str, list[ListEntry]]:
    """Reads a word list into columns; lines with faults are left out.

    Args:
        file: the list.
        example_head: a head of such a list, for messages.

    Terms with placeholders or odd white space, groups that differ only in case, and heads of which
    only some lines have a group are faults, but not left out.
    """
    columns: dict[str, list[ListEntry]] = {}
    for number, line in lines_with_head(file, example_head):
        head, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        group, term = (None, parts[0]) if len(parts) == 1 else parts[:2]
        problem = line_problem(head, term, parts)
        if problem:
            file.add_fault(*problem, number)
            continue
        frequency = float(parts[2]) if len(parts) == 3 else None
        columns.setdefault(head, []).append(ListEntry(number, group, term, frequency))
    for head, entries in columns.items():
        for entry in entries:
            for problem in term_problems(entry.term):
                file.add_fault(*problem, entry.line)
        check_groups(file, head, entries)
    return columns


def lines_with_head(file: ListFile, example_head: str) -> list[ListLine]:
    """Returns the lines of a list that begin with a head; the others are one fault.

    Args:
        file: the list. The fault shows how its first line without a head would look with one.
        example_head: a head of such a list.
    """
    headless = [line for line in file.lines if not HEAD.match(line.text)]
    if not headless:
        return file.lines
    number, text = headless[0]
    count = f" (the first of {len(headless):,} such lines)" if len(headless) > 1 else ""
    # Perhaps only the brackets are missing.
    rest_of_line = text.removeprefix(f"{example_head.strip('[]')} ")
    parts = [part.strip() for part in re.split(r"[;,\t|]", rest_of_line) if part.strip()]
    example = f"{example_head} {' | '.join(parts)}"
    problem = f"begins with {text.split(maxsplit=1)[0]!r}{count}"
    expected = f"a head such as {example_head} and a space, as in `{example}`"
    file.add_fault(problem, expected, number)
    return [line for line in file.lines if HEAD.match(line.text)]


def line_problem(head: str, term: str, parts: Sequence[str]) -> LineProblem | None:
    """Returns the problem of the form of a line, None without one.

    Args:
        head: its first word.
        term: its term.
        parts: the stripped parts between the signs `|` in the rest of the line.
    """
    most_parts, expected = 2, "at most one: group | term"
    if head == SUBJECT:
        most_parts, expected = 3, "at most two: group | term | frequency"
    if len(parts) > most_parts:
        return f"{len(parts) - 1} '|' signs", expected
    if not term:
        return f"no term after {head}", "a term"
    is_frequency = FREQUENCY.fullmatch(parts[-1]) and float(parts[-1]) > 0
    if len(parts) == 3 and not is_frequency:
        return f"{parts[2]!r} is no frequency", "a number above 0: group | term | frequency"
    return None


def term_problems(term: str) -> Iterator[LineProblem]:
    """Yields placeholders and odd white space in a term."""
    for placeholder in LIST_PLACEHOLDER.findall(term):
        expected = "only words, because nothing fills placeholders there"
        yield f"placeholder {placeholder} in {term!r}", expected
    odd_space = wide_space(term)
    if odd_space:
        yield f"white space in {odd_space!r}", "a single space between words"


def check_groups(file: ListFile, head: str, entries: Sequence[ListEntry]) -> None:
    """Refuses groups of a column that differ only in case, and lines without one beside others."""
    first_line: dict[str, int] = {}
    with_group, without_group = [], []
    for entry in entries:
        if entry.group is None:
            without_group.append(entry)
        else:
            with_group.append(entry)
            first_line.setdefault(entry.group, entry.line)
    for group, similar in similar_names(first_line):
        problem = f"the group {group!r} differs from {similar!r} only in case or normal form"
        file.add_fault(problem, "each group with one spelling", first_line[group])
    # The fewer lines are more likely to be wrong; none are if all lines agree.
    for entry in min(without_group, with_group, key=len):
        own = "no group" if entry.group is None else "a group"
        expected = f"a group and '|' in all {head} lines or in none"
        file.add_fault(f"{own}, unlike other {head} lines", expected, entry.line)


def check_aligned(file: ListFile, columns: Columns) -> bool:
    """Whether columns are equally long; unequal lengths are a fault."""
    lengths = {head: len(entries) for head, entries in columns.items()}
    shortest = min(lengths, key=lambda head: lengths[head])
    if lengths[shortest] == max(lengths.values()):
        return True
    counts = ", ".join(f"{head} {length}" for head, length in lengths.items())
    last = columns[shortest][-1].line
    expected = f"as many {shortest} lines as other lines (the last one is line {last})"
    file.add_fault(f"columns of different lengths: {counts}", expected, last)
    return False


def check_distinct_terms(file: ListFile, entries: Iterable[ListEntry], noun: str) -> None:
    """Adds faults for terms of a column that are repeated, or differ only in case or normal form.

    Args:
        file: the file.
        entries: the column.
        noun: `subject` or `attribute`.
    """
    first_entry: dict[str, ListEntry] = {}
    for entry in entries:
        first = first_entry.setdefault(fold_name(entry.term), entry)
        if first is entry:
            continue
        problem = f"is already in line {first.line}"
        if entry.term != first.term:
            place = f"{first.term!r} in line {first.line}"
            problem = f"differs from {place} only in case or normal form"
        file.add_fault(f"{noun} {entry.term!r} {problem}", f"each {noun} once", entry.line)


# Subjects


@dataclass(frozen=True)
class Subjects:
    """A list of subjects.

    Attributes:
        forms: the terms of all subjects by form, such as `[subj]` and `[subj:dem]`.
        groups: the group of each subject, None if it has none.
        frequencies: how frequent each subject is, None if that is unknown.
    """

    forms: dict[str, list[str]]
    groups: list[str | None]
    frequencies: list[float] | None = None

    @property
    def base_terms(self) -> list[str]:
        """The subjects in their base form; none if the list has faults."""
        return self.forms.get(SUBJECT, [])

    def keep(self, is_kept: Sequence[bool]) -> Subjects:
        """Returns the subjects for which `is_kept` is true.

        Subjects behind the end of a shorter `is_kept` are dropped.
        """
        forms = {head: list(compress(terms, is_kept)) for head, terms in self.forms.items()}
        frequencies = (
            None if self.frequencies is None else list(compress(self.frequencies, is_kept))
        )
        return Subjects(forms, list(compress(self.groups, is_kept)), frequencies)


def read_subjects(path: Path, least: int, faults: list[Fault]) -> Subjects:
    """Reads a subject list.

    Args:
        path: the file. The group of a subject is the group in the column whose head comes last.
        least: how many subjects it must have.
        faults: the list to which faults are added.

    Returns:
        The subjects, none if the file has no lines with the head `[subj]`.
    """
    file = ListFile(path, faults)
    columns = read_columns(file)
    if SUBJECT not in columns:
        if columns:
            file.add_fault(f"no [subj] lines, only {', '.join(columns)}", "[subj] lines")
        return Subjects({}, [])
    check_aligned(file, columns)
    subjects = columns[SUBJECT]
    check_distinct_terms(file, subjects, "subject")
    if len(subjects) < least:
        expected = "at least 2 subjects to compare"
        file.add_fault("contains only one subject", expected, subjects[-1].line)
    forms = {}
    for head, entries in columns.items():
        forms[head] = [entry.term for entry in entries]
    last_column = list(columns.values())[-1]
    groups = [entry.group for entry in last_column]
    return Subjects(forms, groups, read_frequencies(file, subjects))


def read_frequencies(file: ListFile, subjects: Sequence[ListEntry]) -> list[float] | None:
    """Returns the frequencies of subjects, None without any; some without is a fault."""
    frequencies = [entry.frequency for entry in subjects if entry.frequency is not None]
    if 0 < len(frequencies) < len(subjects):
        line = next(entry.line for entry in subjects if entry.frequency is None)
        expected = "a frequency and '|' in all [subj] lines or in none"
        file.add_fault("has no frequency, unlike other [subj] lines", expected, line)
    return frequencies or None


def select_subjects(
    sides: Sequence[Subjects],
    used_forms: Iterable[str],
    token_counts: TokenCounts | None,
    one_token: bool,
    balance: Balance | None,
) -> list[Subjects]:
    """Returns the subjects of each list that are kept.

    Args:
        sides: one or two lists.
        used_forms: the forms of subjects in the templates, whose tokens count.
        token_counts: returns how many tokens each of some texts is; None if that is unknown. Then
            all subjects are kept, unless they are balanced by frequency alone.
        one_token: whether subjects of several tokens are dropped.
        balance: how the groups of all lists are made alike, None to keep them as they are.
    """
    tokens: list[tuple[int, ...]] | None = None
    if token_counts is not None:
        counts = []
        for form in sorted(used_forms):
            terms = list(chain.from_iterable(side.forms[form] for side in sides))
            counts.append(token_counts(terms))
        tokens = list(zip(*counts, strict=True))
    is_kept = [True] * sum(len(side.groups) for side in sides)
    if one_token and tokens is not None:
        is_kept = [set(forms) == {1} for forms in tokens]
    if balance is not None:
        is_kept = balanced_subjects(sides, tokens, is_kept, balance)
    marks = iter(is_kept)
    return [side.keep(list(islice(marks, len(side.groups)))) for side in sides]


def balanced_subjects(
    sides: Sequence[Subjects],
    tokens: Sequence[tuple[int, ...]] | None,
    may_stay: Sequence[bool],
    balance: Balance,
) -> list[bool]:
    """Returns whether each subject of all lists is kept so that their groups are alike.

    Args:
        sides: one or two lists.
        tokens: how many tokens each form of each subject is, None if that is unknown.
        may_stay: whether each subject is not dropped for its tokens.
        balance: the facts in which the groups are made alike.
    """
    by_tokens = "tokens" in balance.by
    if by_tokens and tokens is None:
        return list(may_stay)
    # If groups are not balanced by tokens, all subjects count as equally long.
    lengths = tokens if by_tokens and tokens is not None else [(1,)] * len(may_stay)
    # 0 tokens mark a subject that may not be chosen.
    marked_lengths = [
        own_lengths if is_candidate else (0,)
        for own_lengths, is_candidate in zip(lengths, may_stay, strict=True)
    ]
    frequencies = None
    if "frequency" in balance.by:
        # Unknown frequencies count as equal.
        frequencies = []
        for side in sides:
            frequencies += side.frequencies or [1.0] * len(side.groups)
    groups = list(chain.from_iterable(side.groups for side in sides))
    rows = set(balanced_rows(groups, marked_lengths, frequencies))
    return [row in rows for row in range(len(may_stay))]


def name_facts(
    sides: Sequence[Subjects], token_counts: TokenCounts | None
) -> dict[str, dict[str, float]]:
    """Describes how the names of groups differ in length and frequency.

    Args:
        sides: the subjects that are kept.
        token_counts: returns how many tokens each of some texts is; None if that is not known, or
            always one.

    Returns:
        The arithmetic mean of `tokens` and the geometric mean of `frequency`, each by group. A fact
        that is unknown is left out; so are all facts if subjects have no groups, or all the same.
    """
    groups = list(chain.from_iterable(side.groups for side in sides))
    if None in groups or len(set(groups)) < 2:
        return {}
    facts: dict[str, dict[str, float]] = {}
    if token_counts is not None:
        counts = token_counts(list(chain.from_iterable(side.base_terms for side in sides)))
        facts["tokens"] = mean_by_group(list(map(float, counts)), groups, fmean)
    if all(side.frequencies for side in sides):
        frequencies = list(chain.from_iterable(side.frequencies or () for side in sides))
        # Frequencies span orders of magnitude; a few frequent names would decide another mean.
        facts["frequency"] = mean_by_group(frequencies, groups, geometric_mean)
    return facts


def mean_by_group(
    values: Sequence[float], groups: Sequence[str | None], mean: Callable[[list[float]], float]
) -> dict[str, float]:
    """Returns the mean of the values of each group, in order of the groups' first appearance."""
    values_of_groups: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        values_of_groups.setdefault(str(group), []).append(value)
    return {group: mean(values_of_group) for group, values_of_group in values_of_groups.items()}


# Stereotypes


def read_stereotypes(path: Path, faults: list[Fault]) -> dict[str, ListLine]:
    """Reads `attribute | group` lines, which say to which group a stereotype gives an attribute.

    Args:
        path: the file. Lines of another form and repeated attributes are faults, and left out.
        faults: the list to which faults are added.

    Returns:
        The group and the number of its line, by attribute.
    """
    file = ListFile(path, faults)
    stereotypes: dict[str, ListLine] = {}
    for number, line in file.lines:
        attribute, _, group = (part.strip() for part in line.partition("|"))
        if not attribute or not group or "|" in group:
            expected = "an attribute and the group that its stereotype names: attribute | group"
            file.add_fault(repr(line), expected, number)
        elif attribute in stereotypes:
            problem = f"attribute {attribute!r} is already in line {stereotypes[attribute].number}"
            file.add_fault(problem, "each attribute once", number)
        else:
            stereotypes[attribute] = ListLine(number, group)
    return stereotypes


def unknown_stereotypes(
    path: Path, attributes: Collection[str], sides: Sequence[Subjects]
) -> Iterator[Fault]:
    """Yields the attributes and groups in a file of stereotypes that a dataset does not have.

    Args:
        path: the file.
        attributes: the names of the dataset's attributes.
        sides: its subjects. If they have no groups, each subject is one.
    """
    names = {name for side in sides for name in side.base_terms}
    subject_groups = {group for side in sides for group in side.groups if group is not None}
    expected_group = "a group of the subjects in the dataset"
    if not subject_groups:
        expected_group = "a subject of the dataset"
    groups = subject_groups or names
    for attribute, (number, group) in read_stereotypes(path, []).items():
        where = f"line {number}"
        if attribute not in attributes:
            problem = f"unknown attribute {attribute!r}{nearest_name(attribute, attributes)}"
            expected = "an attribute spelled as in the list of the dataset"
            yield Fault(str(path), where, problem, expected)
        if group not in groups:
            problem = f"unknown group {group!r}{nearest_name(group, groups)}"
            yield Fault(str(path), where, problem, expected_group)
