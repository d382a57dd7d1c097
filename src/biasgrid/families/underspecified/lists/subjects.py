"""Lists of subjects: their reading, which of them a tokenizer or balance keeps, and how the groups'
names differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from statistics import fmean, geometric_mean

from biasgrid.base.faults import Fault
from biasgrid.families.family import TokenCounts
from biasgrid.families.sampling import Balance, balanced_rows
from biasgrid.families.underspecified.lists.entries import (
    SUBJECT,
    check_aligned,
    check_distinct_terms,
    check_terms,
    read_columns_by_head,
)

FREQUENCY_IN_ALL = "a frequency and '|' in all [subj] lines or in none"


@dataclass(frozen=True)
class Subjects:
    """A subject list: aligned forms (`[subj]`, `[subj:dem]`, ...), a group and, if known, a
    frequency of each.
    """

    forms: dict[str, list[str]]
    groups: list[str | None]
    frequencies: list[float] | None = None

    def keep(self, kept: Sequence[bool]) -> Subjects:
        """Returns some of the subjects."""
        forms = {head: list(compress(terms, kept)) for head, terms in self.forms.items()}
        frequencies = None if self.frequencies is None else list(compress(self.frequencies, kept))
        return Subjects(forms, list(compress(self.groups, kept)), frequencies)


def read_subjects(path: Path, least: int, faults: list[Fault]) -> Subjects:
    """Reads a subject list, of `least` subjects at least; a subject's group is the one in the
    file's last column.
    """
    columns = read_columns_by_head(path, faults)
    if columns and "[subj]" not in columns:
        faults.append(
            Fault(str(path), "", f"no [subj] lines, only {', '.join(columns)}", "[subj] lines")
        )
        return Subjects({}, [])
    if not columns:
        return Subjects({}, [])
    check_aligned(path, columns, faults)
    check_terms(path, columns, faults)
    check_distinct_terms(path, columns["[subj]"], "subject", faults)
    if len(columns["[subj]"]) < least:
        line = columns["[subj]"][-1].line
        faults.append(
            Fault(
                str(path),
                f"line {line}",
                "contains only one subject",
                "at least 2 subjects to compare",
            )
        )
    forms = {head: [entry.term for entry in entries] for head, entries in columns.items()}
    last = list(columns.values())[-1]
    known = [entry.frequency for entry in columns[SUBJECT] if entry.frequency is not None]
    if known and len(known) < len(columns[SUBJECT]):
        line = next(entry.line for entry in columns[SUBJECT] if entry.frequency is None)
        faults.append(
            Fault(
                str(path),
                f"line {line}",
                "has no frequency, unlike other [subj] lines",
                FREQUENCY_IN_ALL,
            )
        )
    return Subjects(forms, [entry.group for entry in last], known or None)


def tokens_of_subjects(
    subjects: Subjects, used_forms: set[str], token_counts: TokenCounts | None
) -> list[tuple[int, ...]] | None:
    """Returns how many tokens the used forms of each subject are, None where nobody counts them."""
    if token_counts is None:
        return None
    return list(
        zip(*(token_counts(subjects.forms[form]) for form in sorted(used_forms)), strict=True)
    )


def kept_subjects(
    sides: Sequence[Subjects],
    counts: Sequence[list[tuple[int, ...]] | None],
    one_token: bool,
    balance: Balance | None,
) -> list[Subjects]:
    """Returns the subjects of each list that are kept.

    Args:
        sides: one or two lists.
        counts: how many tokens the subjects of each are, None where that is not known.
        one_token: whether those that are not one token are dropped.
        balance: how the groups of all lists are made alike.
    """
    kept = [
        [
            not one_token or of_side is None or set(of_side[place]) == {1}
            for place in range(len(side.groups))
        ]
        for side, of_side in zip(sides, counts, strict=True)
    ]
    by = balance.by if balance else []
    if not by or ("tokens" in by and None in counts):
        return [side.keep(chosen) for side, chosen in zip(sides, kept, strict=True)]
    groups: list[str | None] = []
    tokens: list[tuple[int, ...]] = []
    frequencies: list[float] = []
    for side, of_side, chosen in zip(sides, counts, kept, strict=True):
        same = [(1,)] * len(chosen)
        # What is dropped already is unknown to the tokenizer, as far as balance goes.
        read = of_side if of_side is not None and "tokens" in by else same
        groups += side.groups
        tokens += [one if is_kept else (0,) for one, is_kept in zip(read, chosen, strict=True)]
        frequencies += side.frequencies or [1.0] * len(chosen)
    rows = set(balanced_rows(groups, tokens, frequencies if "frequency" in by else None))
    first = [0, len(sides[0].groups)]
    return [
        side.keep([start + place in rows for place in range(len(side.groups))])
        for side, start in zip(sides, first, strict=False)
    ]


def facts_of_names(
    sides: Sequence[Subjects], token_counts: TokenCounts | None
) -> dict[str, dict[str, float]]:
    """Returns the mean number of `tokens` and the mean `frequency` of the names of each group,
    those that are known.

    Args:
        sides: the subjects that are kept.
        token_counts: says of texts how many tokens each is; None where that is not known, or always
            one.
    """
    groups = [group for side in sides for group in side.groups]
    if None in groups or len(set(groups)) < 2:
        return {}
    numbers: dict[str, list[float]] = {}
    if token_counts is not None:
        numbers["tokens"] = [
            float(count) for side in sides for count in token_counts(side.forms[SUBJECT])
        ]
    if all(side.frequencies for side in sides):
        numbers["frequency"] = [frequency for side in sides for frequency in side.frequencies or ()]
    facts: dict[str, dict[str, float]] = {}
    for what, values in numbers.items():
        mean = fmean if what == "tokens" else geometric_mean
        of_group = {
            group: [one for one, of in zip(values, groups, strict=True) if of == group]
            for group in groups
        }
        facts[what] = {str(group): mean(of) for group, of in of_group.items()}
    return facts
