"""Compares the classes in a classifier's config.json with those in a config of biasgrid."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from biasgrid.inference.checkpoints.unsupported import FolderProblem

SEVERAL = "multi_label_classification"
ACTIVATIONS = {SEVERAL: "sigmoid", "single_label_classification": "softmax"}
"""The function that makes probabilities of a classifier's outputs, by its `problem_type`."""
REGRESSION = "regression"


def class_problems(
    config: dict[str, Any],
    classes: Collection[str],
    scored: Collection[str],
    activation: str | None,
) -> Iterator[FolderProblem]:
    """Yields a problem if a classifier's classes have other names, or are not exclusive.

    Args:
        config: its config.json.
        classes: the names that its classes must have, in any order and case; empty if any will do.
        scored: the classes that a scorer needs; empty for other classifiers.
        activation: the activation of a scorer, see `activation_problem`.
    """
    problem_type = config.get("problem_type")
    names = class_labels(config)
    if scored:
        activation_fault = activation_problem(problem_type, activation)
        if activation_fault:
            yield activation_fault
    if classes:
        type_fault = class_problem(problem_type)
        if type_fault:
            yield type_fault
        if sorted(map(str.casefold, names)) != sorted(map(str.casefold, classes)):
            yield FolderProblem(
                f"contains a classifier of the classes {names}, not {list(classes)}",
                "the same names, in any order: see `id2label` in its config.json and `labels` "
                "of the model",
            )
    folded = set(map(str.casefold, names))
    missing = [name for name in scored if name.casefold() not in folded]
    if missing:
        yield FolderProblem(
            f"contains a classifier of the classes {names}, without {missing}",
            "names of `id2label` in its config.json in `scorer.labels` of the model",
        )


def class_labels(config: dict[str, Any]) -> list[str]:
    """Returns the names of a classifier's classes; empty if its config.json is not valid."""
    # Transformers gives a model without names two classes of these names.
    labels = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    if not isinstance(labels, dict):
        return []
    return [str(label) for label in labels.values()]


def class_problem(kind: str | None) -> FolderProblem | None:
    """Returns the problem of a model that does not give a text exactly one class; None without.

    Args:
        kind: the checkpoint's `problem_type`; None if it has none.
    """
    if kind == REGRESSION:
        return FolderProblem("gives a text a number (problem_type: regression)", "a classifier")
    if kind == SEVERAL:
        return FolderProblem(
            f"can give a text any number of its classes (problem_type: {SEVERAL})", "exactly one"
        )
    return None


def activation_problem(kind: str | None, activation: str | None) -> FolderProblem | None:
    """Returns the problem of a scorer that was not trained for an activation; None without.

    Args:
        kind: the checkpoint's `problem_type`; None if it has none.
        activation: `softmax`, `sigmoid`, or None if the checkpoint decides.
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


def choose_activation(kind: str | None, activation: str | None) -> str:
    """Returns the activation that turns a scorer's outputs into probabilities.

    Args and values: see `activation_problem`. A checkpoint without `problem_type` gets a softmax.
    """
    return activation or ACTIVATIONS.get(str(kind), "softmax")
