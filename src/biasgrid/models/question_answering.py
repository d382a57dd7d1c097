"""Extractive question answering: start and end probabilities of candidates, and the most probable answer."""

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
from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.engine.encoding import Rows, TokenLayout, checked, distinct, pair_layout, tokenize
from biasgrid.engine.local import LocalBackEnd, inputs_of, lists_of, numbered
from biasgrid.models.extractive.answers import LONGEST_ANSWER, best_span, context_places, span_texts
from biasgrid.models.extractive.candidates import Windows, candidate_windows, widen, widening_words
from biasgrid.section import Scoring

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ANSWER_TOKENS = {"exact": LONGEST_ANSWER, "unqover": 6}
"""Longest answer; UnQover's --span_l is 6."""


@dataclass(frozen=True)
class SpanRows:
    """Encoded instances.

    Attributes:
        rows: the rows' tokens; the second segment is the context.
        windows: the candidates' windows, per second segment.
        contexts: the text of each second segment.
        has_candidate: shape (instances, candidates), whether there is one with a place in the context.
    """

    rows: Rows
    windows: Windows
    contexts: list[str]
    has_candidate: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SpanChoices:
    """What decides the answers.

    Attributes:
        scoring: `exact`, or `unqover` for its single separator, widened spans and sum of probabilities.
    """

    scoring: Scoring = "exact"


class QuestionAnswering(LocalBackEnd):
    """Reads answers, and candidates' start and end probabilities, from an extractive question-answering model."""

    Choices = SpanChoices
    loader = "AutoModelForQuestionAnswering"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: SpanChoices):
        """Prepares the model.

        Args:
            model: an extractive question-answering model.
            tokenizer: its tokenizer.
            choices: how answers are scored.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring = choices.scoring
        self.words = widening_words(tokenizer, model.config.model_type) if self.scoring == "unqover" else None

    def encode(self, asked: pl.DataFrame) -> SpanRows:
        """Tokenizes instances as pairs of question (the text) and context (the second text).

        Raises:
            ModelError: an instance has no context.
        """
        candidates, positions = numbered(asked, "candidate"), numbered(asked, "position")
        questions, question_of = distinct(asked, ["text"])
        contexts, context_of = distinct(asked, ["text_pair", *candidates, *positions])
        first, second = questions["text"].to_list(), contexts["text_pair"].fill_null("").to_list()
        segments = tokenize(self.tokenizer, first), tokenize(self.tokenizer, second)
        rows = Rows(self._layout(), *segments, question_of, context_of)
        self._check_contexts(rows, asked)
        if self.scoring == "exact":
            rows = checked(
                rows,
                self.tokenizer,
                lambda sample: [(first[question_of[row]], second[context_of[row]]) for row in sample],
            )
            if rows.second_of is not context_of:
                contexts, second = contexts[context_of], [second[row] for row in context_of]
        begins = contexts.select(pl.col(positions).cast(pl.Int64)).fill_null(0).to_numpy().reshape(len(contexts), -1)
        sizes = contexts.select(pl.col(candidates[: len(positions)]).str.len_chars().cast(pl.Int64)).fill_null(0)
        windows = candidate_windows(rows.second, begins, sizes.to_numpy().reshape(begins.shape))
        if self.words is not None:
            windows = widen(windows, rows.second, self.words)
        placed = np.array([asked[name].is_not_null() for name in positions]).reshape(len(positions), len(asked)).T
        return SpanRows(rows, windows, second, placed)

    def _check_contexts(self, rows: Rows, asked: pl.DataFrame) -> None:
        empty = np.flatnonzero(rows.second.text_lengths[rows.second_of] == 0)
        if len(empty):
            instance = asked.row(int(empty[0]), named=True)
            raise ModelError(
                f"instance {instance['instance']}, {instance['text']!r}, has no context; expected a question and, as "
                "the second input, the text that answers it"
            )

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
            `starts` and `ends` of the candidates (float32, shape (rows, candidates)); `first` and `last`, the answer's
            tokens in the row, and its `probability` (float32), shape (rows,).
        """
        output = self.model(**inputs_of(self.model, encoded.rows, rows))
        start = output.start_logits.float().softmax(dim=1)
        end = output.end_logits.float().softmax(dim=1)
        shift, windows = encoded.rows.second_start(rows)[:, None], encoded.windows.of(encoded.rows.second_of[rows])
        context = context_places(encoded.rows, rows, start.device) if self.scoring == "exact" else None
        first, last = best_span(start, end, ANSWER_TOKENS[self.scoring], context)
        probability = start.gather(1, first[:, None]) * end.gather(1, last[:, None])
        return {
            "starts": largest_within(start, shift + windows.start_from, shift + windows.first),
            "ends": largest_within(end, shift + windows.last, shift + windows.end_to),
            "first": first.cpu().numpy(),
            "last": last.cpu().numpy(),
            "probability": probability.squeeze(1).cpu().numpy(),
        }

    def table(self, encoded: SpanRows, columns: Mapping[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers (`span`) from what `run` returned."""
        spans = np.column_stack([columns["first"], columns["last"]])
        answers = (
            span_texts(encoded.rows, encoded.contexts, spans)
            if self.scoring == "exact"
            else self._joined_answers(encoded, spans)
        )
        ends = [lists_of(name, columns[name], encoded.has_candidate, pl.Float32) for name in ("starts", "ends")]
        return pl.DataFrame([*ends, answers, pl.Series("probability", columns["probability"], dtype=pl.Float32)])

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
    """Returns each row's largest probabilities within windows.

    Args:
        probabilities: float32, shape (rows, length).
        lowest: shape (rows, windows), the first place of each.
        highest: shape (rows, windows), the last place of each.

    Returns:
        Shape (rows, windows).
    """
    width = int((highest - lowest).max(initial=0)) + 1
    places = np.minimum(lowest[..., None] + np.arange(width), highest[..., None])
    gathered = probabilities.gather(1, torch.from_numpy(places.reshape(len(places), -1)).to(probabilities.device))
    return gathered.reshape(places.shape).amax(dim=2).cpu().numpy()
