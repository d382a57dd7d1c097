"""Extractive question answering: start and end probabilities of candidates, and the most probable
answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.base.sections import Scoring
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.back_end import columns_with_prefix, to_list_column
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows, to_device
from biasgrid.inference.engine.encoding import (
    TokenLayout,
    TokenRows,
    check_assembled,
    pair_layout,
    whole_rows,
)
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.engine.segments import distinct_rows, numbered_rows, tokenize
from biasgrid.inference.models.extractive.answers import LONGEST_ANSWER, best_span, span_texts
from biasgrid.inference.models.extractive.candidates import candidate_windows, widen, widening_words

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ANSWER_TOKENS = {"exact": LONGEST_ANSWER, "unqover": 6}
"""Longest answer; UnQover's --span_l is 6."""


@dataclass(frozen=True)
class SpanRows:
    """Encoded instances.

    Attributes:
        rows: the rows' tokens; the second segment is the context.
        contexts: the text of each second segment.
        has_candidate: shape (second segments, candidates), whether there is one with a place in the
            context.
        on_device: the rows' tokens.
        context_lengths: shape (second segments,), how many tokens each context has, on the device.
        starts, ends: shape (second segments, candidates, width), on the device, the places over
            which the probability that the answer starts, or ends, with a candidate is the largest,
            counted in the context.
    """

    rows: TokenRows
    contexts: list[str]
    has_candidate: npt.NDArray[np.bool_]
    on_device: DeviceRows
    context_lengths: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor


@dataclass(frozen=True)
class SpanChoices:
    """What decides the answers.

    Attributes:
        scoring: `exact`, or `unqover` for its single separator, widened spans and sum of
            probabilities.
        no_answer: whether a model may answer that there is no answer, by a start and an end at the
            first token that are together more probable than any span.
    """

    scoring: Scoring = "exact"
    no_answer: bool = False


class QuestionAnswering(LocalBackEnd):
    """Reads answers, and candidates' start and end probabilities, from an extractive
    question-answering model.
    """

    Choices = SpanChoices
    loader = "AutoModelForQuestionAnswering"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: SpanChoices
    ):
        """Prepares the model.

        Args:
            model: an extractive question-answering model.
            tokenizer: its tokenizer.
            choices: how answers are scored.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring, self.no_answer = choices.scoring, choices.no_answer
        self.words = (
            widening_words(tokenizer, model.config.model_type)
            if self.scoring == "unqover"
            else None
        )

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> SpanRows:
        """Tokenizes instances as pairs of question (the text) and context (the second text).

        Raises:
            ModelError: an instance has no context.
            NotAssembledError: see `LocalBackEnd.encode`.
        """
        positions = columns_with_prefix(instances, "position")
        candidates = columns_with_prefix(instances, "candidate")[: len(positions)]
        contexts, context_of = distinct_rows(instances, ["text_pair", *candidates, *positions])
        if whole and self.scoring == "exact":
            rows = whole_rows(
                self.tokenizer, questions_and_contexts(instances, np.arange(len(instances)))
            )
            contexts = contexts[context_of]
        else:
            rows = self._assembled(
                instances, contexts["text_pair"].fill_null("").to_list(), context_of
            )
        self._check_contexts(rows, instances)
        has_candidate = np.array([contexts[name].is_not_null() for name in positions])
        begin_columns = contexts.select(pl.col(positions).cast(pl.Int64)).fill_null(0)
        size_columns = contexts.select(pl.col(candidates).str.len_chars().cast(pl.Int64))
        # Without candidates, a table without columns has no rows either.
        begins = begin_columns.to_numpy().reshape(len(contexts), -1)
        sizes = size_columns.fill_null(0).to_numpy().reshape(begins.shape)
        windows = candidate_windows(rows.second_segments, begins, sizes)
        if self.words is not None:
            windows = widen(windows, rows.second_segments, self.words)
        starts = places_within(windows.start_from, windows.first)
        ends = places_within(windows.last, windows.end_to)
        device = self.model.device
        return SpanRows(
            rows,
            contexts["text_pair"].fill_null("").to_list(),
            has_candidate.reshape(len(positions), len(contexts)).T,
            DeviceRows.from_rows(rows, self.model),
            to_device(rows.second_segments.text_lengths, device),
            to_device(starts, device),
            to_device(ends, device),
        )

    def _assembled(
        self, instances: pl.DataFrame, contexts: list[str], context_of: IntArray
    ) -> TokenRows:
        questions, question_of = distinct_rows(instances, ["text"])
        first = tokenize(self.tokenizer, questions["text"])
        second = tokenize(self.tokenizer, contexts, with_offsets=True)
        rows = self._layout().rows(first, second, first_index=question_of, second_index=context_of)
        if self.scoring == "exact":
            check_assembled(
                rows, self.tokenizer, lambda sample: questions_and_contexts(instances, sample)
            )
        return rows

    def _check_contexts(self, rows: TokenRows, instances: pl.DataFrame) -> None:
        is_empty = rows.second_segments.text_lengths == 0
        if is_empty.any():
            instance = instances.row(
                int(np.flatnonzero(is_empty[rows.second_index])[0]), named=True
            )
            raise ModelError(
                f"instance {instance['instance']}, {instance['text']!r}, has no context; expected "
                "a question and, as the second input, the text that answers it"
            )

    def _layout(self) -> TokenLayout:
        if self.scoring == "exact":
            return pair_layout(self.tokenizer)
        tokenizer = self.tokenizer
        if tokenizer.bos_token_id is not None:
            begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
        else:
            begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        return TokenLayout([begin], [end], [end], None)

    @torch.inference_mode()
    def run(
        self, encoding: SpanRows, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Predicts rows of one length.

        Args:
            encoding: the encoded instances.
            batch: which rows.
            plain: not used: every position is read anyway.

        Returns:
            `starts` and `ends` of the candidates (float32, shape (rows, candidates)), of no meaning
            if `has_candidate` is False; `first` and `last` (int32), the tokens of the most probable
            span, counted in the row; `is_none` (int32), 1 if no answer is more probable than it;
            and the `probability` (float32) of the more probable one; shape (rows,).
        """
        rows = encoding.on_device
        output = self.model(**rows.inputs(batch))
        start = output.start_logits.float().softmax(dim=1)
        end = output.end_logits.float().softmax(dim=1)
        context_of = rows.second_index[batch.rows]
        shift = rows.second_start(batch)[:, None]
        is_context = None
        if self.scoring == "exact":
            place = torch.arange(batch.length, device=start.device)
            context_end = shift + encoding.context_lengths[context_of][:, None]
            is_context = (place >= shift) & (place < context_end)
        first, last = best_span(start, end, ANSWER_TOKENS[self.scoring], is_context)
        both = start.gather(1, first[:, None]) * end.gather(1, last[:, None])
        probability = both.squeeze(1)
        probability_of_none = torch.zeros_like(probability)
        if self.no_answer:
            # Models that may find no answer point to the first special token.
            probability_of_none = start[:, 0] * end[:, 0]
        starts = encoding.starts[context_of] + shift[:, None]
        ends = encoding.ends[context_of] + shift[:, None]
        return {
            "starts": largest_at(start, starts),
            "ends": largest_at(end, ends),
            "first": first.int(),
            "last": last.int(),
            "is_none": (probability_of_none > probability).int(),
            "probability": torch.maximum(probability, probability_of_none),
        }

    def table(
        self, encoding: SpanRows, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers (`span`) from the columns of `run`.

        Where the model says that there is no answer, `answer` is "" and `probability` is the
        probability of no answer. `starts` and `ends` are null for candidates that have no place in
        the context.
        """
        rows = encoding.rows
        spans = np.column_stack([columns["first"], columns["last"]]).astype(np.int64)
        if self.scoring == "exact":
            answers = span_texts(rows, part.rows, encoding.contexts, spans)
        else:
            answers = self._joined_answers(rows, part.rows, spans)
        if self.no_answer:
            is_none = pl.Series(columns["is_none"]) == 1
            no_answer = pl.lit("", pl.Categorical)
            answer = pl.when(is_none).then(no_answer).otherwise(answers)
            answers = pl.select(answer=answer).to_series()
        has_candidate = encoding.has_candidate[rows.second_index[part.rows]]
        return pl.DataFrame(
            [
                to_list_column("starts", columns["starts"], has_candidate, pl.Float32),
                to_list_column("ends", columns["ends"], has_candidate, pl.Float32),
                answers,
                pl.Series("probability", columns["probability"], dtype=pl.Float32),
            ]
        )

    def _joined_answers(self, rows: TokenRows, some: IntArray, spans: IntArray) -> pl.Series:
        """Returns answers as UnQover writes them: tokens joined by spaces, without marks of words.

        Args:
            rows: all rows.
            some: shape (rows,), the numbers of the answered rows.
            spans: shape (rows, 2), the first and the last token of each answer, counted in the row.
        """
        segments = [rows.first_index[some], rows.second_index[some]]
        # Each distinct answer is made once.
        example, number = numbered_rows([*segments, spans[:, 0], spans[:, 1]])
        texts = []
        for row, (begin, last) in zip(some[example].tolist(), spans[example].tolist(), strict=True):
            ids, _ = rows.assemble(row)
            tokens = self.tokenizer.convert_ids_to_tokens(ids[begin : last + 1].tolist())
            texts.append(re.sub(" ##|##|Ġ", "", " ".join(tokens)))
        return pl.Series("answer", texts, dtype=pl.Categorical)[number]


def questions_and_contexts(instances: pl.DataFrame, sample: IntArray) -> list[tuple[str, ...]]:
    """Returns question and context of some instances."""
    return [
        (text, pair or "")
        for text, pair in instances.select("text", "text_pair")[sample].iter_rows()
    ]


def places_within(lowest: IntArray, highest: IntArray) -> IntArray:
    """Returns the places of windows, of which those of all but the widest hold the last one several
    times.

    Args:
        lowest: shape (contexts, candidates), the first place of each.
        highest: shape (contexts, candidates), the last place of each.

    Returns:
        Shape (contexts, candidates, width).
    """
    width = int((highest - lowest).max(initial=0)) + 1
    places: IntArray = np.minimum(lowest[..., None] + np.arange(width), highest[..., None])
    return places


def largest_at(probabilities: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns each row's largest probabilities among some places.

    Args:
        probabilities: float32, shape (rows, length).
        places: shape (rows, windows, width).

    Returns:
        Shape (rows, windows).
    """
    return probabilities.gather(1, places.flatten(1)).reshape(places.shape).amax(dim=2)
