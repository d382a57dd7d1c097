"""Documentation of the group measures, generated from what declares them (`biasgrid schema` writes it)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from biasgrid.groups.combinations import SORTS, possible_combinations
from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.scores import SCORES, Kind, expected_argument

MARKS = re.compile(r"(<!-- group measures: (\w+) -->\n).*?(<!-- end of group measures -->)", flags=re.DOTALL)
KINDS: dict[Kind, str] = {"scalar": "one number", "set": "a set of numbers"}


def with_measure_tables(text: str) -> str:
    """Returns a document with the table between each pair of marks made anew.

    A pair is `<!-- group measures: NAME -->` and `<!-- end of group measures -->`, with a key of `TABLES`.
    """
    return MARKS.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", text)


def records_table() -> str:
    """Writes which records the datasets of a family and a task give, and which scores these allow."""
    rows = []
    for (family, task), sort in SORTS.items():
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


TABLES: dict[str, Callable[[], str]] = {
    "records": records_table,
    "scores": scores_table,
    "combinations": combinations_table,
}


def named(names: Iterable[str]) -> str:
    """Writes names as code."""
    return ", ".join(f"`{name}`" for name in names)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *rows])
