"""What a checkpoint is for, as the class of its model tells that its config.json names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Use(NamedTuple):
    """What models of some classes are used for.

    Attributes:
        task: their task.
        classes: how the names of their classes end.
        kind: what tables call them.
        variant: which variant of datasets they answer; `{name}` stands for the model's name; None where none.
        needs: what a config must say of them besides, `mask` or `labels`; None for nothing.
    """

    task: str
    classes: tuple[str, ...]
    kind: str
    variant: str | None
    needs: str | None = None


SERVED = Use("text-generation", ("ForCausalLM", "LMHeadModel"), "LLM", "llm")
"""What servers are asked for."""
USES = (
    Use("fill-mask", ("ForMaskedLM", "ForPreTraining"), "LM", "lm-{name}", "mask"),
    Use("question-answering", ("ForQuestionAnswering",), "QA", "qa"),
    Use("text-classification", ("ForSequenceClassification",), "Classifier", None, "labels"),
    SERVED,
)


def use_of(classes: Iterable[str]) -> Use | None:
    """Returns what a checkpoint of a model is for; None where no back end asks such a model."""
    return next((use for name in classes for use in USES if name.endswith(use.classes)), None)
