"""Classifiers of a text or of a pair of texts: the probability of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.engine.encoding import Rows, whole_rows
from biasgrid.engine.local import LocalBackEnd, inputs_of

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class TextRows:
    """Encoded instances."""

    rows: Rows


@dataclass(frozen=True)
class ClassChoices:
    """What decides the answers.

    Attributes:
        labels: what the checkpoint calls the dataset's classes, in the dataset's order.
    """

    labels: Sequence[str] = ()


class TextClassification(LocalBackEnd):
    """Reads class probabilities from a classifier."""

    Choices = ClassChoices
    loader = "AutoModelForSequenceClassification"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: ClassChoices):
        """Prepares the model.

        Args:
            model: a classifier.
            tokenizer: its tokenizer.
            choices: the classes.

        Raises:
            ModelError: the model's classes are not those of the dataset.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.order = class_order(model.config, choices.labels)

    def encode(self, asked: pl.DataFrame) -> TextRows:
        """Tokenizes instances, each as a text or a pair of texts."""
        texts = [(text, pair) if pair else text for text, pair in asked.select("text", "text_pair").iter_rows()]
        return TextRows(whole_rows(self.tokenizer, texts))

    @torch.inference_mode()
    def run(self, encoded: TextRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[np.float32]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: not used: there are no shortcuts.

        Returns:
            `probabilities`, shape (rows, classes), classes in the dataset's order.
        """
        logits = self.model(**inputs_of(self.model, encoded.rows, rows)).logits.float()
        return {"probabilities": logits.softmax(dim=1)[:, self.order].cpu().numpy()}

    def table(self, _encoded: TextRows, columns: dict[str, npt.NDArray[np.float32]]) -> pl.DataFrame:
        """Makes columns of the answers (`choice`) from what `run` returned."""
        return pl.DataFrame([pl.Series("probabilities", columns["probabilities"]).cast(pl.List(pl.Float32))])


def class_order(config: PretrainedConfig, labels: Sequence[str]) -> list[int]:
    """Returns which of a model's outputs each of a dataset's classes is.

    Args:
        config: the model's config, whose `id2label` names its classes.
        labels: these names in the order of the dataset's classes, upper and lower case alike.

    Raises:
        ModelError: the model has other classes, does not name each of them, or gives a text several.
    """
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise ModelError(f"the checkpoint's id2label names the classes {sorted(config.id2label)}; expected 0, 1, ...")
    names = [str(config.id2label[place]) for place in range(config.num_labels)]
    if config.problem_type == "multi_label_classification":
        raise ModelError(f"the model gives a text any number of the classes {names}; expected exactly one")
    places = {name.casefold(): place for place, name in enumerate(names)}
    wanted = [label.casefold() for label in labels]
    if len(places) != len(names) or sorted(places) != sorted(wanted):
        raise ModelError(
            f"the checkpoint's classes are {names}, those of the config {list(labels)}; expected the same names, in "
            "any order: see `id2label` of the checkpoint and `labels` of the model"
        )
    return [places[label] for label in wanted]
