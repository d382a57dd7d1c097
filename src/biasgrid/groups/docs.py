"""Tables of the group measures for the documentation, generated from their declarations.

`biasgrid schema --write .` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.records import OutputType
from biasgrid.groups.scores import SCORES, ScoreType, expected_argument
from biasgrid.tables.docs import Makers, markdown_table

KINDS: dict[ScoreType, str] = {"scalar": "one number", "set": "a set of numbers"}


def records_table(output_types: Mapping[tuple[str, str], OutputType]) -> str:
    """Writes the table of the outputs of each family and task."""
    rows = [(family, task, output_type) for (family, task), output_type in output_types.items()]
    return markdown_table(("family", "task", "records are of"), rows)


class ScoreFacts(NamedTuple):
    """The cells of a score in the table of scores, without its name."""

    kind: str
    output_types: str
    argument: str
    source: str


def score_facts(name: str) -> ScoreFacts:
    """Words the facts of a score."""
    score = SCORES[name]
    argument = expected_argument(score) if score.parameter else "none"
    return ScoreFacts(KINDS[score.kind], ", ".join(score.output_types), argument, score.reference)


def scores_table() -> str:
    """Writes the table of scores; neighbours in `SCORES` with the same facts share a row."""
    rows = []
    for facts, names in groupby(SCORES, score_facts):
        rows.append((code_list(names), *facts))
    return markdown_table(("score", "of a group", "records", "`argument`", "source"), rows)


def combinations_table() -> str:
    """Writes the table of distances, the scores that they compare, and their comparisons."""
    rows = []
    for distance, kind in DISTANCES.items():
        comparisons = [name for name, distances in COMPARISONS.items() if distance in distances]
        rows.append((f"`{distance}`", KINDS[kind], code_list(comparisons)))
    return markdown_table(("distance", "between scores that are", "comparison"), rows)


def code_list(code: Iterable[str]) -> str:
    """Joins pieces of code by commas, each in backticks."""
    return ", ".join(f"`{piece}`" for piece in code)


GROUP_TABLES: Makers = {
    "scores": scores_table,
    "distances and comparisons": combinations_table,
}
