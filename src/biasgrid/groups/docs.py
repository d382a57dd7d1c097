"""Documentation of the group measures, generated from what declares them (`biasgrid schema --write`
writes it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.records import Sort
from biasgrid.groups.scores import SCORES, Score, ScoreType, expected_argument
from biasgrid.tables.docs import Makers, markdown_table

KINDS: dict[ScoreType, str] = {"scalar": "one number", "set": "a set of numbers"}


def records_table(sorts: Mapping[tuple[str, str], Sort]) -> str:
    """Writes which records the datasets of a family and a task give."""
    return markdown_table(
        ("family", "task", "records are of"), [(*of, sort) for of, sort in sorts.items()]
    )


def scores_table() -> str:
    """Writes what scores make of a group, what they take, and where they are from; a line for those
    that agree.
    """
    rows = []
    for (kind, of, argument, source), scores in groupby(
        SCORES, lambda name: facts_of(SCORES[name])
    ):
        rows.append((code_names(scores), kind, of, argument, source))
    return markdown_table(("score", "of a group", "records", "`argument`", "source"), rows)


def facts_of(score: Score) -> tuple[str, str, str, str]:
    """Words what a score is, beside its name."""
    argument = expected_argument(score) if score.parameter else "none"
    return KINDS[score.kind], ", ".join(score.of), argument, score.reference


def combinations_table() -> str:
    """Writes which distances, scores and comparisons go together."""
    rows = []
    for distance, kind in DISTANCES.items():
        comparisons = code_names(
            name for name, distances in COMPARISONS.items() if distance in distances
        )
        rows.append((f"`{distance}`", KINDS[kind], comparisons))
    return markdown_table(("distance", "between scores that are", "comparison"), rows)


def code_names(names: Iterable[str]) -> str:
    """Writes names as code."""
    return ", ".join(f"`{name}`" for name in names)


GROUP_TABLES: Makers = {
    "scores": scores_table,
    "distances and comparisons": combinations_table,
}
