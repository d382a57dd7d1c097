"""Counts of what models read. Planning imports this module, so that it imports no libraries."""

from __future__ import annotations

from typing import NamedTuple, Self


class InputCounts(NamedTuple):
    """What a model reads for answers: without checks, audits and what it writes itself.

    Means over instances need not be whole numbers.

    Attributes:
        sequences: the number of rows of tokens that run through the model, or of requests to a
            server.
        tokens: the number of their tokens, special ones included, without padding.
    """

    sequences: float = 0
    tokens: float = 0

    def plus(self, other: InputCounts) -> Self:
        """Returns the sum of both."""
        return type(self)(self.sequences + other.sequences, self.tokens + other.tokens)

    def times(self, factor: float) -> Self:
        """Returns both numbers multiplied by a factor."""
        return type(self)(self.sequences * factor, self.tokens * factor)


def add_if_known(total: InputCounts | None, part: InputCounts | None) -> InputCounts | None:
    """Returns the sum of two counts; None, for unknown, if one of them is."""
    return None if total is None or part is None else total.plus(part)


def subtract_if_known(total: InputCounts | None, part: InputCounts | None) -> InputCounts | None:
    """Returns a total without a part of it; None, for unknown, if one of them is."""
    return add_if_known(total, None if part is None else part.times(-1))
