"""Extractive question answering: probabilities of candidates, and the most probable answer."""

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
"""The longest answer in tokens, by scoring; UnQover's --span_l is 6."""
WORD_MARKS = re.compile(" ##|##|Ġ")
"""Marks in tokens that UnQover removes: in BERT's they join a word, in RoBERTa's they begin one."""


@dataclass(frozen=True)
class SpanRows:
    """Encoded instances.

    Attributes:
        rows: the tokens of the rows; the second segment is the context.
        contexts: the text of each second segment.
        has_candidate: shape (second segments, candidates), whether there is a candidate, and it has
            a place in the context.
        on_device: the tokens of the rows.
        context_lengths: shape (second segments,), the number of tokens of each context, without
            special ones, on the device.
        starts, ends: shape (second segments, candidates, width), on the device, the places in the
            start and end windows of each candidate, counted in the context; see
            `candidates.Windows`.
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
    """The settings that decide the answers.

    Attributes:
        scoring: `exact`; or `unqover` for its single separator, widened spans and sums of
            probabilities.
        no_answer: whether there may be no answer: if start and end at the first token are together
            more probable than any span.
    """

    scoring: Scoring = "exact"
    no_answer: bool = False


class QuestionAnswering(LocalBackEnd):
    """Answers with the best span, and with start and end probabilities of candidates (kind `span`).

    Attributes:
        scoring, no_answer: see `SpanChoices`.
        words: UnQover's widening words; None with exact scoring.
    """

    Choices = SpanChoices
    loader = "AutoModelForQuestionAnswering"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: SpanChoices
    ):
        """Prepares the model.

        Raises:
            ModelError: UnQover's scoring does not support the model.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring, self.no_answer = choices.scoring, choices.no_answer
        self.words = None
        if self.scoring == "unqover":
            self.words = widening_words(tokenizer, model.config.model_type)

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> SpanRows:
        """Tokenizes instances as pairs of question (`text`) and context (`text_pair`).

        Raises:
            ModelError: an instance has no context.
            NotAssembledError: see `LocalBackEnd.encode`.
        """
        positions = columns_with_prefix(instances, "position")
        candidates = columns_with_prefix(instances, "candidate")[: len(positions)]
        contexts, context_index = distinct_rows(instances, ["text_pair", *candidates, *positions])
        if whole and self.scoring == "exact":
            rows = whole_rows(
                self.tokenizer, questions_and_contexts(instances, np.arange(len(instances)))
            )
            # Each row has a second segment of its own.
            contexts = contexts[context_index]
        else:
            rows = self._assembled(
                instances, contexts["text_pair"].fill_null("").to_list(), context_index
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
        starts = window_places(windows.start_from, windows.start_to)
        ends = window_places(windows.end_from, windows.end_to)
        device = self.model.device
        return SpanRows(
            rows=rows,
            contexts=contexts["text_pair"].fill_null("").to_list(),
            has_candidate=has_candidate.reshape(len(positions), len(contexts)).T,
            on_device=DeviceRows.from_rows(rows, self.model),
            context_lengths=to_device(rows.second_segments.text_lengths, device),
            starts=to_device(starts, device),
            ends=to_device(ends, device),
        )

    def _assembled(
        self, instances: pl.DataFrame, contexts: list[str], context_index: IntArray
    ) -> TokenRows:
        """Tokenizes distinct questions and contexts, and puts them together; see `encode`."""
        questions, question_index = distinct_rows(instances, ["text"])
        first = tokenize(self.tokenizer, questions["text"])
        second = tokenize(self.tokenizer, contexts, with_offsets=True)
        rows = self._layout().rows(
            first, second, first_index=question_index, second_index=context_index
        )
        if self.scoring == "exact":
            check_assembled(
                rows, self.tokenizer, lambda sample: questions_and_contexts(instances, sample)
            )
        return rows

    def _check_contexts(self, rows: TokenRows, instances: pl.DataFrame) -> None:
        """Refuses instances whose context has no tokens; rows are in the order of instances.

        Raises:
            ModelError: names the first such instance.
        """
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
        """Returns the special tokens around pairs; UnQover puts a single one between both."""
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
            batch: the rows.
            plain: not used: there are no shortcuts.

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
        context_index = rows.second_index[batch.rows]
        shift = rows.second_start(batch)[:, None]
        is_context = None
        if self.scoring == "exact":
            place = torch.arange(batch.length, device=start.device)
            context_end = shift + encoding.context_lengths[context_index][:, None]
            is_context = (place >= shift) & (place < context_end)
        first, last = best_span(start, end, ANSWER_TOKENS[self.scoring], is_context)
        both = start.gather(1, first[:, None]) * end.gather(1, last[:, None])
        probability = both.squeeze(1)
        probability_of_none = torch.zeros_like(probability)
        if self.no_answer:
            # Models that may find no answer point to the first special token.
            probability_of_none = start[:, 0] * end[:, 0]
        starts = encoding.starts[context_index] + shift[:, None]
        ends = encoding.ends[context_index] + shift[:, None]
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
        """Returns `starts` and `ends`, lists by candidate, `answer` and `probability`.

        If no answer is the most probable one, `answer` is "" and `probability` is that of no
        answer. Elements of `starts` and `ends` are null for a candidate without a place in the
        context.
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

    def _joined_answers(self, all_rows: TokenRows, rows: IntArray, spans: IntArray) -> pl.Series:
        """Returns answers as UnQover writes them: tokens joined by spaces, without `WORD_MARKS`.

        Args:
            all_rows: all encoded rows.
            rows: shape (rows,), the places of the answered rows among them.
            spans: shape (rows, 2), the first and the last token of each answer, counted in the row.
        """
        segments = [all_rows.first_index[rows], all_rows.second_index[rows]]
        # Each distinct answer is made once.
        examples, answer_index = numbered_rows([*segments, spans[:, 0], spans[:, 1]])
        texts = []
        for row, (first, last) in zip(rows[examples], spans[examples], strict=True):
            ids, _ = all_rows.assemble(row)
            tokens = self.tokenizer.convert_ids_to_tokens(ids[first : last + 1].tolist())
            texts.append(WORD_MARKS.sub("", " ".join(tokens)))
        return pl.Series("answer", texts, dtype=pl.Categorical)[answer_index]


def questions_and_contexts(instances: pl.DataFrame, sample: IntArray) -> list[tuple[str, ...]]:
    """Returns question and context of some instances, "" for a missing context."""
    return [
        (text, pair or "")
        for text, pair in instances.select("text", "text_pair")[sample].iter_rows()
    ]


def window_places(lowest: IntArray, highest: IntArray) -> IntArray:
    """Returns all places in windows; narrower windows are padded with their last place.

    Args:
        lowest: shape (contexts, candidates), the first place of each window.
        highest: shape (contexts, candidates), the last place of each window.

    Returns:
        Shape (contexts, candidates, width).
    """
    width = int((highest - lowest).max(initial=0)) + 1
    places: IntArray = np.minimum(lowest[..., None] + np.arange(width), highest[..., None])
    return places


def largest_at(probabilities: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns the largest probability in each window of a row.

    Args:
        probabilities: float32, shape (rows, length).
        places: shape (rows, windows, width).

    Returns:
        Shape (rows, windows).
    """
    return probabilities.gather(1, places.flatten(1)).reshape(places.shape).amax(dim=2)
