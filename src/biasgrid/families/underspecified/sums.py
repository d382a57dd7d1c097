"""Sums over the swap groups of a cell, and the sums of its parts, such as groups of subjects.

A cell is measured in three passes through its swap groups, part by part. The first finds its
subjects, attributes and templates (`axes`). The second adds up numbers that each swap group has by
itself. The third adds up log odds without the part that names have over all attributes.

`families.formulas` adds up rows of a table by one unit at a time. Swap groups do not fit into its
tables: a cell may have more than memory holds, each counts for two subjects with opposite signs,
and the sums of a part are along templates, subjects, partners and attributes at once, which share
the same two arrays.

Each number is added to its sum in the order of the swap groups, so that tables are the same to the
byte for any number of threads and any division into parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.underspecified.axes import (
    AnsweredGroups,
    Axes,
    SwapGroups,
    UnitPlaces,
    interleave_sides,
)
from biasgrid.families.underspecified.observe import (
    PRONOUN_SCORES,
    Preferences,
    least_mass,
    scores_in_groups,
    swap_group_preferences,
)
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums
from biasgrid.tables.keys import Digests, mix_bits

LEAST_SINGULAR = 1e-10
"""Eigenvalues below this share of the largest count as 0: all utilities may move together."""
LEAST_LEFT = 1e-10
"""Rests of log odds below this share of the largest of them count as 0: they are rounding."""
MEANS_OF_CELL = ("delta", "epsilon", "answer_probability", "winner_changes")
"""Columns of observations whose mean over all swap groups is a measure of the cell."""


class SubjectTally:
    """Sums of numbers as seen from both subjects of swap groups.

    Attributes:
        by_template: shape (subjects, attributes, templates), over all partners.
        by_partner: shape (subjects, partners, attributes), over all templates.
        across_by_template: as `by_template`, over partners of other groups alone.
    """

    def __init__(self, axes: Axes) -> None:
        subjects, attributes, templates = axes.shape
        self.axes = axes
        self.by_template = np.zeros((subjects, attributes, templates))
        self.by_partner = np.zeros((subjects, subjects, attributes))
        # If all pairs are of two groups, the sums across groups are the sums themselves.
        self.across_by_template = self.by_template
        if not axes.are_across:
            self.across_by_template = np.zeros_like(self.by_template)

    def add(
        self, groups: SwapGroups, forward: FloatArray, backward: FloatArray | None = None
    ) -> None:
        """Adds swap groups.

        Args:
            groups: the swap groups.
            forward: shape (groups,), the number as x1 sees it.
            backward: shape (groups,), the number as x2 sees it; that of x1 with the other sign by
                default.
        """
        both_sides = interleave_sides(forward, -forward if backward is None else backward)
        np.add.at(self.by_template.reshape(-1), groups.in_templates, both_sides)
        np.add.at(self.by_partner.reshape(-1), groups.in_partners, both_sides)
        if not self.axes.are_across:
            are_across = np.repeat(groups.are_across, 2)
            places = groups.in_templates[are_across]
            np.add.at(self.across_by_template.reshape(-1), places, both_sides[are_across])

    def add_ones(self, groups: SwapGroups) -> None:
        """Adds 1 for each swap group, so that the sums are counts."""
        self.add(groups, np.ones(len(groups)), np.ones(len(groups)))

    def difference(self, subset: SubjectTally) -> SubjectTally:
        """Returns the sums less the sums of a subset of the swap groups."""
        rest = SubjectTally(self.axes)
        for name in ("by_template", "by_partner", "across_by_template"):
            np.subtract(getattr(self, name), getattr(subset, name), out=getattr(rest, name))
        return rest

    def sums(self, across: bool) -> tuple[FloatArray, FloatArray]:
        """Returns the sums by template and by partner; of partners of other groups if `across`."""
        if not across or self.axes.are_across:
            return self.by_template, self.by_partner
        return self.across_by_template, self.by_partner * self.axes.across[:, :, None]


class MeanTally:
    """Sum and count of a number of each swap group by template, subject and attribute.

    Attributes:
        by_template: shape (templates, 2).
        by_subject: shape (subjects, 2), of both subjects of a swap group.
        by_attribute: shape (attributes, 2).
        n: how many swap groups there are.
    """

    def __init__(self, axes: Axes) -> None:
        subjects, attributes, templates = axes.shape
        self.by_template = np.zeros((templates, 2))
        self.by_subject = np.zeros((subjects, 2))
        self.by_attribute = np.zeros((attributes, 2))
        self.n = 0

    def add(self, groups: SwapGroups, values: FloatArray) -> None:
        """Adds a number of each of some swap groups, shape (groups,)."""
        self.n += len(groups)
        add_with_counts(self.by_template, groups.template_index, values)
        add_with_counts(self.by_subject, groups.subject_index, np.repeat(values, 2))
        add_with_counts(self.by_attribute, groups.attribute_index, values)


def add_with_counts(sums: FloatArray, units: UnitPlaces, values: FloatArray) -> None:
    """Adds numbers and their counts to the sums of units.

    Args:
        sums: shape (units, 2), sums and counts.
        units: the unit of each number, and the numbers of each unit.
        values: the numbers.
    """
    np.add.at(sums[:, 0], units.places, values)
    sums[:, 1] += units.counts


class NameUtilities:
    """Utilities of subjects: the part of numbers that names have over all attributes.

    The numbers are such as log odds. The part of a swap group is the difference of the utilities of
    its subjects. Each subject has a utility in each template, by least squares over all pairs that
    were asked: if every pair is asked about every attribute, the difference is the mean over
    attributes. Utilities are known once all swap groups were added.
    """

    def __init__(self, axes: Axes, several: int) -> None:
        """Takes the axes, and how many numbers each swap group has."""
        subjects, attributes, templates = axes.shape
        self.counts = np.zeros((templates, subjects, subjects))
        self.sums = np.zeros((several, templates, subjects, subjects))
        self.largest = np.zeros(several)
        self.is_asked = np.zeros((templates, attributes), dtype=np.bool_)

    def add(self, groups: SwapGroups, *values: FloatArray) -> None:
        """Adds swap groups with all their numbers, each of shape (groups,)."""
        place = np.ravel_multi_index((groups.template, groups.x1, groups.x2), self.counts.shape)
        np.add.at(self.counts.reshape(-1), place, 1.0)
        self.is_asked[groups.template, groups.attribute] = True
        for position, numbers in enumerate(values):
            np.add.at(self.sums[position].reshape(-1), place, numbers)
            self.largest[position] = max(self.largest[position], np.abs(numbers).max(initial=0))

    @cached_property
    def utilities(self) -> FloatArray:
        """The utilities, shape (numbers, templates, subjects)."""
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

    def rests(self, groups: SwapGroups, *values: FloatArray) -> list[FloatArray]:
        """Returns the numbers that were added, without the part that names have.

        Returns:
            Shape (groups,) each; NaN in templates that ask about a single attribute, which cannot
            tell it from a name.
        """
        is_single = self.is_asked.sum(axis=1) < 2
        rests = []
        for numbers, utilities, largest in zip(values, self.utilities, self.largest, strict=True):
            utility1 = utilities[groups.template, groups.x1]
            utility2 = utilities[groups.template, groups.x2]
            rest = numbers - (utility1 - utility2)
            rest[np.abs(rest) <= LEAST_LEFT * largest] = 0
            rest[is_single[groups.template]] = np.nan
            rests.append(rest)
        return rests


class CellSums:
    """The sums from which the measures of a cell are made.

    Attributes:
        axes: the axes of the cell.
        least: the least S(x) + S(y) that a share is made of.
        n: the number of swap groups.
        of_subjects: the sums as both subjects see them, by name: C, its `sign` and whether it is
            above 0 (`won`); C of shares, of masses and of log odds; and the log odds of the
            `question` and of `pronouns` in it, without the part of names.
        counts: counts the swap groups: `all`, those of `question` and of `pronouns` and, since
            most have them, those that lack a share (`no_share`) or log odds (`no_odds`).
        means: the numbers of `MEANS_OF_CELL`, and of preferences the room and how far masses
            change.
        squares: shape (attributes, 3), the sums of C² and of the squared half difference of C in
            both orders, and n.
        digests: shape (attributes,), a digest of the pairs and templates in which each attribute is
            asked.
        names: the utilities of subjects in the log odds of the question and of its negation.
        has_pronouns: whether pronouns were read.
        pronoun_names: the same of pronouns in the question, of swap groups of two groups.
        negation: shape (subjects, attributes, templates), as `question`, of the negated question.
        centred: how many swap groups have log odds without the part of names.
        pair_counts: shape (patterns, pairs, templates), how many swap groups ask about the first
            attribute of each pattern: attributes of one pattern are asked with the same pairs in
            the same templates.
        firsts: shape (patterns,), the first attribute of each.
        pattern: shape (attributes,), the pattern of each attribute.
    """

    def __init__(self, cell_groups: AnsweredGroups, precision: str | None) -> None:
        """Adds up the swap groups of a cell.

        Args:
            cell_groups: the swap groups, at least one.
            precision: the arithmetic of the model if it is coarse; see `observe.least_mass`.
        """
        self.axes = axes = cell_groups.axes
        self.least = least_mass(map(scores_in_groups, cell_groups), precision)
        self.n = cell_groups.answered_count
        names = ("comparison", "sign", "won", "share", "mass", "log_odds", "question", "pronouns")
        self.of_subjects = {name: SubjectTally(axes) for name in names}
        count_names = ("all", "question", "pronouns", "no_share", "no_odds")
        self.counts = {name: SubjectTally(axes) for name in count_names}
        self.means = {name: MeanTally(axes) for name in (*MEANS_OF_CELL, "room", "change")}
        self.squares = np.zeros((len(axes.attributes), 3))
        self.digests: Digests = np.zeros(len(axes.attributes), dtype=np.uint64)
        self.names, self.pronoun_names = NameUtilities(axes, 2), NameUtilities(axes, 1)
        self.has_pronouns = False
        for part in cell_groups:
            self.add(part)
        _, first_places = np.unique(self.digests, return_index=True)
        self.firsts = np.sort(first_places)
        self.pattern = np.argmax(self.digests[:, None] == self.digests[self.firsts], axis=1)
        self.pair_counts = np.zeros((len(self.firsts), len(axes.pairs), len(axes.units)))
        self.negation = np.zeros(axes.shape)
        self.centred = 0
        # The utilities of names are known only after all swap groups were seen.
        for part in cell_groups:
            self.add_without_names(part)

    def add(self, observations: pl.DataFrame) -> None:
        """Adds swap groups that were answered, from `observe.compare_subjects`."""
        groups, scores = self.axes.swap_groups(observations), scores_in_groups(observations)
        comparison = observations["comparison"].to_numpy()
        self.counts["all"].add_ones(groups)
        self.of_subjects["comparison"].add(groups, comparison)
        self.of_subjects["sign"].add(groups, np.sign(comparison))
        x1_wins, x2_wins = comparison > 0, comparison < 0
        wins = x1_wins.astype(np.float64), x2_wins.astype(np.float64)
        self.of_subjects["won"].add(groups, *wins)
        for name in MEANS_OF_CELL:
            self.means[name].add(groups, observations[name].to_numpy().astype(np.float64))
        self.add_pairs(groups, comparison, scores)
        self.add_preferences(groups, swap_group_preferences(scores, self.least))
        if PRONOUN_SCORES in observations.columns:
            self.has_pronouns = True
            self.pronoun_names.add(*self.pronoun_log_odds(groups, observations))

    def add_pairs(self, groups: SwapGroups, comparison: FloatArray, scores: FloatArray) -> None:
        """Adds the squares and digests from which the variances of pairs and orders are made."""
        # Half of C in one order of the subjects less C in the other.
        bias = scores[:, :, 0] - scores[:, :, 1]
        in_order = (bias[..., 0] - bias[..., 1]) / 2
        orders = (in_order[:, 0] - in_order[:, 1]) / 2
        attribute, counts = groups.attribute_index
        np.add.at(self.squares[:, 0], attribute, comparison**2)
        np.add.at(self.squares[:, 1], attribute, orders**2)
        self.squares[:, 2] += counts
        pair_and_template = groups.pair * len(self.axes.units) + groups.template
        np.add.at(self.digests, attribute, mix_bits(pair_and_template.astype(np.uint64)))

    def add_preferences(self, groups: SwapGroups, preferences: Preferences) -> None:
        """Adds the preferences of the swap groups that have a share or log odds."""
        has_share, has_odds = preferences.has_share, preferences.has_odds
        valued_groups = self.having("no_share", groups, has_share)
        self.of_subjects["share"].add(valued_groups, preferences.share[has_share])
        self.of_subjects["mass"].add(valued_groups, preferences.mass[has_share])
        self.means["room"].add(valued_groups, preferences.room[has_share])
        self.means["change"].add(valued_groups, preferences.change[has_share])
        valued_groups = self.having("no_odds", groups, has_odds)
        self.of_subjects["log_odds"].add(valued_groups, preferences.log_odds[has_odds])
        self.names.add(
            valued_groups, preferences.question[has_odds], preferences.negation[has_odds]
        )

    def having(self, lacking: str, groups: SwapGroups, has: BoolArray) -> SwapGroups:
        """Returns the swap groups that have a number, and counts the others in `counts[lacking]`.

        Args:
            lacking: a key of `counts`, `no_share` or `no_odds`.
            groups: the swap groups.
            has: shape (groups,), whether each has the number.
        """
        if not has.all():
            self.counts[lacking].add_ones(groups.only(~has))
        return groups.only(has)

    def pronoun_log_odds(
        self, groups: SwapGroups, observations: pl.DataFrame
    ) -> tuple[SwapGroups, FloatArray]:
        """Returns the log odds of pronouns in the question, of swap groups across two groups.

        Args:
            groups: the places of swap groups.
            observations: these swap groups, from `observe.compare_subjects`.

        Returns:
            The swap groups that have log odds, and these.
        """
        odds = swap_group_preferences(
            scores_in_groups(observations, PRONOUN_SCORES), self.least
        ).question
        # Two subjects of one group have the same pronoun.
        has_odds = ~np.isnan(odds) & groups.are_across
        return groups.only(has_odds), odds[has_odds]

    def add_without_names(self, observations: pl.DataFrame) -> None:
        """Adds the log odds of swap groups without the part of names, and counts their pairs."""
        groups = self.axes.swap_groups(observations)
        preferences = swap_group_preferences(scores_in_groups(observations), self.least)
        has_odds = preferences.has_odds
        odds_groups = groups.only(has_odds)
        odds = preferences.question[has_odds], preferences.negation[has_odds]
        question, negation = self.names.rests(odds_groups, *odds)
        self.centred += self.add_rest("question", odds_groups, question)
        has_rest = ~np.isnan(negation)
        places, negation = odds_groups.only(has_rest).in_templates, negation[has_rest]
        np.add.at(self.negation.reshape(-1), places, interleave_sides(negation, -negation))
        if self.has_pronouns:
            odds_groups, pronoun_odds = self.pronoun_log_odds(groups, observations)
            (rest,) = self.pronoun_names.rests(odds_groups, pronoun_odds)
            self.add_rest("pronouns", odds_groups, rest)
        first = groups.only(np.isin(groups.attribute, self.firsts))
        indices = (self.pattern[first.attribute], first.pair, first.template)
        np.add.at(self.pair_counts, indices, 1.0)

    def add_rest(self, name: str, groups: SwapGroups, rest: FloatArray) -> int:
        """Adds the rest of log odds without the part of names, and counts these swap groups.

        Args:
            name: `question` or `pronouns`.
            groups: the swap groups.
            rest: shape (groups,), NaN if there is none.

        Returns:
            The number of swap groups with a rest.
        """
        has_rest = ~np.isnan(rest)
        rest_groups = groups.only(has_rest)
        self.of_subjects[name].add(rest_groups, rest[has_rest])
        self.counts[name].add_ones(rest_groups)
        return len(rest_groups)

    @cached_property
    def all_counts(self) -> PartCounts:
        """The numbers of swap groups of each part."""
        return part_counts(self.counts["all"])

    @cached_property
    def share_counts(self) -> PartCounts:
        """The numbers of swap groups of each part that have a share."""
        return self.counts_without("no_share")

    def counts_without(self, lacking: str) -> PartCounts:
        """Returns the numbers of swap groups of each part that do not lack something."""
        lacking_counts = self.counts[lacking]
        if not lacking_counts.by_template.any():
            return self.all_counts
        return part_counts(self.counts["all"].difference(lacking_counts))

    def parts(self, sum_name: str) -> Iterator[Sums]:
        """Yields means of the parts of the cell.

        Args:
            sum_name: a key of `of_subjects`. Swap groups that do not have it are left out.
        """
        counts = self.all_counts
        if sum_name in self.counts:
            counts = part_counts(self.counts[sum_name])
        elif sum_name in ("share", "mass"):
            counts = self.share_counts
        elif sum_name == "log_odds":
            counts = self.counts_without("no_odds")
        yield from part_sums(self.of_subjects[sum_name], counts, self.all_counts)


# Parts of a cell

PartCounts = Sequence[Mapping[str, FloatArray]]
"""Numbers of swap groups of each part of a cell, by kind and factor; see `PartKind.along`."""
ASSOCIATION = ("subject", "attribute")
PART_KEYS = ("subject", "subject_group", "attribute", "attribute_group")
KEYS_OF_PART_KINDS = [
    ["subject", "attribute"],
    ["subject"],
    ["subject_group", "attribute"],
    ["subject_group"],
    ["subject", "attribute_group"],
    ["subject_group", "attribute_group"],
]


class PartKind(NamedTuple):
    """Parts that are about the same keys.

    Attributes:
        keys: the keys.
        rows: shape (rows, subjects), which subjects each row takes together; None if each subject
            is a row.
        columns: shape (columns, attributes), which attributes each column takes together; None if
            each is a column.
        row_names: the names of the rows.
        column_names: the names of the columns, None if all attributes are taken together.
    """

    keys: Sequence[str]
    rows: FloatArray | None
    columns: FloatArray | None
    row_names: pl.Series
    column_names: pl.Series | None

    @property
    def has_group_rows(self) -> bool:
        """Whether rows are groups of subjects."""
        return "subject_group" in self.keys

    def along(self, by_template: FloatArray, by_partner: FloatArray) -> dict[str, FloatArray]:
        """Adds up the sums of subjects to sums of parts, by factor.

        Args:
            by_template: from `SubjectTally.sums`.
            by_partner: likewise.

        Returns:
            Arrays of shape (rows x columns, units). The factor `subjects` is there only if rows
            take subjects together, and `attributes` only if columns take attributes together.
        """
        by_attribute = by_partner.sum(axis=1)
        templates = add_up_rows(self.rows, by_template)
        partners = by_partner
        if self.columns is not None:
            templates = np.einsum("qa,raf->rqf", self.columns, templates, optimize=True)
            partners = np.tensordot(by_partner, self.columns.T, axes=1)
        factors = {TEMPLATES: flatten_parts(templates)}
        if self.rows is not None:
            subject_sums = by_attribute.T
            if self.columns is not None:
                subject_sums = (by_attribute @ self.columns.T).T
            factors["subjects"] = flatten_parts(self.rows[:, None, :] * subject_sums[None])
        partner_sums = np.swapaxes(add_up_rows(self.rows, partners), 1, 2)
        factors["others"] = flatten_parts(partner_sums)
        if self.columns is not None:
            row_sums = add_up_rows(self.rows, by_attribute)
            factors["attributes"] = flatten_parts(row_sums[:, None, :] * self.columns[None])
        return factors

    def key_table(self) -> pl.DataFrame:
        """Returns the keys of all parts, row by row."""
        names = self.row_names.alias(self.keys[0]).to_frame()
        if self.column_names is None:
            return names
        columns = self.column_names.alias(self.keys[1]).to_frame()
        return names.join(columns, how="cross", maintain_order="left_right")


def add_up_rows(rows: FloatArray | None, sums: FloatArray) -> FloatArray:
    """Adds up the sums of the subjects of each row, shape (rows, ...); see `PartKind`."""
    return sums if rows is None else np.tensordot(rows, sums, axes=1)


def flatten_parts(sums: FloatArray) -> FloatArray:
    """Returns rows and columns as one axis."""
    return np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])


def part_kinds(axes: Axes) -> Iterator[PartKind]:
    """Yields the kinds of parts that a cell has."""
    subject_groups, group_of_subject = axes.subject_groups
    attribute_groups, group_of_attribute = axes.attribute_groups
    subjects = {
        "subject": (None, axes.subjects),
        "subject_group": (membership(group_of_subject, len(subject_groups)), subject_groups),
    }
    attributes = {
        None: (np.ones((1, len(axes.attributes))), None),
        "attribute": (None, axes.attributes),
        "attribute_group": (
            membership(group_of_attribute, len(attribute_groups)),
            attribute_groups,
        ),
    }
    for keys in KEYS_OF_PART_KINDS:
        rows, row_names = subjects[keys[0]]
        columns, column_names = attributes[keys[1] if len(keys) > 1 else None]
        if len(row_names) and (column_names is None or len(column_names)):
            yield PartKind(keys, rows, columns, row_names, column_names)


def membership(places: IntArray, group_count: int) -> FloatArray:
    """Returns 1 where a thing belongs to a group, else 0, shape (groups, things).

    Args:
        places: shape (things,), the group of each, -1 if it has none.
        group_count: how many groups there are.
    """
    return np.asarray(np.arange(group_count)[:, None] == places[None], dtype=np.float64)


def kinds_with_sums(tally: SubjectTally) -> Iterator[tuple[PartKind, dict[str, FloatArray]]]:
    """Yields the kinds of parts that a cell has, each with its sums by factor."""
    sums = {across: tally.sums(across) for across in (False, True)}
    for kind in part_kinds(tally.axes):
        yield kind, kind.along(*sums[kind.has_group_rows])


def part_counts(counts: SubjectTally) -> PartCounts:
    """Returns the counts of the parts of a cell, kind by kind and by factor.

    Many measures share them.
    """
    return [sums for _, sums in kinds_with_sums(counts)]


def part_sums(tally: SubjectTally, counts: PartCounts, all_counts: PartCounts) -> Iterator[Sums]:
    """Yields the means of the parts of a cell that have swap groups, kind by kind.

    Two subjects of one group say nothing about it, so groups of subjects leave out their swap
    groups. Parts of which all swap groups are left out have no value.

    Args:
        tally: the sums.
        counts: the numbers of swap groups that are in the sums.
        all_counts: the numbers of all swap groups.
    """
    axes = tally.axes
    units = {
        TEMPLATES: axes.templates,
        "subjects": axes.subjects.to_list(),
        "others": axes.subjects.to_list(),
        "attributes": axes.attributes.to_list(),
    }
    kinds = zip(kinds_with_sums(tally), counts, all_counts, strict=True)
    for (kind, sums_of_kind), own_counts, own_all in kinds:
        n = own_counts[TEMPLATES].sum(axis=1)
        n_asked = own_all[TEMPLATES].sum(axis=1)
        # Mostly all parts have swap groups; a slice of all needs no copy.
        has_groups = slice(None) if (n_asked > 0).all() else n_asked > 0
        along = {}
        for factor, sums in sums_of_kind.items():
            columns = (sums[has_groups], own_counts[factor][has_groups])
            along[factor] = Along(units[factor], np.stack(columns, axis=-1))
        keys = kind.key_table().with_columns(
            pl.Series("n", n.astype(np.int64)),
            pl.Series("left_out", (n_asked - n).astype(np.int64)),
        )
        yield Sums(
            keys.filter(pl.Series(n_asked > 0)),
            along,
            finish=MEAN,
            interval="moderated t",
            compares_models=False,
            generalises_to_all_factors=kind.has_group_rows,
        )


def mean_over_templates(axes: Axes, tally: MeanTally, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups that varies with templates alone.

    Args:
        axes: the axes of the cell.
        tally: the sums and counts of the swap groups.
        left_out: how many more swap groups have no value.
    """
    along = {TEMPLATES: Along(axes.templates, tally.by_template[None])}
    keys = pl.DataFrame({"n": [tally.n], "left_out": [left_out]})
    return Sums(keys, along, interval="t")


def swap_group_mean(axes: Axes, tally: MeanTally, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups; see `mean_over_templates`."""
    over_templates = mean_over_templates(axes, tally, left_out)
    along = {**over_templates.along}
    names = axes.subjects.to_list()
    firsts = len(names) if axes.firsts is None else axes.firsts
    along["subjects"] = Along(names[:firsts], tally.by_subject[None, :firsts])
    if axes.firsts is not None:
        along["others"] = Along(names[firsts:], tally.by_subject[None, firsts:])
    along["attributes"] = Along(axes.attributes.to_list(), tally.by_attribute[None])
    return replace(over_templates, along=along)
