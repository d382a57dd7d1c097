"""Measures that several families have: how answers ended. Their words are in `measures.yaml` beside this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Numbers = TypeVar("Numbers")
ShareOfOutcome = Callable[[str], Numbers]
"""Makes the share of answers that ended in some way, as the family counts them."""


def coverage(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers in which something was found / answers; of swap groups those with four such answers."""
    return share_of("answered")


def refused(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers in which the model declines, and in which nothing else was found / answers."""
    return share_of("refused")


def cut_short(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers that reached the maximum length before anything was found / answers."""
    return share_of("length")


def empty(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers without text / answers."""
    return share_of("empty")


def cut_by_scorer(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers of which a scorer or encoder read only the beginning / answers."""
    return share_of("truncated")


def refused_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers to one group in which the model declines / answers to it - the same of another group."""
    return difference_of("refused")


def undetected_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers to one group in which nothing was found / answers to it - the same of another group."""
    return difference_of("undetected")


def cut_short_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers to one group that reached the maximum length / answers to it - the same of another group."""
    return difference_of("length")
