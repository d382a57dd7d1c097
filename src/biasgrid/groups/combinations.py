"""Which score goes with which distance and comparison: the one place that knows, light enough for
reading a config.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from biasgrid.base.faults import Problem, UserError, nearest_name, one_of
from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.records import Sort
from biasgrid.groups.scores import SCORES, Argument, expected_argument, misfit, takes


class Combination(NamedTuple):
    """Names that go together."""

    score: str
    distance: str
    comparison: str


class ImpossibleCombination(Problem, UserError):  # noqa: N818
    """Names that do not go together."""


def possible_combinations(sort: Sort) -> list[Combination]:
    """Returns all that can be asked of records of a sort."""
    possible = []
    for name, score in SCORES.items():
        if sort not in score.of:
            continue
        for comparison, distances in COMPARISONS.items():
            for distance in distances:
                if score.kind == DISTANCES[distance]:
                    possible.append(Combination(name, distance, comparison))
    return possible


def check_combination(
    sort: Sort,
    score: str,
    distance: str,
    comparison: str,
    argument: Argument = None,
) -> None:
    """Refuses what cannot be computed.

    Args:
        sort: what there is of the records, which hangs on the family and the task.
        score: a key of `SCORES`.
        distance: a key of `DISTANCES`.
        comparison: a key of `COMPARISONS`.
        argument: what the score takes.

    Raises:
        ImpossibleCombination: a name is unknown, the score cannot be computed of this or takes no
            such argument, the three do not go together. The message names what is possible.
    """
    possible = possible_combinations(sort)
    check_score(sort, score, argument, one_of({combination.score for combination in possible}))
    check_name("distance", distance, DISTANCES)
    check_name("comparison", comparison, COMPARISONS)
    if (score, distance, comparison) not in possible:
        raise ImpossibleCombination(
            mismatch(score, distance, comparison), alternatives(possible, score, distance)
        )


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Refuses an unknown name."""
    if name not in known:
        raise ImpossibleCombination(
            f"unknown {what} {name!r}{nearest_name(name, known)}", one_of(known)
        )


def check_score(sort: Sort, name: str, argument: Argument, expected: str) -> None:
    """Refuses an unknown score, one of other records, and an argument that it does not take."""
    if name not in SCORES:
        raise ImpossibleCombination(f"unknown score {name!r}{nearest_name(name, SCORES)}", expected)
    score = SCORES[name]
    if sort not in score.of:
        raise ImpossibleCombination(
            f"the score {name!r} is for {' or '.join(score.of)}, not for {sort}", expected
        )
    if not takes(score, argument):
        raise ImpossibleCombination(
            f"the score {name!r} {misfit(argument)}", expected_argument(score)
        )


def check_argument(score: str, argument: Argument, classes: int) -> None:
    """Refuses an argument that does not go with the number of a dataset's classes (0 for no
    classifiers).

    Raises:
        ImpossibleCombination: there is no such class, or the average is of two classes where there
            are more.
    """
    if classes and isinstance(argument, int) and argument >= classes:
        raise ImpossibleCombination(
            f"there is no class {argument}", f"an index from 0 to {classes - 1}"
        )
    if classes not in (0, 2) and argument == "binary":
        problem = (
            f"the average 'binary' of {score!r} is for two classes, but the dataset has {classes}"
        )
        raise ImpossibleCombination(problem, "macro, micro or weighted")


def mismatch(score: str, distance: str, comparison: str) -> str:
    """Says why names do not go together."""
    if distance not in COMPARISONS[comparison]:
        return f"the comparison {comparison!r} does not fit the distance {distance!r}"
    nature = {"scalar": "one number", "set": "a set of numbers"}
    of_score, of_distance = SCORES[score].kind, DISTANCES[distance]
    return (
        f"the score {score!r} is {nature[of_score]} per group, but the distance {distance!r} "
        f"compares {nature[of_distance]}"
    )


def alternatives(possible: list[Combination], score: str, distance: str) -> str:
    """Names the combinations of a score, and the scores of a distance that does not fit it."""
    with_score = []
    scores_of_distance = set()
    for combination in possible:
        if combination.score == score:
            with_score.append(f"{combination.comparison} of {combination.distance}")
        if combination.distance == distance:
            scores_of_distance.add(combination.score)
    text = f"with {score}: {', '.join(with_score)}"
    if score in scores_of_distance:
        return text
    return f"{text}; or with {distance} the score {' or '.join(sorted(scores_of_distance))}"
