"""The use of a checkpoint, by the class of its model in config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Use(NamedTuple):
    """The use of models of some classes.

    Attributes:
        task: their task.
        classes: endings of the names of their classes.
        kind: their name in tables.
        variant: the variant of datasets that they answer, in which `{name}` is the model's name;
            None if it is not known.
        needs: a further key that a config must have for them, `mask` or `labels`; None for none.
    """

    task: str
    classes: tuple[str, ...]
    kind: str
    variant: str | None
    needs: str | None = None


SERVED = Use("text-generation", ("ForCausalLM", "LMHeadModel"), "LLM", "llm")
"""The use of models behind servers."""
USES = (
    Use("fill-mask", ("ForMaskedLM", "ForPreTraining"), "LM", "lm-{name}", "mask"),
    Use("question-answering", ("ForQuestionAnswering", "ForQuestionAnsweringSimple"), "QA", "qa"),
    Use("text-classification", ("ForSequenceClassification",), "Classifier", None, "labels"),
    SERVED,
)


WITH_PICTURES = ("ForConditionalGeneration", "ForVision2Seq", "ForVisionText2Text")
"""Endings of classes that write texts and take pictures, too, if their config has a text part."""
TEXT_PARTS = ("text_config", "llm_config", "language_config")
ENCODER_DECODER = (
    "is an encoder-decoder, which no back end supports: run it behind a "
    "server (see docs/servers.md)"
)
ADVICE = {
    "XLNetForQuestionAnswering": (
        "searches for spans with beams: choose a checkpoint of XLNetForQuestionAnsweringSimple"
    ),
    ("ForTokenClassification"): (
        "labels words, which no dataset needs: choose a checkpoint that answers or classifies"
    ),
    ("ForMultipleChoice"): (
        "chooses among texts with a special head: list it in a config with `task: multiple-choice`"
    ),
    "ForNextSentencePrediction": (
        "predicts whether one sentence follows another: choose a checkpoint with a head "
        "for masked words"
    ),
    "ForConditionalGeneration": ENCODER_DECODER,
    "EncoderDecoderModel": ENCODER_DECODER,
    "Model": (
        "has no head for a task: choose a checkpoint that was trained for one; list an encoder of "
        "texts in a config with `task: feature-extraction`"
    ),
}
"""Advice on unsupported models, by the ending of their class; the first one counts."""


def checkpoint_use(config: Mapping[str, Any]) -> Use | None:
    """Returns the use of a checkpoint by its config.json; None if no back end supports it."""
    names = architecture_names(config)
    takes_pictures = any(name.endswith(WITH_PICTURES) for name in names)
    if takes_pictures and any(config.get(part) for part in TEXT_PARTS):
        return SERVED
    for name in names:
        if name in ADVICE:
            continue
        for use in USES:
            if name.endswith(use.classes):
                return use
    return None


def architecture_names(config: Mapping[str, Any]) -> list[str]:
    """Returns the names of a model's classes in its config.json; empty if it has none."""
    names = config.get("architectures")
    return [str(name) for name in names] if isinstance(names, list) else []


def checkpoint_advice(config: Mapping[str, Any]) -> str:
    """Returns advice on a checkpoint that no back end supports, for messages."""
    names = architecture_names(config)
    for name in names:
        for ending, advice in ADVICE.items():
            if name.endswith(ending):
                return f"{name} {advice}"
    endings = ", ".join(ending for use in USES for ending in use.classes)
    return (
        f"architectures {names} in its config.json; expected a class that ends in one of "
        f"{endings}; or list the model in a config, with its `task`"
    )
