"""The rules of which score goes with which distance and comparison, used where configs are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from biasgrid.base.faults import Problem, UserError, nearest_name, one_of
from biasgrid.groups.comparisons import COMPARISONS
from biasgrid.groups.distances import DISTANCES
from biasgrid.groups.records import OutputType
from biasgrid.groups.scores import (
    SCORES,
    Argument,
    accepts_argument,
    argument_problem,
    expected_argument,
)


class Combination(NamedTuple):
    """A score, a distance and a comparison that go together, by their names."""

    score: str
    distance: str
    comparison: str


class ImpossibleCombination(Problem, UserError):  # noqa: N818
    """An unknown name, a wrong argument, or names that do not go together."""


def possible_combinations(output_type: OutputType) -> list[Combination]:
    """Returns all combinations that can be computed from outputs of a type."""
    combinations = []
    for name, score in SCORES.items():
        if output_type not in score.output_types:
            continue
        for comparison, distances in COMPARISONS.items():
            for distance in distances:
                if score.kind == DISTANCES[distance]:
                    combinations.append(Combination(name, distance, comparison))
    return combinations


def check_combination(
    output_type: OutputType,
    *,
    score: str,
    distance: str,
    comparison: str,
    argument: Argument = None,
) -> None:
    """Raises if a comparison cannot be computed.

    Args:
        output_type: the outputs of the records; the family and the task decide it.
        score: a name that should be a key of `SCORES`.
        distance: a name that should be a key of `DISTANCES`.
        comparison: a name that should be a key of `COMPARISONS`.
        argument: the argument of the score.

    Raises:
        ImpossibleCombination: a name is unknown, the score cannot be computed from such outputs or
            does not take the argument, or the three do not go together. The message lists the
            possible ones.
    """
    possible = possible_combinations(output_type)
    expected_scores = one_of({combination.score for combination in possible})
    check_score(output_type, score, argument, expected_scores)
    check_name("distance", distance, DISTANCES)
    check_name("comparison", comparison, COMPARISONS)
    if (score, distance, comparison) not in possible:
        raise ImpossibleCombination(
            mismatch(score=score, distance=distance, comparison=comparison),
            alternatives(possible, score=score, distance=distance),
        )


def check_name(noun: str, name: str, allowed_names: Iterable[str]) -> None:
    """Raises ImpossibleCombination if a name is not allowed; the noun is for the message."""
    if name not in allowed_names:
        raise ImpossibleCombination(
            f"unknown {noun} {name!r}{nearest_name(name, allowed_names)}", one_of(allowed_names)
        )


def check_score(output_type: OutputType, name: str, argument: Argument, expected: str) -> None:
    """Raises if a score is unknown, is for other outputs, or does not take an argument.

    Args:
        output_type: the outputs of the records.
        name: the name of the score.
        argument: its argument.
        expected: the possible scores, for the message.

    Raises:
        ImpossibleCombination: see above.
    """
    if name not in SCORES:
        raise ImpossibleCombination(f"unknown score {name!r}{nearest_name(name, SCORES)}", expected)
    score = SCORES[name]
    if output_type not in score.output_types:
        raise ImpossibleCombination(
            f"the score {name!r} is for {' or '.join(score.output_types)}, not for {output_type}",
            expected,
        )
    if not accepts_argument(score, argument):
        raise ImpossibleCombination(
            f"the score {name!r} {argument_problem(argument)}", expected_argument(score)
        )


def check_argument(score: str, argument: Argument, *, class_count: int) -> None:
    """Raises if a dataset has not the classes for an argument.

    Args:
        score: the name of the score, for the message.
        argument: its argument; an integer is the index of a class or, without classes, of a target.
        class_count: the number of the dataset's classes, 0 if its models are not classifiers.

    Raises:
        ImpossibleCombination: there is no such class, or the average is "binary" and there are not
            two classes.
    """
    if class_count and isinstance(argument, int) and argument >= class_count:
        raise ImpossibleCombination(
            f"there is no class {argument}", f"an index from 0 to {class_count - 1}"
        )
    if class_count not in (0, 2) and argument == "binary":
        problem = (
            f"the average 'binary' of {score!r} is for two classes, but the dataset has "
            f"{class_count}"
        )
        raise ImpossibleCombination(problem, "macro, micro or weighted")


def mismatch(*, score: str, distance: str, comparison: str) -> str:
    """Words why a score, a distance and a comparison, which all exist, do not go together."""
    if distance not in COMPARISONS[comparison]:
        return f"the comparison {comparison!r} does not fit the distance {distance!r}"
    nouns = {"scalar": "one number", "set": "a set of numbers"}
    score_noun, distance_noun = nouns[SCORES[score].kind], nouns[DISTANCES[distance]]
    return (
        f"the score {score!r} is {score_noun} per group, but the distance {distance!r} "
        f"compares {distance_noun}"
    )


def alternatives(possible: list[Combination], *, score: str, distance: str) -> str:
    """Lists the combinations of a score and, if the distance does not fit it, the scores of that
    distance.
    """
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
