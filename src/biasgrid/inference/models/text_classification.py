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
    """Encoded instances.

    Attributes:
        rows: a row per instance.
        on_device: the tokens of the rows, on the device.
        order: the model's output for each of the dataset's classes, on the device.
    """

    rows: TokenRows
    on_device: DeviceRows
    order: torch.Tensor


@dataclass(frozen=True)
class ClassChoices:
    """The choices that decide the answers.

    Attributes:
        labels: the checkpoint's names of the dataset's classes, in the dataset's order.
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
            ModelError: model and dataset have different classes.
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

    def _assembled(self, instances: pl.DataFrame) -> TokenRows:
        """Assembles rows from the tokens of distinct texts, which are tokenized once."""
        # A tokenizer puts other special tokens around a pair than around a single text.
        is_single = instances["text_pair"].fill_null("").eq("")
        singles = self._laid_out(instances.filter(is_single), single_layout(self.tokenizer))
        pairs = self._laid_out(instances.filter(~is_single), pair_layout(self.tokenizer))
        rows = merge_rows(singles, pairs, is_single.to_numpy())
        check_assembled(rows, self.tokenizer, lambda sample: texts_to_classify(instances[sample]))
        return rows

    def _laid_out(self, instances: pl.DataFrame, layout: TokenLayout) -> TokenRows:
        """Returns the rows of instances that are all single texts, or all pairs, as `layout` is.

        There may be no instances. `text` and `text_pair` must be Categorical.
        """
        texts, text_index = distinct_rows(instances, ["text"])
        second_texts, second_index = distinct_rows(instances, ["text_pair"])
        first_segments = tokenize(self.tokenizer, texts["text"])
        # A single text has an empty second segment.
        second_segments = tokenize(self.tokenizer, second_texts["text_pair"].fill_null(""))
        return layout.rows(
            first_segments, second_segments, first_index=text_index, second_index=second_index
        )

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
        """Returns the columns of answers (`choice`) from the columns of `run`."""
        probabilities = pl.Series("probabilities", columns["probabilities"])
        return pl.DataFrame([probabilities.cast(pl.List(pl.Float32))])


def merge_rows(singles: TokenRows, pairs: TokenRows, is_single: npt.NDArray[np.bool_]) -> TokenRows:
    """Merges the rows of single texts and of pairs; each set keeps its order.

    Args:
        singles: the rows of single texts, one per instance (`owner` is None).
        pairs: the rows of pairs, likewise. Both have token types, or neither.
        is_single: shape (instances,), whether each instance is a single text.
    """
    first_index = np.empty(len(is_single), dtype=np.int32)
    second_index = np.empty(len(is_single), dtype=np.int32)
    first_index[is_single] = singles.first_index
    second_index[is_single] = singles.second_index
    # The segments of pairs follow those of single texts.
    first_index[~is_single] = pairs.first_index + len(singles.first_segments.lengths)
    second_index[~is_single] = pairs.second_index + len(singles.second_segments.lengths)
    return TokenRows(
        join_segments([singles.first_segments, pairs.first_segments]),
        join_segments([singles.second_segments, pairs.second_segments]),
        first_index,
        second_index,
    )


def texts_to_classify(instances: pl.DataFrame) -> list[tuple[str, ...]]:
    """Returns the texts of instances: one, or two if an instance has a second text."""
    texts = instances.select("text", "text_pair").iter_rows()
    return [(text, pair) if pair else (text,) for text, pair in texts]


def class_order(config: PretrainedConfig, labels: Sequence[str]) -> list[int]:
    """Returns the position of each of a dataset's classes among a model's outputs.

    Args:
        config: the model's config, whose `id2label` names its classes.
        labels: these names in the order of the dataset's classes; case is ignored.

    Raises:
        ModelError: the model has other classes, does not name each of them, or may give a text
            several classes.
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
    folded_labels = [label.casefold() for label in labels]
    if len(places) != len(names) or sorted(places) != sorted(folded_labels):
        raise ModelError(
            f"the checkpoint's classes are {names}, those of the config {list(labels)}; expected "
            "the same names, in any order: see `id2label` of the checkpoint and `labels` "
            "of the model"
        )
    return [places[label] for label in folded_labels]
