"""Sums of preferences: associations of shares and of log odds, what only the mass moves, and the room of shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.families.underspecified.associations.negation import (
    negation_reading,
    pronoun_association,
    question_association,
    without_names,
)
from biasgrid.families.underspecified.associations.parts import is_compared, mean_over_templates, sums_of_parts
from biasgrid.families.underspecified.associations.preference import preferences_of
from biasgrid.families.underspecified.associations.swap_groups import SwapGroups
from biasgrid.stats.sums import TEMPLATES, Sums

MASS_PART, MASS_CHANGE = "mass_part", "mass_change"
"""Inputs of the flag `mass`."""


def measures_of_preferences(groups: SwapGroups, scores: FloatArray, least: float) -> Iterator[Sums]:
    """Yields the measures that do not depend on S(x) + S(y), those of shares before those of log odds.

    Args:
        groups: the swap groups.
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least S(x) + S(y) that a share is made of.
    """
    found = preferences_of(scores, least)
    has_share, has_odds = found.has_share, found.has_odds
    chosen = groups.only(has_share)
    left_out = len(has_share) - int(has_share.sum())
    yield from share_gamma(chosen, found.share[has_share], groups)
    yield from mass_inputs(chosen, found.mass[has_share], found.change[has_share], groups)
    yield room(chosen, found.room[has_share], left_out)
    chosen = groups.only(has_odds)
    yield from log_odds_gamma(chosen, found.log_odds[has_odds], groups)
    centred = [without_names(chosen, each[has_odds]) for each in (found.question, found.negation)]
    known = ~np.isnan(centred[0])
    question, negation = (each[known] for each in centred)
    chosen = chosen.only(known)
    yield from question_association(chosen, question, groups)
    yield negation_reading(chosen, question, negation, len(has_odds) - len(question))


def measures_of_pronouns(groups: SwapGroups, scores: FloatArray, least: float) -> Iterator[Sums]:
    """Yields what the pronouns of groups of subjects say where these stand.

    Args:
        groups: the swap groups.
        scores: of pronouns, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least probability of both pronouns that counts.
    """
    odds = preferences_of(scores, least).question
    # Two subjects of one group have the same pronoun.
    known = ~np.isnan(odds) & groups.across[groups.one, groups.other]
    chosen = groups.only(known)
    centred = without_names(chosen, odds[known])
    left = ~np.isnan(centred)
    yield from pronoun_association(chosen.only(left), centred[left], groups)


def share_gamma(chosen: SwapGroups, share: FloatArray, asked: SwapGroups) -> Iterator[Sums]:
    """Association of shares: mean of C(x, .) of s(x) = S(x) / (S(x) + S(y)) over templates and partners.

    Args:
        chosen: the swap groups that have a share.
        share: shape (groups,), C of shares.
        asked: all swap groups, of which the others are left out.
    """
    for sums in sums_of_parts(chosen, chosen.sums(share, -share), asked):
        yield replace(sums, test="q", compared=is_compared(sums)).named("share_gamma")


def log_odds_gamma(chosen: SwapGroups, odds: FloatArray, asked: SwapGroups) -> Iterator[Sums]:
    """Association of log odds: mean over orders of (L(question) - L(negation)) / 4, L = ln S(x) - ln S(y).

    Args:
        chosen: the swap groups whose scores are all above 0.
        odds: shape (groups,), C of log odds.
        asked: all swap groups, of which the others are left out.
    """
    for sums in sums_of_parts(chosen, chosen.sums(odds, -odds), asked):
        yield replace(sums, test="q").named("log_odds_gamma")


def room(chosen: SwapGroups, values: FloatArray, left_out: int) -> Sums:
    """Room of shares: mean of 4 s (1 - s), s the mean share in question and negation.

    Args:
        chosen: the swap groups that have a share.
        values: shape (groups,), see `Preferences.room`.
        left_out: how many more there are.
    """
    return replace(mean_over_templates(chosen, values, left_out), compared=False).named("room")


def mass_inputs(chosen: SwapGroups, mass: FloatArray, change: FloatArray, asked: SwapGroups) -> Iterator[Sums]:
    """Yields what the flag `mass` is made of: the mass part of gamma, and how far masses change with the question.

    Args:
        chosen: the swap groups that have a share.
        mass: shape (groups,), the mass part of C.
        change: shape (groups,), see `Preferences.change`.
        asked: all swap groups, of which the others are left out.
    """
    of_pairs = next(sums_of_parts(chosen, chosen.sums(mass, -mass), asked))
    for measure, sums in ((MASS_PART, of_pairs), (MASS_CHANGE, mean_over_templates(chosen, change))):
        by_template = {TEMPLATES: sums.along[TEMPLATES]}
        yield replace(sums, along=by_template, compared=False, is_input=True).named(measure)
