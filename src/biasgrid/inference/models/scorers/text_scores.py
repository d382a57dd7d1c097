"""Classifiers that score texts which other models wrote: a number for each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import polars as pl
import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.classes import activation_problem, choose_activation
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.models.scorers.whole_texts import WholeTextBackEnd, WholeTexts

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class ScorerChoices:
    """The settings that decide the answers.

    Attributes:
        scorer: the keys `labels`, `activation` and `join` of `section.Scorer`.
    """

    scorer: Mapping[str, Any]


class TextScores(WholeTextBackEnd):
    """Scores texts by the probabilities of some classes (answer kind `score`).

    Attributes:
        scorer: see `ScorerChoices`.
        activation: `softmax` or `sigmoid`.
        places: the places of the classes among the model's outputs.
    """

    Choices = ScorerChoices
    loader = "AutoModelForSequenceClassification"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: ScorerChoices
    ):
        """Prepares the model.

        Raises:
            ModelError: see `class_places`; or the checkpoint contradicts the activation.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scorer = choices.scorer
        problem_type, activation = model.config.problem_type, self.scorer.get("activation")
        fault = activation_problem(problem_type, activation)
        if fault:
            raise ModelError(f"the checkpoint {fault.problem}; expected {fault.expected}")
        self.activation = choose_activation(problem_type, activation)
        self.places = class_places(model.config, self.scorer["labels"], self.activation)

    @torch.inference_mode()
    def run(
        self, encoding: WholeTexts, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoding: the encoded texts.
            batch: the rows.
            plain: not used: there are no shortcuts.

        Returns:
            `score`, float32, shape (rows,): the largest probability of the classes, or their sum.
        """
        logits = self.model(**encoding.on_device.inputs(batch)).logits.float()
        probabilities = logits.softmax(dim=1) if self.activation == "softmax" else logits.sigmoid()
        class_probabilities = probabilities[:, self.places]
        if self.scorer["join"] == "max":
            return {"score": class_probabilities.amax(dim=1)}
        return {"score": class_probabilities.sum(dim=1)}

    def table(
        self, encoding: WholeTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns `score`, and `truncated`: whether the end of a text was not read."""
        return pl.DataFrame(
            {"score": columns["score"], "truncated": encoding.is_truncated[part.instances]}
        )


def class_places(config: PretrainedConfig, labels: Sequence[str], activation: str) -> list[int]:
    """Returns the places of some classes among a model's outputs, in the order of `labels`.

    Args:
        config: the model's config, whose `id2label` names its classes.
        labels: the names of the classes, in any case.
        activation: `softmax` or `sigmoid`.

    Raises:
        ModelError: the model lacks a class, or has only one, whose softmax is always 1.
    """
    places = {str(name).casefold(): place for place, name in config.id2label.items()}
    missing = [label for label in labels if label.casefold() not in places]
    if missing:
        raise ModelError(
            f"the checkpoint's classes are {list(config.id2label.values())}, without {missing}; "
            "expected names from its `id2label` in `scorer.labels` of the model"
        )
    if activation == "softmax" and config.num_labels == 1:
        raise ModelError(
            "the checkpoint has one class, whose softmax is always 1; "
            "expected `activation: sigmoid`"
        )
    return [places[label.casefold()] for label in labels]
