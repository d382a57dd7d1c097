"""Models with a head for multiple choice: each option gets a logit after context and question."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.inference.engine.back_end import columns_with_prefix, to_list_column
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows
from biasgrid.inference.engine.encoding import TokenRows, whole_rows
from biasgrid.inference.engine.local import LocalBackEnd

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class OptionRows:
    """Encoded instances.

    Attributes:
        rows: a row for each option of each instance.
        on_device: the tokens of the rows, on the device.
        option_count: the number of options of each instance; all have the same.
    """

    rows: TokenRows
    on_device: DeviceRows
    option_count: int


@dataclass(frozen=True)
class OptionChoices:
    """No choices: the checkpoint alone decides the answers."""


class MultipleChoice(LocalBackEnd):
    """Reads the probabilities of options from a model with a multiple-choice head, as for RACE."""

    Choices = OptionChoices
    loader = "AutoModelForMultipleChoice"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: OptionChoices
    ):
        """Prepares the model; there is nothing to choose."""
        self.model = model
        self.tokenizer = tokenizer

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> OptionRows:
        """Tokenizes a pair for each option: the context, and the question with the option.

        Texts are always tokenized as a whole; `whole` changes nothing.
        """
        options = columns_with_prefix(instances, "candidate")
        questions = instances.select("text_pair", "text", *options)
        texts = []
        for context, question, *own_options in questions.iter_rows():
            texts += [(str(context), f"{question} {option}") for option in own_options]
        owner = np.repeat(np.arange(len(instances), dtype=np.int32), len(options))
        rows = replace(whole_rows(self.tokenizer, texts), owner=owner)
        return OptionRows(rows, DeviceRows.from_rows(rows, self.model), len(options))

    @torch.inference_mode()
    def run(
        self, encoding: OptionRows, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Predicts rows of one length.

        Args:
            encoding: the encoded instances.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `logits`, float32, shape (rows,): each row is a question with one option, as options
            differ in length.
        """
        inputs = {
            name: values[:, None] for name, values in encoding.on_device.inputs(batch).items()
        }
        return {"logits": self.model(**inputs).logits.float()[:, 0]}

    def table(
        self, encoding: OptionRows, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns the columns of answers (`choice`): the softmax over the options' logits."""
        logits = (
            columns["logits"].astype(np.float64).reshape(len(part.instances), encoding.option_count)
        )
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = weights / weights.sum(axis=1, keepdims=True)
        all_known = np.ones_like(shares, dtype=np.bool_)
        return pl.DataFrame([to_list_column("probabilities", shares, all_known, pl.Float32)])
