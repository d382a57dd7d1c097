"""Documentation of the group measures, generated from what declares them (`biasgrid schema --write` writes it)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from biasgrid.groups.combinations import possible_combinations
from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.records import Sort
from biasgrid.groups.scores import SCORES, Kind, expected_argument
from biasgrid.tables.docs import Makers, markdown

KINDS: dict[Kind, str] = {"scalar": "one number", "set": "a set of numbers"}


def records_table(sorts: Mapping[tuple[str, str], Sort]) -> str:
    """Writes which records the datasets of a family and a task give, and which scores these allow."""
    rows = []
    for (family, task), sort in sorts.items():
        scores = dict.fromkeys(combination.score for combination in possible_combinations(sort))
        rows.append((family, task, sort, named(scores)))
    return markdown(("family", "task", "records are of", "scores"), rows)


def scores_table() -> str:
    """Writes what each score makes of a group, what it takes, and where it is from."""
    rows = []
    for name, score in SCORES.items():
        argument = expected_argument(score) if score.parameter else "none"
        rows.append((f"`{name}`", KINDS[score.kind], ", ".join(score.of), argument, score.reference))
    return markdown(("score", "of a group", "records", "`argument`", "source"), rows)


def combinations_table() -> str:
    """Writes which distances, scores and comparisons go together."""
    rows = []
    for distance, kind in DISTANCES.items():
        comparisons = named(name for name, distances in COMPARISONS.items() if distance in distances)
        rows.append((f"`{distance}`", KINDS[kind], comparisons))
    return markdown(("distance", "between scores that are", "comparison"), rows)


def named(names: Iterable[str]) -> str:
    """Writes names as code."""
    return ", ".join(f"`{name}`" for name in names)


GROUP_TABLES: Makers = {
    "scores": scores_table,
    "distances and comparisons": combinations_table,
}
