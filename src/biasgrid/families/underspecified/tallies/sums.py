"""Sums over the swap groups of a cell, by subject, partner, attribute and template; parts are added
in turn.

Each number is added to its sum in the order of the swap groups, so that tables are the same to the
byte whatever the number of threads, and wherever a cell is divided into parts.
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
from biasgrid.families.underspecified.tallies.axes import Axes, SwapGroups, side_by_side
from biasgrid.tables.keys import Digests, mix_bits

LEAST_SINGULAR = 1e-10
"""What is smaller, relative to the largest eigenvalue, is 0: all utilities may move together."""
LEAST_LEFT = 1e-10
"""What is left of log odds and smaller than this, relative to the largest of them, is 0."""
MEANS_OF_CELL = ("delta", "epsilon", "answer_probability", "winner_changes")
"""What the whole cell has as the mean over its swap groups, by the names of observations."""


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
    """Sums of what is seen from both subjects of swap groups."""

    def __init__(self, axes: Axes):
        subjects, attributes, templates = axes.shape
        self.axes = axes
        self.by_template = np.zeros((subjects, attributes, templates))
        self.by_partner = np.zeros((subjects, subjects, attributes))
        self.across_by_template = (
            self.by_template if axes.are_across else np.zeros_like(self.by_template)
        )

    def add(self, groups: SwapGroups, forward: FloatArray, backward: FloatArray) -> None:
        """Adds swap groups.

        Args:
            groups: the swap groups.
            forward: shape (groups,), what x1 sees.
            backward: shape (groups,), what x2 sees.
        """
        seen = side_by_side(forward, backward)
        np.add.at(self.by_template.reshape(-1), groups.in_templates, seen)
        np.add.at(self.by_partner.reshape(-1), groups.in_partners, seen)
        if not self.axes.are_across:
            are_across = np.repeat(groups.are_across, 2)
            np.add.at(
                self.across_by_template.reshape(-1),
                groups.in_templates[are_across],
                seen[are_across],
            )

    def count(self, groups: SwapGroups) -> None:
        """Counts swap groups."""
        self.add(groups, np.ones(len(groups)), np.ones(len(groups)))

    @property
    def sums(self) -> SumsOfSubjects:
        """The sums of all swap groups that were added."""
        across = (
            self.by_partner
            if self.axes.are_across
            else self.by_partner * self.axes.across[:, :, None]
        )
        return SumsOfSubjects(self.by_template, self.by_partner, self.across_by_template, across)


class SomeGroups:
    """Counts the swap groups of a cell that have something: those that lack it are mostly few.

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
        self.by_template, self.by_subject, self.by_attribute = (
            np.zeros((count, 2)) for count in (templates, subjects, attributes)
        )
        self.n = 0

    def add(self, groups: SwapGroups, values: FloatArray) -> None:
        """Adds a number of each of some swap groups, shape (groups,)."""
        self.n += len(groups)
        tables, added = (
            (self.by_template, self.by_subject, self.by_attribute),
            (values, np.repeat(values, 2), values),
        )
        for sums, (place, counts), each in zip(tables, groups.of_units, added, strict=True):
            np.add.at(sums[:, 0], place, each)
            sums[:, 1] += counts


class NameUtilities:
    """What both subjects of swap groups have over all attributes of their template, in numbers such
    as log odds.

    That is the difference of utilities, one for each subject in each template, by least squares
    over all pairs that were asked: where every pair is asked about every attribute, it is their
    mean over attributes.
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
        for number, each in enumerate(values):
            np.add.at(self.sums[number].reshape(-1), place, each)
            self.largest[number] = max(self.largest[number], np.abs(each).max(initial=0))

    def solve(self) -> FloatArray:
        """Returns the utilities, shape (numbers, templates, subjects)."""
        pairs = self.counts + np.swapaxes(self.counts, 1, 2)
        equations = pairs.sum(axis=2)[..., None] * np.eye(pairs.shape[1]) - pairs
        own = (self.sums.sum(axis=3) - self.sums.sum(axis=2))[..., None]
        # Templates mostly ask about the same pairs as often as each other.
        distinct = {each.tobytes(): each for each in equations}
        found = np.linalg.pinv(np.stack([*distinct.values()]), rcond=LEAST_SINGULAR, hermitian=True)
        inverses = dict(zip(distinct, found, strict=True))
        return np.asarray(
            (np.stack([inverses[each.tobytes()] for each in equations]) @ own)[..., 0]
        )


class WithoutNames:
    """Takes off numbers of swap groups what both subjects have over all attributes; see
    `NameUtilities`.
    """

    def __init__(self, found: NameUtilities):
        self.utilities, self.largest = found.solve(), found.largest
        self.has_several = found.asked.sum(axis=1) >= 2

    def __call__(self, groups: SwapGroups, *values: FloatArray) -> list[FloatArray]:
        """Returns what is left of the numbers that were added.

        Returns:
            Shape (groups,) each; NaN in templates that ask about a single attribute, which cannot
            tell it from a name.
        """
        found = []
        for each, utilities, largest in zip(values, self.utilities, self.largest, strict=True):
            left = each - (
                utilities[groups.template, groups.one] - utilities[groups.template, groups.other]
            )
            left[np.abs(left) <= LEAST_LEFT * largest] = 0
            left[~self.has_several[groups.template]] = np.nan
            found.append(left)
        return found


class CellTally:
    """What is summed when the swap groups of a cell are seen for the first time.

    Attributes:
        all_groups: counts them all.
        has_share: counts those that have a share.
        has_odds: counts those that have log odds.
        of_subjects: what both subjects see, by name: C, its sign, and C of shares, of masses and of
            log odds.
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
        """Begins with nothing.

        Args:
            axes: the axes of the cell.
            least: the least S(x) + S(y) that a share is made of.
        """
        self.axes, self.least = axes, least
        self.all_groups = SubjectTally(axes)
        self.has_share, self.has_odds = SomeGroups(axes), SomeGroups(axes)
        self.of_subjects = {
            name: SubjectTally(axes) for name in ("comparison", "sign", "share", "mass", "log_odds")
        }
        self.won = SubjectTally(axes)
        self.means = {name: MeanTally(axes) for name in (*MEANS_OF_CELL, "room", "change")}
        self.squares = np.zeros((len(axes.attributes), 3))
        self.digests: Digests = np.zeros(len(axes.attributes), dtype=np.uint64)
        self.has_pronouns = False
        self.names, self.pronoun_names = NameUtilities(axes, 2), NameUtilities(axes, 1)

    def add(self, known: pl.DataFrame) -> None:
        """Adds swap groups that were answered, from `observe.compare_subjects`."""
        groups, scores = self.axes.swap_groups(known), scores_in_groups(known)
        comparison = known["comparison"].to_numpy()
        self.all_groups.count(groups)
        self.add_views("comparison", groups, comparison)
        self.add_views("sign", groups, np.sign(comparison))
        self.won.add(
            groups, *(each.astype(np.float64) for each in (comparison > 0, comparison < 0))
        )
        for name in MEANS_OF_CELL:
            self.means[name].add(groups, known[name].to_numpy().astype(np.float64))
        self.add_pairs(groups, comparison, scores)
        self.add_preferences(groups, preferences_of(scores, self.least))
        if PRONOUN_SCORES in known.columns:
            self.has_pronouns = True
            self.pronoun_names.add(*odds_of_pronouns(groups, known, self.least))

    def add_views(self, name: str, groups: SwapGroups, values: FloatArray) -> None:
        """Adds what x1 sees, and x2 with the other sign."""
        self.of_subjects[name].add(groups, values, -values)

    def add_pairs(self, groups: SwapGroups, comparison: FloatArray, scores: FloatArray) -> None:
        """Adds what the variances of pairs and orders are made of."""
        # Half of what C is in one order of the subjects less what it is in the other.
        bias = scores[:, :, 0] - scores[:, :, 1]
        in_order = (bias[..., 0] - bias[..., 1]) / 2
        orders = (in_order[:, 0] - in_order[:, 1]) / 2
        attribute, counts = groups.of_units[-1]
        for column, values in enumerate((comparison**2, orders**2)):
            np.add.at(self.squares[:, column], attribute, values)
        self.squares[:, 2] += counts
        asked = groups.pair * len(self.axes.units) + groups.template
        np.add.at(self.digests, attribute, mix_bits(asked.astype(np.uint64)))

    def add_preferences(self, groups: SwapGroups, found: Preferences) -> None:
        """Adds what is said of swap groups whatever S(x) + S(y) is."""
        has_share, has_odds = found.has_share, found.has_odds
        chosen = self.has_share.choose(groups, has_share)
        for name, values in (("share", found.share), ("mass", found.mass)):
            self.add_views(name, chosen, values[has_share])
        for name, values in (("room", found.room), ("change", found.change)):
            self.means[name].add(chosen, values[has_share])
        chosen = self.has_odds.choose(groups, has_odds)
        self.add_views("log_odds", chosen, found.log_odds[has_odds])
        self.names.add(chosen, found.question[has_odds], found.negation[has_odds])


def odds_of_pronouns(
    groups: SwapGroups, known: pl.DataFrame, least: float
) -> tuple[SwapGroups, FloatArray]:
    """Returns the swap groups whose pronouns differ and have log odds, and these, in the
    question.
    """
    odds = preferences_of(scores_in_groups(known, PRONOUN_SCORES), least).question
    # Two subjects of one group have the same pronoun.
    has_odds = ~np.isnan(odds) & groups.are_across
    return groups.only(has_odds), odds[has_odds]


class CentredTally:
    """What is summed of log odds when the utilities of names are known, and the counts of pairs.

    Attributes:
        question: what both subjects see in the question.
        negation: shape (subjects, attributes, templates), the same in the negated question.
        pronouns: what the pronouns of both subjects see in the question.
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
        self.axes, self.least, self.n, self.pronoun_n = axes, first.least, 0, 0
        self.without_names = WithoutNames(first.names)
        self.without_pronouns = WithoutNames(first.pronoun_names) if first.has_pronouns else None
        self.question, self.groups = SubjectTally(axes), SubjectTally(axes)
        self.negation = np.zeros(axes.shape)
        self.pronouns, self.pronoun_groups = SubjectTally(axes), SubjectTally(axes)
        self.firsts = np.sort(np.unique(first.digests, return_index=True)[1])
        self.pattern = np.argmax(first.digests[:, None] == first.digests[self.firsts], axis=1)
        self.pair_counts = np.zeros((len(self.firsts), len(axes.pairs), len(axes.units)))

    def add(self, known: pl.DataFrame) -> None:
        """Adds swap groups that were answered, from `observe.compare_subjects`."""
        groups = self.axes.swap_groups(known)
        self.add_odds(groups, preferences_of(scores_in_groups(known), self.least))
        if self.without_pronouns:
            chosen, odds = odds_of_pronouns(groups, known, self.least)
            (left,) = self.without_pronouns(chosen, odds)
            self.pronoun_n += self.add_left(chosen, left, self.pronouns, self.pronoun_groups)
        first = groups.only(np.isin(groups.attribute, self.firsts))
        np.add.at(
            self.pair_counts, (self.pattern[first.attribute], first.pair, first.template), 1.0
        )

    def add_odds(self, groups: SwapGroups, found: Preferences) -> None:
        """Adds the log odds of question and negation."""
        has_odds = found.has_odds
        chosen = groups.only(has_odds)
        question, negation = self.without_names(
            chosen, found.question[has_odds], found.negation[has_odds]
        )
        self.n += self.add_left(chosen, question, self.question, self.groups)
        is_left = ~np.isnan(negation)
        chosen, negation = chosen.only(is_left), negation[is_left]
        np.add.at(self.negation.reshape(-1), chosen.in_templates, side_by_side(negation, -negation))

    def add_left(
        self, groups: SwapGroups, left: FloatArray, sums: SubjectTally, counts: SubjectTally
    ) -> int:
        """Adds what is left of log odds where anything is; returns of how many swap groups."""
        is_left = ~np.isnan(left)
        chosen, left = groups.only(is_left), left[is_left]
        sums.add(chosen, left, -left)
        counts.count(chosen)
        return len(chosen)
