"""Preferences that do not depend on how probable both subjects are together: shares of two, and log odds.

gamma is a difference of probabilities, so that it moves with S(x) + S(y) as well: where words differ in probability and
a question makes both likelier than its negation does, gamma is not 0 though the odds of the two are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, divide
from biasgrid.families.underspecified.observe import row_slices

LEAST_MASS = 1e-6
"""Swap groups in one of whose instances both subjects together are less probable have no share."""
LEAST_MASS_OF_PRECISION = {"float16": 1e-5}
"""The same where the arithmetic of the model is coarser: its error of a share is 0.013 at 1e-6."""
STEPS_OF_LEAST_MASS = 100
"""Of scores that were stored with few decimals, how many steps the least mass is."""
DECIMALS = (4, 5, 6, 7)
"""With how many decimals scores may have been stored; with fewer they are choices, not probabilities."""
FEWEST_SCORES = 1000
"""Fewer scores do not tell with how many decimals they were stored."""
STEP_TOLERANCE = 1e-7
"""How far from a step stored scores may be, as a share of their size: they come as 32-bit numbers."""


class Preferences(NamedTuple):
    """What is said of swap groups whatever S(x) + S(y) is; arrays of shape (groups,), NaN below the least mass.

    Attributes:
        share: C of shares s(x) = S(x) / (S(x) + S(y)), in [-1, 1].
        mass: the part of C that is no preference: what S(x) + S(y) alone makes of it.
        question: ln S(x) - ln S(y) of the question, mean over orders; NaN where a score is 0.
        negation: the same of the negated question.
        room: mean over orders of 4 s (1 - s), s the mean share in question and negation: 1 where both subjects are
            equally probable, 0 where one is certain.
        change: mean over orders of |ln (S(x) + S(y)) of the question less that of the negation|.
    """

    share: FloatArray
    mass: FloatArray
    question: FloatArray
    negation: FloatArray
    room: FloatArray
    change: FloatArray

    @property
    def log_odds(self) -> FloatArray:
        """C of log odds: mean over orders of the log odds in the question less those in the negation, / 4."""
        return (self.question - self.negation) / 4

    @property
    def has_share(self) -> BoolArray:
        """Which swap groups have a share."""
        return ~np.isnan(self.share)

    @property
    def has_odds(self) -> BoolArray:
        """Which swap groups have log odds in both questions."""
        return ~np.isnan(self.question + self.negation)


def preferences_of(scores: FloatArray, least: float = LEAST_MASS) -> Preferences:
    """Returns the preferences of swap groups.

    With S = M s, M being S(x) + S(y) and s the share, C is the mean over orders of the mass of both questions times the
    difference of shares (the preference), and of the difference of masses times that of the mean shares (`mass`).

    Args:
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least mass that a share is made of.
    """
    found = np.empty((len(Preferences._fields), len(scores)))
    for part in row_slices(len(scores)):
        found[:, part] = preferences_of_part(scores[part], least)
    return Preferences(*found)


def preferences_of_part(scores: FloatArray, least: float) -> Preferences:
    """Returns what `preferences_of` does, of swap groups that fit into a processor's cache."""
    # The groups last, so that each step goes through the scores of all of them.
    one, other = np.moveaxis(np.ascontiguousarray(scores.reshape(-1, 8).T).reshape(2, 2, 2, -1), 2, 0)
    mass = one + other
    mass[:, :, (mass < least).any(axis=(0, 1))] = np.nan
    share = one / mass
    # Both shares add up to 1, so that a difference of the two is 2 s - 1.
    balance = share[:, 0] + share[:, 1] - 1
    of_mass = (mass[:, 0] - mass[:, 1]) * balance / 2
    odds = np.log(np.where((one > 0) & (other > 0), divide(one, other), np.nan) + 0 * mass).mean(axis=0)
    change = np.abs(np.log(mass[:, 0] / mass[:, 1]))
    in_orders = (share[:, 0] - share[:, 1], of_mass, 1 - balance**2, change)
    difference, of_mass, room, change = (each.mean(axis=0) for each in in_orders)
    return Preferences(difference, of_mass, odds[0], odds[1], room, change)


def least_mass(scores: FloatArray, precision: str | None = None) -> float:
    """Returns the least S(x) + S(y) that a share is made of: what is less is mostly rounding.

    Args:
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).
        precision: the arithmetic of the model, where it is known.
    """
    of_arithmetic = LEAST_MASS_OF_PRECISION.get(precision or "", LEAST_MASS)
    return max(of_arithmetic, STEPS_OF_LEAST_MASS * stored_step(scores))


def stored_step(scores: FloatArray) -> float:
    """Returns the steps in which scores were stored, 0 where they have all their digits.

    Args:
        scores: any shape.
    """
    flat = scores.reshape(-1)
    if len(flat) < FEWEST_SCORES or are_multiples(flat, 10.0 ** (1 - DECIMALS[0])):
        return 0.0
    return next((10.0**-each for each in DECIMALS if are_multiples(flat, 10.0**-each)), 0.0)


def are_multiples(values: FloatArray, step: float) -> bool:
    """Says whether all values are multiples of a step, but for rounding; stops at the first that is not."""
    for part in row_slices(len(values)):
        steps = values[part] / step
        # A 32-bit number has its digits from the first one on.
        if (np.abs(steps - np.round(steps)) > STEP_TOLERANCE * np.maximum(10, steps)).any():
            return False
    return True
