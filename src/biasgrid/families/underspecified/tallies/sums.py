"""Sums over the swap groups of a cell, by subject, partner, attribute and template.

Parts of a cell are added in turn. Each number is added to its sum in the order of the swap groups,
so that tables are the same to the byte for any number of threads and any division into parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.families.underspecified.observe import (
    PRONOUN_SCORES,
    Preferences,
    preferences_of,
    scores_in_groups,
)
from biasgrid.families.underspecified.tallies.axes import (
    Axes,
    PlacesAndCounts,
    SwapGroups,
    interleave_sides,
)
from biasgrid.tables.keys import Digests, mix_bits

LEAST_SINGULAR = 1e-10
"""Eigenvalues below this share of the largest count as 0: all utilities may move together."""
LEAST_LEFT = 1e-10
"""Rests of log odds below this share of the largest of them count as 0: they are rounding."""
MEANS_OF_CELL = ("delta", "epsilon", "answer_probability", "winner_changes")
"""Columns of observations whose mean over all swap groups is a measure of the cell."""


class SumsOfSubjects(NamedTuple):
    """Sums over all partners, and over all templates; below them of partners of other groups alone.

    Attributes:
        by_template: shape (subjects, attributes, templates).
        by_partner: shape (subjects, partners, attributes).
        across_by_template: shape (subjects, attributes, templates).
        across_by_partner: shape (subjects, partners, attributes).
    """

    by_template: FloatArray
    by_partner: FloatArray
    across_by_template: FloatArray
    across_by_partner: FloatArray

    def without(self, others: SumsOfSubjects) -> SumsOfSubjects:
        """Returns the sums less those of some of the swap groups; exact for counts."""
        return SumsOfSubjects(*(own - less for own, less in zip(self, others, strict=True)))


class SubjectTally:
    """Sums of numbers as seen from both subjects of swap groups."""

    def __init__(self, axes: Axes):
        subjects, attributes, templates = axes.shape
        self.axes = axes
        self.by_template = np.zeros((subjects, attributes, templates))
        self.by_partner = np.zeros((subjects, subjects, attributes))
        # If all pairs are of two groups, the sums across groups are the sums themselves.
        self.across_by_template = self.by_template
        if not axes.are_across:
            self.across_by_template = np.zeros_like(self.by_template)

    def add(self, groups: SwapGroups, forward: FloatArray, backward: FloatArray) -> None:
        """Adds swap groups.

        Args:
            groups: the swap groups.
            forward: shape (groups,), the number as x1 sees it.
            backward: shape (groups,), the number as x2 sees it.
        """
        seen = interleave_sides(forward, backward)
        np.add.at(self.by_template.reshape(-1), groups.in_templates, seen)
        np.add.at(self.by_partner.reshape(-1), groups.in_partners, seen)
        if not self.axes.are_across:
            are_across = np.repeat(groups.are_across, 2)
            places = groups.in_templates[are_across]
            np.add.at(self.across_by_template.reshape(-1), places, seen[are_across])

    def count(self, groups: SwapGroups) -> None:
        """Counts swap groups."""
        self.add(groups, np.ones(len(groups)), np.ones(len(groups)))

    @property
    def sums(self) -> SumsOfSubjects:
        """The sums of all swap groups that were added."""
        across = self.by_partner
        if not self.axes.are_across:
            across = self.by_partner * self.axes.across[:, :, None]
        return SumsOfSubjects(self.by_template, self.by_partner, self.across_by_template, across)


class SomeGroups:
    """Counts the swap groups of a cell that have something, such as a share.

    Most have it, so only those that lack it are added up.

    Attributes:
        n: how many have it.
        left_out: how many lack it.
    """

    def __init__(self, axes: Axes):
        self.n = self.left_out = 0
        self.lacking = SubjectTally(axes)

    def choose(self, groups: SwapGroups, has: BoolArray) -> SwapGroups:
        """Returns the swap groups that have it, and counts the others."""
        lacking = int(len(has) - np.count_nonzero(has))
        self.n += len(has) - lacking
        self.left_out += lacking
        if not lacking:
            return groups
        self.lacking.count(groups.only(~has))
        return groups.only(has)


class MeanTally:
    """Sum and count of a number of each swap group by template, subject and attribute.

    Attributes:
        by_template: shape (templates, 2).
        by_subject: shape (subjects, 2), of both subjects of a swap group.
        by_attribute: shape (attributes, 2).
        n: how many swap groups there are.
    """

    def __init__(self, axes: Axes):
        subjects, attributes, templates = axes.shape
        self.by_template = np.zeros((templates, 2))
        self.by_subject = np.zeros((subjects, 2))
        self.by_attribute = np.zeros((attributes, 2))
        self.n = 0

    def add(self, groups: SwapGroups, values: FloatArray) -> None:
        """Adds a number of each of some swap groups, shape (groups,)."""
        self.n += len(groups)
        of_templates, of_subjects, of_attributes = groups.of_units
        add_with_counts(self.by_template, of_templates, values)
        add_with_counts(self.by_subject, of_subjects, np.repeat(values, 2))
        add_with_counts(self.by_attribute, of_attributes, values)


def add_with_counts(sums: FloatArray, units: PlacesAndCounts, values: FloatArray) -> None:
    """Adds numbers and their counts to the sums of units.

    Args:
        sums: shape (units, 2), sums and counts.
        units: the unit of each number, and the numbers of each unit.
        values: the numbers.
    """
    places, counts = units
    np.add.at(sums[:, 0], places, values)
    sums[:, 1] += counts


class NameUtilities:
    """Utilities of subjects: the part of numbers that names have over all attributes.

    The numbers are such as log odds. The part of a swap group is the difference of the utilities of
    its subjects. Each subject has a utility in each template, by least squares over all pairs that
    were asked: if every pair is asked about every attribute, the difference is the mean over
    attributes.
    """

    def __init__(self, axes: Axes, several: int):
        """Takes the axes, and how many numbers each swap group has."""
        subjects, attributes, templates = axes.shape
        self.counts = np.zeros((templates, subjects, subjects))
        self.sums = np.zeros((several, templates, subjects, subjects))
        self.largest = np.zeros(several)
        self.asked = np.zeros((templates, attributes), dtype=np.bool_)

    def add(self, groups: SwapGroups, *values: FloatArray) -> None:
        """Adds swap groups with all their numbers, each of shape (groups,)."""
        place = np.ravel_multi_index((groups.template, groups.one, groups.other), self.counts.shape)
        np.add.at(self.counts.reshape(-1), place, 1.0)
        self.asked[groups.template, groups.attribute] = True
        for number, added in enumerate(values):
            np.add.at(self.sums[number].reshape(-1), place, added)
            self.largest[number] = max(self.largest[number], np.abs(added).max(initial=0))

    def solve(self) -> FloatArray:
        """Returns the utilities, shape (numbers, templates, subjects)."""
        pairs = self.counts + np.swapaxes(self.counts, 1, 2)
        normal_equations = pairs.sum(axis=2)[..., None] * np.eye(pairs.shape[1]) - pairs
        right_sides = (self.sums.sum(axis=3) - self.sums.sum(axis=2))[..., None]
        # Templates mostly ask about the same pairs as often as each other, so that few inverses are
        # needed.
        distinct = {matrix.tobytes(): matrix for matrix in normal_equations}
        inverses = np.linalg.pinv(
            np.stack([*distinct.values()]), rcond=LEAST_SINGULAR, hermitian=True
        )
        inverse_of = dict(zip(distinct, inverses, strict=True))
        inverses_of_templates = [inverse_of[matrix.tobytes()] for matrix in normal_equations]
        solutions = np.stack(inverses_of_templates) @ right_sides
        return np.asarray(solutions[..., 0])


class WithoutNames:
    """Takes off numbers of swap groups the part that names have; see `NameUtilities`."""

    def __init__(self, names: NameUtilities):
        self.utilities, self.largest = names.solve(), names.largest
        self.has_several = names.asked.sum(axis=1) >= 2

    def __call__(self, groups: SwapGroups, *values: FloatArray) -> list[FloatArray]:
        """Returns the rests of the numbers that were added.

        Returns:
            Shape (groups,) each; NaN in templates that ask about a single attribute, which cannot
            tell it from a name.
        """
        rests = []
        for numbers, utilities, largest in zip(values, self.utilities, self.largest, strict=True):
            utility1 = utilities[groups.template, groups.one]
            utility2 = utilities[groups.template, groups.other]
            rest = numbers - (utility1 - utility2)
            rest[np.abs(rest) <= LEAST_LEFT * largest] = 0
            rest[~self.has_several[groups.template]] = np.nan
            rests.append(rest)
        return rests


class CellTally:
    """The sums that need each swap group of a cell by itself, from the first pass through them.

    Attributes:
        all_groups: counts all swap groups.
        has_share: counts those that have a share.
        has_odds: counts those that have log odds.
        of_subjects: the sums as both subjects see them, by name: C, its sign, and C of shares, of
            masses and of log odds.
        won: whether C > 0, as both subjects see it.
        means: the numbers of `MEANS_OF_CELL`, and of preferences the room and how far masses
            change.
        squares: shape (attributes, 3), the sums of C² and of the squared half difference of C in
            both orders, and n.
        digests: shape (attributes,), a digest of the pairs and templates in which each attribute is
            asked.
        names: the utilities of subjects in the log odds of the question and of its negation.
        has_pronouns: whether pronouns were read.
        pronoun_names: the same of pronouns in the question, of swap groups of two groups.
    """

    def __init__(self, axes: Axes, least: float):
        """Begins with no swap groups.

        Args:
            axes: the axes of the cell.
            least: the least S(x) + S(y) that a share is made of.
        """
        self.axes, self.least = axes, least
        self.all_groups = SubjectTally(axes)
        self.has_share, self.has_odds = SomeGroups(axes), SomeGroups(axes)
        names = ("comparison", "sign", "share", "mass", "log_odds")
        self.of_subjects = {name: SubjectTally(axes) for name in names}
        self.won = SubjectTally(axes)
        self.means = {name: MeanTally(axes) for name in (*MEANS_OF_CELL, "room", "change")}
        self.squares = np.zeros((len(axes.attributes), 3))
        self.digests: Digests = np.zeros(len(axes.attributes), dtype=np.uint64)
        self.has_pronouns = False
        self.names, self.pronoun_names = NameUtilities(axes, 2), NameUtilities(axes, 1)

    def add(self, answered: pl.DataFrame) -> None:
        """Adds swap groups that were answered, from `observe.compare_subjects`."""
        groups, scores = self.axes.swap_groups(answered), scores_in_groups(answered)
        comparison = answered["comparison"].to_numpy()
        self.all_groups.count(groups)
        self.add_views("comparison", groups, comparison)
        self.add_views("sign", groups, np.sign(comparison))
        x1_wins, x2_wins = comparison > 0, comparison < 0
        self.won.add(groups, x1_wins.astype(np.float64), x2_wins.astype(np.float64))
        for name in MEANS_OF_CELL:
            self.means[name].add(groups, answered[name].to_numpy().astype(np.float64))
        self.add_pairs(groups, comparison, scores)
        self.add_preferences(groups, preferences_of(scores, self.least))
        if PRONOUN_SCORES in answered.columns:
            self.has_pronouns = True
            self.pronoun_names.add(*odds_of_pronouns(groups, answered, self.least))

    def add_views(self, name: str, groups: SwapGroups, values: FloatArray) -> None:
        """Adds a number as x1 sees it, and as x2 sees it, with the other sign."""
        self.of_subjects[name].add(groups, values, -values)

    def add_pairs(self, groups: SwapGroups, comparison: FloatArray, scores: FloatArray) -> None:
        """Adds the squares and digests from which the variances of pairs and orders are made."""
        # Half of C in one order of the subjects less C in the other.
        bias = scores[:, :, 0] - scores[:, :, 1]
        in_order = (bias[..., 0] - bias[..., 1]) / 2
        orders = (in_order[:, 0] - in_order[:, 1]) / 2
        attribute, counts = groups.of_units[-1]
        np.add.at(self.squares[:, 0], attribute, comparison**2)
        np.add.at(self.squares[:, 1], attribute, orders**2)
        self.squares[:, 2] += counts
        pair_and_template = groups.pair * len(self.axes.units) + groups.template
        np.add.at(self.digests, attribute, mix_bits(pair_and_template.astype(np.uint64)))

    def add_preferences(self, groups: SwapGroups, preferences: Preferences) -> None:
        """Adds the preferences of the swap groups that have a share or log odds."""
        has_share, has_odds = preferences.has_share, preferences.has_odds
        chosen = self.has_share.choose(groups, has_share)
        self.add_views("share", chosen, preferences.share[has_share])
        self.add_views("mass", chosen, preferences.mass[has_share])
        self.means["room"].add(chosen, preferences.room[has_share])
        self.means["change"].add(chosen, preferences.change[has_share])
        chosen = self.has_odds.choose(groups, has_odds)
        self.add_views("log_odds", chosen, preferences.log_odds[has_odds])
        self.names.add(chosen, preferences.question[has_odds], preferences.negation[has_odds])


def odds_of_pronouns(
    groups: SwapGroups, answered: pl.DataFrame, least: float
) -> tuple[SwapGroups, FloatArray]:
    """Returns the log odds of pronouns in the question, where the pronouns of both subjects differ.

    Args:
        groups: the places of swap groups.
        answered: these swap groups, from `observe.compare_subjects`.
        least: the least sum of both scores that has log odds.

    Returns:
        The swap groups that have log odds, and these.
    """
    odds = preferences_of(scores_in_groups(answered, PRONOUN_SCORES), least).question
    # Two subjects of one group have the same pronoun.
    has_odds = ~np.isnan(odds) & groups.are_across
    return groups.only(has_odds), odds[has_odds]


class CentredTally:
    """The sums of log odds that need the utilities of names, and the counts of pairs.

    Attributes:
        question: the sums as both subjects see them in the question.
        negation: shape (subjects, attributes, templates), the same in the negated question.
        pronouns: the sums as the pronouns of both subjects see them in the question.
        groups: counts the swap groups of `question` and `negation`, and `n` is how many there are.
        pronoun_groups: counts those of `pronouns`.
        pair_counts: shape (patterns, pairs, templates), how many swap groups ask about the first
            attribute of each pattern: attributes of one pattern are asked with the same pairs in
            the same templates.
        firsts: shape (patterns,), the first attribute of each.
        pattern: shape (attributes,), the pattern of each attribute.
    """

    def __init__(self, first: CellTally):
        """Takes the tally of the same cell that is complete."""
        axes = first.axes
        self.axes, self.least, self.n = axes, first.least, 0
        self.without_names = WithoutNames(first.names)
        self.without_pronouns = WithoutNames(first.pronoun_names) if first.has_pronouns else None
        self.question, self.groups = SubjectTally(axes), SubjectTally(axes)
        self.negation = np.zeros(axes.shape)
        self.pronouns, self.pronoun_groups = SubjectTally(axes), SubjectTally(axes)
        _, first_places = np.unique(first.digests, return_index=True)
        self.firsts = np.sort(first_places)
        self.pattern = np.argmax(first.digests[:, None] == first.digests[self.firsts], axis=1)
        self.pair_counts = np.zeros((len(self.firsts), len(axes.pairs), len(axes.units)))

    def add(self, answered: pl.DataFrame) -> None:
        """Adds swap groups that were answered, from `observe.compare_subjects`."""
        groups = self.axes.swap_groups(answered)
        self.add_odds(groups, preferences_of(scores_in_groups(answered), self.least))
        if self.without_pronouns:
            chosen, odds = odds_of_pronouns(groups, answered, self.least)
            (rest,) = self.without_pronouns(chosen, odds)
            self.add_rest(chosen, rest, self.pronouns, self.pronoun_groups)
        first = groups.only(np.isin(groups.attribute, self.firsts))
        places = (self.pattern[first.attribute], first.pair, first.template)
        np.add.at(self.pair_counts, places, 1.0)

    def add_odds(self, groups: SwapGroups, preferences: Preferences) -> None:
        """Adds the log odds of question and negation."""
        has_odds = preferences.has_odds
        chosen = groups.only(has_odds)
        question, negation = self.without_names(
            chosen, preferences.question[has_odds], preferences.negation[has_odds]
        )
        self.n += self.add_rest(chosen, question, self.question, self.groups)
        has_rest = ~np.isnan(negation)
        chosen, negation = chosen.only(has_rest), negation[has_rest]
        np.add.at(
            self.negation.reshape(-1), chosen.in_templates, interleave_sides(negation, -negation)
        )

    def add_rest(
        self, groups: SwapGroups, rest: FloatArray, sums: SubjectTally, counts: SubjectTally
    ) -> int:
        """Adds the rest of log odds without the part of names.

        Args:
            groups: the swap groups.
            rest: shape (groups,), NaN if there is none.
            sums: the tally to which it is added.
            counts: the tally that counts these swap groups.

        Returns:
            The number of swap groups with a rest.
        """
        has_rest = ~np.isnan(rest)
        chosen, rest = groups.only(has_rest), rest[has_rest]
        sums.add(chosen, rest, -rest)
        counts.count(chosen)
        return len(chosen)
