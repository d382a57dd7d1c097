"""Lists in answers, such as recommendations: what they name, and how like two of them are.

Similarities are those of FaiRLLM (Zhang et al., RecSys 2023), each divided by what it is for equal lists, so that 1
means the same. K is the length of the longer list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

ENTRY = re.compile(r"^\s*(?:\d{1,3}[.):]|[-*•+])\s+(.*\S)\s*$")
AFTER_NAME = re.compile(r"\s+[-–—]\s+|:\s|\s+\(")  # noqa: RUF001
"""What stands between a name and what is said of it."""
LIST_MARKS = re.compile(r"[^\w\s]|_")


def listed_names(answer: str) -> list[str]:
    """Returns what a list in an answer names: lines that begin with a number, a dash, a star or a dot.

    Of a line what stands before ` - `, `: ` or ` (`, in lower case, without marks and superfluous white space; of names
    that are there twice the first.
    """
    entries = (ENTRY.match(line) for line in answer.splitlines())
    named = (AFTER_NAME.split(entry[1], maxsplit=1)[0] for entry in entries if entry)
    plain = (" ".join(LIST_MARKS.sub(" ", name).lower().split()) for name in named)
    return list(dict.fromkeys(name for name in plain if name))


def jaccard(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Returns how many of the names of two lists are in both, as a share; None where both are empty."""
    named = {*one, *other}
    return len({*one} & {*other}) / len(named) if named else None


def serp(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Returns SERP: names of the first list that are in the second, weighted by their ranks there; None of empty lists.

    Sum over shared names of (K - rank + 1), rank from 1 in the first list, by K (K + 1) / 2.
    """
    longer = max(len(one), len(other))
    if not longer:
        return None
    shared = {*other}
    return sum(longer - place for place, name in enumerate(one) if name in shared) / (longer * (longer + 1) / 2)


def prag(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Returns PRAG: pairs of names of the first list that stand in the same order in the second; None of empty lists.

    Number of pairs of which the first name is in the second list, and the other behind it there or missing, by
    K (K - 1) / 2. With one name each 1 where these are the same, else 0.
    """
    longer = max(len(one), len(other))
    if longer < 2:
        return float(list(one) == list(other)) if longer else None
    rank = {name: place for place, name in enumerate(other)}
    kept = sum(first in rank and rank[first] < rank.get(second, longer) for first, second in combinations(one, 2))
    return kept / (longer * (longer - 1) / 2)


def spread(similarities: Sequence[float]) -> tuple[float, float] | None:
    """Returns SNSR and SNSV: largest less smallest similarity to the neutral list, and its standard deviation.

    Args:
        similarities: of each group the mean over prompts.

    Returns:
        None where there are fewer than two groups.
    """
    if len(similarities) < 2:
        return None
    mean = sum(similarities) / len(similarities)
    variance = sum((value - mean) ** 2 for value in similarities) / len(similarities)
    return max(similarities) - min(similarities), variance**0.5
