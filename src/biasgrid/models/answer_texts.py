"""Extractive question answering: the text of the most probable answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.models.answer_spans import LONGEST_ANSWER, best_span, context_places, span_texts
from biasgrid.models.back_end import BackEnd, inputs_of
from biasgrid.models.checkpoint import ModelError
from biasgrid.models.encoding import Rows, plain_rows
from biasgrid.models.settings import Settings
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import ANSWER_PREDICTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class AnswerRows:
    """Encoded instances.

    Attributes:
        rows: the rows' tokens; the second segment is the context.
        contexts: the text of each row's context.
    """

    rows: Rows
    contexts: list[str]


class AnswerTexts(BackEnd):
    """Reads answers from an extractive question-answering model."""

    instances = CASES
    columns = ("instance", "text", "text_pair")
    choices = ()
    schema = ANSWER_PREDICTIONS

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, _settings: Settings):
        """Prepares the model.

        Args:
            model: an extractive question-answering model.
            tokenizer: its tokenizer.
        """
        self.model = model
        self.tokenizer = tokenizer

    def encode(self, frame: pl.DataFrame) -> AnswerRows:
        """Tokenizes instances as pairs of question (the text) and context (the second text).

        Raises:
            ModelError: an instance has no context.
        """
        contexts = frame["text_pair"].fill_null("").to_list()
        pairs = list(zip(frame["text"].to_list(), contexts, strict=True))
        rows = plain_rows(self.tokenizer, pairs, np.arange(len(pairs)))
        empty = np.flatnonzero(rows.second.text_lengths == 0)
        if len(empty):
            raise ModelError(
                f"instance {frame['instance'][int(empty[0])]}, {pairs[empty[0]][0]!r}, has no context; expected a "
                "question and, as the second input, the text that answers it"
            )
        return AnswerRows(rows, contexts)

    @torch.inference_mode()
    def run(self, encoded: AnswerRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: not used: every position is read anyway.

        Returns:
            The answer's first and last token in the row, and its probability (float32); shape (rows,).
        """
        output = self.model(**inputs_of(self.model, encoded.rows, rows))
        start = output.start_logits.float().softmax(dim=1).cpu()
        end = output.end_logits.float().softmax(dim=1).cpu()
        first, last = best_span(start, end, LONGEST_ANSWER, context_places(encoded.rows, rows, start.device))
        every = np.arange(len(rows))
        probability = start.numpy()[every, first] * end.numpy()[every, last]
        return {"first": first, "last": last, "probability": probability}

    def table(self, instances: pl.Series, encoded: AnswerRows, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes the predictions table of some instances from the columns that `run` returned."""
        spans = np.column_stack([columns["first"], columns["last"]])
        probability = pl.Series("probability", columns["probability"], dtype=pl.Float32)
        return pl.DataFrame([instances, span_texts(encoded.rows, encoded.contexts, spans), probability])
