"""Lists of subjects: reads them, keeps those that fit, and describes the names of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from statistics import fmean, geometric_mean

from biasgrid.base.faults import Fault
from biasgrid.families.family import TokenCounts
from biasgrid.families.sampling import Balance, balanced_rows
from biasgrid.families.underspecified.lists.entries import (
    SUBJECT,
    ListEntry,
    check_aligned,
    check_distinct_terms,
    check_terms,
    read_columns_by_head,
)

FREQUENCY_IN_ALL = "a frequency and '|' in all [subj] lines or in none"


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

    def keep(self, kept: Sequence[bool]) -> Subjects:
        """Returns the subjects that are marked to be kept."""
        forms = {head: list(compress(terms, kept)) for head, terms in self.forms.items()}
        frequencies = None if self.frequencies is None else list(compress(self.frequencies, kept))
        return Subjects(forms, list(compress(self.groups, kept)), frequencies)

    def keep_first(self, most: int | None) -> Subjects:
        """Returns the first subjects, as many as `most`; all if it is None."""
        return self if most is None else self.keep([True] * most)


def read_subjects(path: Path, least: int, faults: list[Fault]) -> Subjects:
    """Reads a subject list.

    Args:
        path: the file. The group of a subject is the group in the column whose head comes last.
        least: how many subjects it must have.
        faults: the list to which faults are added.

    Returns:
        The subjects, none if the file has no lines with the head `[subj]`.
    """
    columns = read_columns_by_head(path, faults)
    if SUBJECT not in columns:
        if columns:
            problem = f"no [subj] lines, only {', '.join(columns)}"
            faults.append(Fault(str(path), "", problem, "[subj] lines"))
        return Subjects({}, [])
    check_aligned(path, columns, faults)
    check_terms(path, columns, faults)
    subjects = columns[SUBJECT]
    check_distinct_terms(path, subjects, "subject", faults)
    if len(subjects) < least:
        where = f"line {subjects[-1].line}"
        expected = "at least 2 subjects to compare"
        faults.append(Fault(str(path), where, "contains only one subject", expected))
    forms = {}
    for head, entries in columns.items():
        forms[head] = [entry.term for entry in entries]
    last_column = list(columns.values())[-1]
    groups = [entry.group for entry in last_column]
    return Subjects(forms, groups, read_frequencies(path, subjects, faults))


def read_frequencies(
    path: Path, subjects: Sequence[ListEntry], faults: list[Fault]
) -> list[float] | None:
    """Returns the frequencies in a list of subjects, None if there are none.

    Args:
        path: the file.
        subjects: its lines with the head `[subj]`.
        faults: the list to which a fault is added if only some lines have a frequency.
    """
    frequencies = [entry.frequency for entry in subjects if entry.frequency is not None]
    if frequencies and len(frequencies) < len(subjects):
        line = next(entry.line for entry in subjects if entry.frequency is None)
        problem = "has no frequency, unlike other [subj] lines"
        faults.append(Fault(str(path), f"line {line}", problem, FREQUENCY_IN_ALL))
    return frequencies or None


def tokens_of_subjects(
    subjects: Subjects, used_forms: set[str], token_counts: TokenCounts | None
) -> list[tuple[int, ...]] | None:
    """Counts the tokens of subjects in each form that templates use.

    Args:
        subjects: the subjects.
        used_forms: the forms. Their order in the counts is alphabetical.
        token_counts: returns how many tokens each of some texts is.

    Returns:
        The counts of each subject, None without `token_counts`.
    """
    if token_counts is None:
        return None
    counts_of_forms = [token_counts(subjects.forms[form]) for form in sorted(used_forms)]
    return list(zip(*counts_of_forms, strict=True))


def kept_subjects(
    sides: Sequence[Subjects],
    counts: Sequence[list[tuple[int, ...]] | None],
    one_token: bool,
    balance: Balance | None,
) -> list[Subjects]:
    """Returns the subjects of each list that are kept.

    Args:
        sides: one or two lists.
        counts: from `tokens_of_subjects`, for each list.
        one_token: whether subjects of several tokens are dropped, if their tokens are known.
        balance: how the groups of all lists are made alike, None to keep them as they are.
    """
    kept = []
    for side, tokens in zip(sides, counts, strict=True):
        if one_token and tokens is not None:
            kept.append([set(forms) == {1} for forms in tokens])
        else:
            kept.append([True] * len(side.groups))
    are_tokens_unknown = None in counts
    if balance is None or ("tokens" in balance.by and are_tokens_unknown):
        return [side.keep(chosen) for side, chosen in zip(sides, kept, strict=True)]
    return balanced_subjects(sides, counts, kept, balance)


def balanced_subjects(
    sides: Sequence[Subjects],
    counts: Sequence[list[tuple[int, ...]] | None],
    kept: Sequence[Sequence[bool]],
    balance: Balance,
) -> list[Subjects]:
    """Returns the subjects of each list that make the groups of all lists alike.

    Args:
        sides: one or two lists.
        counts: from `tokens_of_subjects`, for each list.
        kept: for each list, which of its subjects are not dropped for their tokens.
        balance: the facts in which the groups are made alike.
    """
    groups: list[str | None] = []
    tokens: list[tuple[int, ...]] = []
    frequencies: list[float] = []
    for side, counts_of_side, chosen in zip(sides, counts, kept, strict=True):
        # If groups are not balanced by tokens, all subjects count as equally long.
        token_counts: list[tuple[int, ...]] = [(1,)] * len(chosen)
        if counts_of_side is not None and "tokens" in balance.by:
            token_counts = counts_of_side
        for token_count, is_kept in zip(token_counts, chosen, strict=True):
            # 0 tokens mark a subject that may not be chosen.
            tokens.append(token_count if is_kept else (0,))
        groups += side.groups
        frequencies += side.frequencies or [1.0] * len(chosen)
    by_frequency = "frequency" in balance.by
    rows = set(balanced_rows(groups, tokens, frequencies if by_frequency else None))
    balanced = []
    start = 0
    for side in sides:
        end = start + len(side.groups)
        balanced.append(side.keep([row in rows for row in range(start, end)]))
        start = end
    return balanced


def facts_of_names(
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
    groups = [group for side in sides for group in side.groups]
    if None in groups or len(set(groups)) < 2:
        return {}
    facts: dict[str, dict[str, float]] = {}
    if token_counts is not None:
        tokens: list[float] = []
        for side in sides:
            tokens += [float(count) for count in token_counts(side.forms[SUBJECT])]
        facts["tokens"] = mean_by_group(tokens, groups, fmean)
    if all(side.frequencies for side in sides):
        frequencies: list[float] = []
        for side in sides:
            frequencies += side.frequencies or ()
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
