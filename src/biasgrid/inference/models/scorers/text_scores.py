"""Classifiers as scorers of texts that other models wrote: a number for each text."""

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
    """What decides the answers: the keys `labels`, `activation` and `join` of a model's
    `scorer`.
    """

    scorer: Mapping[str, Any]


class TextScores(WholeTextBackEnd):
    """Scores texts by the classes that count."""

    Choices = ScorerChoices
    loader = "AutoModelForSequenceClassification"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: ScorerChoices
    ):
        """Prepares the model.

        Raises:
            ModelError: see `dense_ranks`; or the checkpoint contradicts the activation.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scorer = choices.scorer
        kind, given = model.config.problem_type, self.scorer.get("activation")
        if wrong := activation_problem(kind, given):
            raise ModelError(f"the checkpoint {wrong.problem}; expected {wrong.expected}")
        self.activation = choose_activation(kind, given)
        self.places = class_places(model.config, self.scorer["labels"], self.activation)

    @torch.inference_mode()
    def run(
        self, encoding: WholeTexts, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoding: the encoded texts.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `score`, float32, shape (rows,).
        """
        logits = self.model(**encoding.on_device.inputs(batch)).logits.float()
        probabilities = logits.softmax(dim=1) if self.activation == "softmax" else logits.sigmoid()
        counted = probabilities[:, self.places]
        return {
            "score": counted.amax(dim=1) if self.scorer["join"] == "max" else counted.sum(dim=1)
        }

    def table(
        self, encoding: WholeTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers (`score`) from what `run` returned."""
        return pl.DataFrame({"score": columns["score"], "truncated": encoding.cut[part.instances]})


def class_places(config: PretrainedConfig, labels: Sequence[str], activation: str) -> list[int]:
    """Returns which of a model's outputs the classes are that count.

    Args:
        config: the model's config, whose `id2label` names its classes.
        labels: the names of those that count, upper and lower case alike.
        activation: `softmax` or `sigmoid`.

    Raises:
        ModelError: it lacks one of the classes, or has one alone, whose softmax is always 1.
    """
    places = {str(name).casefold(): place for place, name in config.id2label.items()}
    if missing := [label for label in labels if label.casefold() not in places]:
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
