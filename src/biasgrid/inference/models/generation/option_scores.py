"""The probabilities of options, collected batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.engine.back_end import to_list_column
from biasgrid.inference.models.generation.options import (
    AnswerBeginnings,
    OptionRequest,
    beginning_columns,
)
from biasgrid.inference.models.generation.scores import OptionReads, ScoredRows

SCORED_BY_LOGITS = "logits"
"""Every option was found, whatever its probability."""


class CollectedScores:
    """The options of some prompts, and the log-probabilities that batches have given so far.

    Attributes:
        requests: the prompts with their options.
        reads: the reads of all prompts.
    """

    def __init__(self, requests: Sequence[OptionRequest], is_answered: BoolArray):
        """Begins without any.

        Args:
            requests: the prompts with their options; all have equally many.
            is_answered: shape (prompts,), whether an answer is there already.
        """
        self.requests = requests
        self.reads = OptionReads.from_requests(requests)
        self._is_answered = is_answered
        self._is_open = ~is_answered
        self._has_row = np.zeros(len(self.reads.rows), dtype=np.bool_)
        self._values = np.zeros(len(self.reads.token))
        self._first_tokens: dict[int, list[tuple[int, float]]] = {}

    def needs(self, rows: IntArray) -> bool:
        """Whether a batch of rows has a prompt without an answer."""
        return not self._is_answered[self.reads.owner[rows]].all()

    def add(self, rows: IntArray, scored: ScoredRows) -> None:
        """Adds the log-probabilities that were read of rows."""
        self._values[scored.reads] = scored.values
        self._first_tokens |= scored.first_tokens
        self._has_row[rows] = True

    def take_complete(self) -> IntArray:
        """Returns the numbers of the prompts whose last rows came since this was called last."""
        missing = np.bincount(self.reads.owner, ~self._has_row, len(self.requests))
        is_complete = self._is_open & (missing == 0)
        self._is_open &= ~is_complete
        return np.flatnonzero(is_complete)

    def columns(self, numbers: IntArray, decode: Callable[[int], str]) -> pl.DataFrame:
        """Returns columns of answers of the kind `choice`.

        Args:
            numbers: the numbers of prompts whose rows are all there.
            decode: returns the text of a token.
        """
        requests = [self.requests[number] for number in numbers]
        of_sequences = self.reads.probabilities(self._values)
        shape = (len(self.requests), len(requests[0].options))
        of_options = self.reads.sum_over_forms(of_sequences, shape)[numbers]
        is_there = np.array([list(map(bool, request.options)) for request in requests])
        token_counts = [list(map(fewest_tokens, request.options)) for request in requests]
        scored_by = pl.repeat(SCORED_BY_LOGITS, len(requests), eager=True).cast(pl.Categorical)
        beginnings = [self._beginning(int(number), of_sequences, decode) for number in numbers]
        return pl.DataFrame(
            [
                to_list_column("probabilities", of_options, is_there, pl.Float32),
                to_list_column("tokens", np.array(token_counts), is_there, pl.UInt8),
                pl.Series("mass", of_options.sum(axis=1), pl.Float32),
                scored_by.alias("scored_by"),
                *beginning_columns(beginnings),
            ]
        )

    def _beginning(
        self, number: int, of_sequences: FloatArray, decode: Callable[[int], str]
    ) -> AnswerBeginnings:
        """Returns how the answer to a prompt begins.

        Args:
            number: the number of the prompt.
            of_sequences: the probabilities of all sequences, in the order of prompts and options.
            decode: returns the text of a token.
        """
        first, end = self.reads.first_sequence[number : number + 2]
        probabilities = iter(of_sequences[first:end].tolist())
        forms = []
        for texts in self.requests[number].forms:
            forms.append([(form, next(probabilities)) for form in texts])
        likeliest = self._first_tokens[number]
        first_tokens = [(decode(token), probability) for token, probability in likeliest]
        return AnswerBeginnings(forms, first_tokens)


def fewest_tokens(forms: Sequence[Sequence[int]]) -> int:
    """Returns the length of an option's shortest form in tokens; 0 for an option that is not
    there.
    """
    return min(map(len, forms), default=0)
