"""The probabilities of options, collected batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.engine.back_end import to_list_column
from biasgrid.inference.models.generation.option_reads import OptionReads
from biasgrid.inference.models.generation.options import (
    AnswerBeginnings,
    OptionRequest,
    beginning_columns,
)
from biasgrid.inference.models.generation.scores import ScoredRows

SCORED_BY_LOGITS = "logits"
"""How options were scored: the model's logits give the probability of each one."""


class CollectedScores:
    """Option requests, and the log-probabilities that batches have returned so far.

    Attributes:
        requests: the prompts with their options.
        reads: the rows and reads of all requests.
        is_open: shape (requests,), whether a request has no answer yet, and was not returned by
            `take_complete`.
    """

    def __init__(
        self, requests: Sequence[OptionRequest], reads: OptionReads, is_answered: BoolArray
    ):
        """Begins without log-probabilities.

        Args:
            requests: the prompts with their options, the same number of options in each.
            reads: the rows and reads of these requests.
            is_answered: shape (requests,), whether a prompt has an answer already.
        """
        self.requests = requests
        self.reads = reads
        self.is_open = ~is_answered
        self._is_needed = np.zeros(len(reads.rows), dtype=np.bool_)
        self._is_needed[reads.end_row[self.is_open[reads.end_request]]] = True
        self._has_row = np.zeros(len(reads.rows), dtype=np.bool_)
        self._values = np.zeros(len(reads.token))
        self._first_tokens: dict[int, list[tuple[int, float]]] = {}

    def needed(self, rows: IntArray) -> IntArray:
        """Returns the rows of a batch with a prompt that had no answer at the beginning."""
        return rows[self._is_needed[rows]]

    def add(self, rows: IntArray, scored: ScoredRows) -> None:
        """Adds the results of a batch of rows."""
        self._values[scored.reads] = scored.values
        self._first_tokens |= scored.first_tokens
        self._has_row[rows] = True

    def take_complete(self) -> IntArray:
        """Returns the places of unanswered requests that have become complete since the last call.

        A request is complete when all of its rows have results.
        """
        is_missing = ~self._has_row[self.reads.end_row]
        missing_rows = np.bincount(self.reads.end_request, is_missing, len(self.requests))
        is_complete = self.is_open & (missing_rows == 0)
        self.is_open &= ~is_complete
        return np.flatnonzero(is_complete)

    def columns(self, places: IntArray, decode: Callable[[int], str]) -> pl.DataFrame:
        """Returns columns of answers of the kind `choice`.

        Args:
            places: the places of complete requests, at least one.
            decode: returns the text of a token.
        """
        requests = [self.requests[place] for place in places]
        sequence_probabilities = self.reads.probabilities(self._values)
        shape = (len(self.requests), len(requests[0].options))
        probabilities = self.reads.sum_over_forms(sequence_probabilities, shape)[places]
        has_option = np.array([list(map(bool, request.options)) for request in requests])
        token_counts = [list(map(fewest_tokens, request.options)) for request in requests]
        scored_by = pl.repeat(SCORED_BY_LOGITS, len(requests), eager=True).cast(pl.Categorical)
        beginnings = []
        for place in places:
            beginnings.append(self._beginning(int(place), sequence_probabilities, decode))
        return pl.DataFrame(
            [
                to_list_column("probabilities", probabilities, has_option, pl.Float32),
                to_list_column("tokens", np.array(token_counts), has_option, pl.UInt8),
                pl.Series("mass", probabilities.sum(axis=1), pl.Float32),
                scored_by.alias("scored_by"),
                *beginning_columns(beginnings),
            ]
        )

    def _beginning(
        self, place: int, sequence_probabilities: FloatArray, decode: Callable[[int], str]
    ) -> AnswerBeginnings:
        """Returns how the answer to a complete request may begin.

        Args:
            place: the place of the request.
            sequence_probabilities: shape (sequences,), the probabilities of all sequences.
            decode: returns the text of a token.
        """
        begin, end = self.reads.sequence_begins[place : place + 2]
        probabilities = iter(sequence_probabilities[begin:end].tolist())
        forms = []
        for texts in self.requests[place].forms:
            forms.append([(form, next(probabilities)) for form in texts])
        top_tokens = self._first_tokens[place]
        first_tokens = [(decode(token), probability) for token, probability in top_tokens]
        return AnswerBeginnings(forms, first_tokens)


def fewest_tokens(forms: Sequence[Sequence[int]]) -> int:
    """Returns the number of tokens in an option's shortest form; 0 for a missing option."""
    return min(map(len, forms), default=0)
