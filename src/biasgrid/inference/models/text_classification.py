"""Classifiers of a text or of a pair of texts: the probability of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.classes import class_problem
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows, to_device
from biasgrid.inference.engine.encoding import (
    TokenLayout,
    TokenRows,
    check_assembled,
    pair_layout,
    single_layout,
    whole_rows,
)
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.engine.segments import distinct_rows, join_segments, tokenize

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class TextRows:
    """Encoded instances: their rows, here and on the device, and there the order of the classes."""

    rows: TokenRows
    on_device: DeviceRows
    order: torch.Tensor


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

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: ClassChoices
    ):
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

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> TextRows:
        """Tokenizes instances, each as a text or a pair of texts.

        Raises:
            NotAssembledError: see `LocalBackEnd.encode`.
        """
        if whole:
            rows = whole_rows(self.tokenizer, texts_to_classify(instances))
        else:
            rows = self._assembled(instances)
        order = to_device(np.array(self.order), self.model.device)
        return TextRows(rows, DeviceRows.from_rows(rows, self.model), order)

    def _assembled(self, asked: pl.DataFrame) -> TokenRows:
        # Behind a single text there is an empty one, and other tokens stand around both.
        alone = asked["text_pair"].fill_null("").eq("")
        one = self._laid_out(asked.filter(alone), single_layout(self.tokenizer))
        two = self._laid_out(asked.filter(~alone), pair_layout(self.tokenizer))
        rows = merge_rows(one, two, alone.to_numpy())
        check_assembled(rows, self.tokenizer, lambda sample: texts_to_classify(asked[sample]))
        return rows

    def _laid_out(self, asked: pl.DataFrame, layout: TokenLayout) -> TokenRows:
        texts, text_of = distinct_rows(asked, ["text"])
        pairs, pair_of = distinct_rows(asked, ["text_pair"])
        first = tokenize(self.tokenizer, texts["text"])
        second = tokenize(self.tokenizer, pairs["text_pair"].fill_null(""))
        return layout.rows(first, second, first_index=text_of, second_index=pair_of)

    @torch.inference_mode()
    def run(
        self, encoding: TextRows, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Predicts rows of one length.

        Args:
            encoding: the encoded instances.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `probabilities`, float32, shape (rows, classes), classes in the dataset's order.
        """
        logits = self.model(**encoding.on_device.inputs(batch)).logits.float()
        return {"probabilities": logits.softmax(dim=1).index_select(1, encoding.order)}

    def table(
        self, _encoding: TextRows, _part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers (`choice`) from what `run` returned."""
        probabilities = pl.Series("probabilities", columns["probabilities"])
        return pl.DataFrame([probabilities.cast(pl.List(pl.Float32))])


def merge_rows(one: TokenRows, other: TokenRows, is_one: npt.NDArray[np.bool_]) -> TokenRows:
    """Merges two sets of rows; the rows of each set keep their order.

    Args:
        one: the first set; each of its rows is an instance of its own (`owner` is None).
        other: the second set, likewise. Both have token types, or neither.
        is_one: shape (rows,), whether each merged row is of the first set.
    """
    first_index = np.empty(len(is_one), dtype=np.int32)
    second_index = np.empty(len(is_one), dtype=np.int32)
    first_index[is_one] = one.first_index
    second_index[is_one] = one.second_index
    # The segments of the second set follow those of the first one.
    first_index[~is_one] = other.first_index + len(one.first_segments.lengths)
    second_index[~is_one] = other.second_index + len(one.second_segments.lengths)
    return TokenRows(
        join_segments([one.first_segments, other.first_segments]),
        join_segments([one.second_segments, other.second_segments]),
        first_index,
        second_index,
    )


def texts_to_classify(asked: pl.DataFrame) -> list[tuple[str, ...]]:
    """Returns the texts of instances: one, or two if an instance has a second text."""
    texts = asked.select("text", "text_pair").iter_rows()
    return [(text, pair) if pair else (text,) for text, pair in texts]


def class_order(config: PretrainedConfig, labels: Sequence[str]) -> list[int]:
    """Returns which of a model's outputs each of a dataset's classes is.

    Args:
        config: the model's config, whose `id2label` names its classes.
        labels: these names in the order of the dataset's classes, upper and lower case alike.

    Raises:
        ModelError: the model has other classes, does not name each of them, or gives a text
            several.
    """
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise ModelError(
            f"the checkpoint's id2label names the classes {sorted(config.id2label)}; expected 0, "
            "1, ..."
        )
    names = [str(config.id2label[place]) for place in range(config.num_labels)]
    if wrong := class_problem(config.problem_type):
        raise ModelError(
            f"the checkpoint, of the classes {names}, {wrong.problem}; expected {wrong.expected}"
        )
    places = {name.casefold(): place for place, name in enumerate(names)}
    wanted = [label.casefold() for label in labels]
    if len(places) != len(names) or sorted(places) != sorted(wanted):
        raise ModelError(
            f"the checkpoint's classes are {names}, those of the config {list(labels)}; expected "
            "the same names, in any order: see `id2label` of the checkpoint and `labels` "
            "of the model"
        )
    return [places[label] for label in wanted]
