"""Extractive question answering: start and end probabilities of both candidates, and the most probable answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.models.answer_spans import LONGEST_ANSWER, best_span, context_places, span_texts
from biasgrid.models.back_end import PAIR_COLUMNS, BackEnd, inputs_of
from biasgrid.models.distinct import distinct
from biasgrid.models.encoding import Rows, TokenLayout, checked, pair_layout, tokenize
from biasgrid.models.settings import Settings
from biasgrid.models.spans import Windows, candidate_windows, widen, widening_words
from biasgrid.tables.instances import INSTANCES
from biasgrid.tables.predictions import SPAN_PREDICTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ANSWER_TOKENS = {"exact": LONGEST_ANSWER, "unqover": 6}
"""Longest answer; UnQover's --span_l is 6."""


@dataclass(frozen=True)
class SpanRows:
    """Encoded instances.

    Attributes:
        rows: the rows' tokens; the second segment is the context.
        windows: the candidates' windows, per distinct context.
        contexts: the text of each distinct context.
    """

    rows: Rows
    windows: Windows
    contexts: list[str]


class QuestionAnswering(BackEnd):
    """Reads candidates' start and end probabilities from an extractive question-answering model."""

    instances = INSTANCES
    columns = PAIR_COLUMNS
    choices = ("scoring", "pronouns")
    schema = SPAN_PREDICTIONS

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model.

        Args:
            model: an extractive question-answering model.
            tokenizer: its tokenizer.
            settings: `scoring` is `exact`, or `unqover` for its single separator, widened spans and sum of
                probabilities.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring = settings.scoring
        self.words = widening_words(tokenizer, model.config.model_type) if self.scoring == "unqover" else None

    def encode(self, frame: pl.DataFrame) -> SpanRows:
        """Tokenizes instances as pairs of question and context."""
        questions, question_of = distinct(frame, ["question"])
        columns = ["context", "candidate1", "candidate2", "position1", "position2"]
        contexts, context_of = distinct(frame, columns)
        lead = contexts["context"].str.len_chars() - contexts["context"].str.strip_chars_start().str.len_chars()
        first = questions["question"].str.strip_chars().to_list()
        second = contexts["context"].str.strip_chars().to_list()
        rows = Rows(
            self._layout(),
            tokenize(self.tokenizer, first),
            tokenize(self.tokenizer, second),
            question_of,
            context_of,
        )
        if self.scoring == "exact":
            rows = checked(
                rows,
                self.tokenizer,
                lambda sample: [(first[question_of[row]], second[context_of[row]]) for row in sample],
            )
            if rows.second_of is not context_of:
                contexts, second = contexts[context_of], [second[row] for row in context_of]
                lead = lead[context_of]
        sizes = contexts.select(pl.col("candidate1", "candidate2").str.len_chars()).to_numpy().astype(np.int64)
        positions = contexts.select("position1", "position2").to_numpy().astype(np.int64)
        windows = candidate_windows(rows.second, positions - lead.to_numpy()[:, None], sizes)
        if self.words is not None:
            windows = widen(windows, rows.second, self.words)
        return SpanRows(rows, windows, second)

    def _layout(self) -> TokenLayout:
        if self.scoring == "exact":
            return pair_layout(self.tokenizer)
        begin = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.cls_token_id
        end = self.tokenizer.eos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.sep_token_id
        return TokenLayout([begin], [end], [end], None)

    @torch.inference_mode()
    def run(self, encoded: SpanRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: not used: every position is read anyway.

        Returns:
            start1, end1, start2, end2 (float32) and the answer's first and last token in the row; shape (rows,).
        """
        output = self.model(**inputs_of(self.model, encoded.rows, rows))
        start = output.start_logits.float().softmax(dim=1)
        end = output.end_logits.float().softmax(dim=1)
        shift = encoded.rows.second_start(rows)
        of = encoded.rows.second_of[rows]
        windows = encoded.windows
        columns: dict[str, npt.NDArray[Any]] = {}
        for which in (0, 1):
            starts = shift + windows.start_from[of, which], shift + windows.first[of, which]
            ends = shift + windows.last[of, which], shift + windows.end_to[of, which]
            columns[f"start{which + 1}"] = largest_within(start, *starts)
            columns[f"end{which + 1}"] = largest_within(end, *ends)
        context = context_places(encoded.rows, rows, start.device) if self.scoring == "exact" else None
        columns["answer_first"], columns["answer_last"] = best_span(start, end, ANSWER_TOKENS[self.scoring], context)
        return columns

    def table(self, instances: pl.Series, encoded: SpanRows, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Makes the predictions table of some instances from the columns that `run` returned."""
        probabilities = [
            pl.Series(name, columns[name], dtype=pl.Float32) for name in ("start1", "end1", "start2", "end2")
        ]
        spans = np.column_stack([columns["answer_first"], columns["answer_last"]])
        answers = (
            span_texts(encoded.rows, encoded.contexts, spans)
            if self.scoring == "exact"
            else self._joined_answers(encoded, spans)
        )
        return pl.DataFrame([instances, *probabilities, answers])

    def _joined_answers(self, encoded: SpanRows, spans: IntArray) -> pl.Series:
        """The answers as UnQover writes them: tokens joined by spaces, then the marks of word pieces deleted."""
        tokens = np.full((len(spans), ANSWER_TOKENS["unqover"]), -1, dtype=np.int64)
        lengths = encoded.rows.lengths
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            ids, _ = encoded.rows.assemble(rows)
            places = spans[rows, :1] + np.arange(tokens.shape[1])
            inside = places <= spans[rows, 1:]
            tokens[rows] = np.where(inside, np.take_along_axis(ids, np.minimum(places, length - 1), axis=1), -1)
        keys, inverse = np.unique(tokens, axis=0, return_inverse=True)
        texts = [
            re.sub(" ##|##|Ġ", "", " ".join(self.tokenizer.convert_ids_to_tokens(key[key >= 0].tolist())))
            for key in keys
        ]
        return pl.Series("answer", texts, dtype=pl.Categorical)[inverse.reshape(-1)]


def largest_within(probabilities: torch.Tensor, lowest: IntArray, highest: IntArray) -> npt.NDArray[np.float32]:
    """Returns each row's largest probability from place `lowest` to place `highest`, both inclusive."""
    width = int((highest - lowest).max()) + 1
    places = np.minimum(lowest[:, None] + np.arange(width), highest[:, None])
    gathered = probabilities.gather(1, torch.from_numpy(places).to(probabilities.device))
    largest: npt.NDArray[np.float32] = gathered.amax(dim=1).cpu().numpy()
    return largest
