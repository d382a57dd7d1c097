"""What a classifier's config.json says of its classes, against what a config says of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from biasgrid.inference.checkpoints.unsupported import FolderProblem

SEVERAL = "multi_label_classification"
ACTIVATIONS = {SEVERAL: "sigmoid", "single_label_classification": "softmax"}
"""What makes probabilities of the outputs of a classifier, by its `problem_type`."""
REGRESSION = "regression"


def class_problems(
    config: dict[str, Any],
    classes: Collection[str],
    scored: Collection[str],
    activation: str | None,
) -> Iterator[FolderProblem]:
    """Yields that a classifier's classes are called otherwise, or are of another kind.

    Args:
        config: its config.json.
        classes: the classes that it should have, upper and lower case alike.
        scored: of scorers, some of its classes.
        activation: of scorers, see `activation_problem`.
    """
    kind = config.get("problem_type")
    if scored and (problem := activation_problem(kind, activation)):
        yield problem
    if classes and (problem := class_problem(kind)):
        yield problem
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    there = [str(name) for name in named.values()] if isinstance(named, dict) else []
    if classes and sorted(name.casefold() for name in there) != sorted(
        name.casefold() for name in classes
    ):
        expected = (
            "the same names, in any order: see `id2label` in its config.json and `labels` "
            "of the model"
        )
        yield FolderProblem(
            f"contains a classifier of the classes {there}, not {list(classes)}", expected
        )
    known = {name.casefold() for name in there}
    if missing := [name for name in scored if name.casefold() not in known]:
        expected = "names of `id2label` in its config.json in `scorer.labels` of the model"
        yield FolderProblem(
            f"contains a classifier of the classes {there}, without {missing}", expected
        )


def class_problem(kind: str | None) -> FolderProblem | None:
    """Returns that a model does not give a text exactly one of its classes."""
    if kind == REGRESSION:
        return FolderProblem("gives a text a number (problem_type: regression)", "a classifier")
    if kind == SEVERAL:
        return FolderProblem(
            f"can give a text any number of its classes (problem_type: {SEVERAL})", "exactly one"
        )
    return None


def activation_problem(kind: str | None, activation: str | None) -> FolderProblem | None:
    """Returns that a scorer's outputs are not made for an activation.

    Args:
        kind: the checkpoint's `problem_type`.
        activation: `softmax`, `sigmoid`, or None where the checkpoint decides.
    """
    if kind == REGRESSION:
        return FolderProblem(
            "gives a text a number (problem_type: regression)",
            "a classifier, whose scores are probabilities",
        )
    right = ACTIVATIONS.get(str(kind))
    if activation and right and activation != right:
        problem = (
            f"contains a classifier whose problem_type is {kind}, which `activation: "
            f"{activation}` contradicts"
        )
        return FolderProblem(
            problem,
            f"`activation: {right}` in `scorer`, or no `activation`, because the "
            "checkpoint names it",
        )
    return None


def activation_of(kind: str | None, activation: str | None) -> str:
    """Returns what makes probabilities of a scorer's outputs; see `activation_problem`."""
    return activation or ACTIVATIONS.get(str(kind), "softmax")
