"""The axes of a cell: its subjects, attributes and templates, and the places of swap groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.cell import Observations, find_in_parts, parts_of_observations
from biasgrid.families.underspecified.observe import answered_groups
from biasgrid.families.underspecified.tallies.unknown import KnownAttributes, find_known_attributes
from biasgrid.stats.clusters import number_templates, template_units

Number = TypeVar("Number", np.int64, np.float64)
NamesAndCodes = tuple[pl.Series, IntArray]
"""Names, and the place of each thing among them, -1 if it has none."""
PlacesAndCounts = tuple[IntArray, IntArray]
"""Places among some units, and how often each unit is there."""
PAIR_COLUMNS = ["subject1", "subject2", "group1", "group2"]
ATTRIBUTE_COLUMNS = ["attribute", "attribute_group"]


@dataclass(frozen=True)
class Axes:
    """The subjects, attributes and templates of some swap groups.

    Attributes:
        subjects: names of subjects, of two lists those of the first before those of the second.
        attributes: names of attributes.
        subject_groups: names of the groups of subjects, and that of each subject.
        attribute_groups: the same of attributes.
        firsts: of two lists, how many subjects are of the first; None for one list.
        units: shape (templates,), the templates, each in its prompt format; see
            `stats.clusters.template_units`.
        pairs: shape (pairs,), the pairs of subjects: the place of x1 times the number of subjects +
            that of x2; sorted.
    """

    subjects: pl.Series
    attributes: pl.Series
    subject_groups: NamesAndCodes
    attribute_groups: NamesAndCodes
    firsts: int | None
    units: IntArray
    pairs: IntArray

    @classmethod
    def of(cls, pairs: pl.DataFrame, attributes: pl.DataFrame, units: IntArray) -> Axes:
        """Names and orders the subjects, attributes and groups of swap groups.

        Args:
            pairs: the distinct `PAIR_COLUMNS` of swap groups.
            attributes: their distinct `ATTRIBUTE_COLUMNS`.
            units: their units of templates, each once, sorted.
        """
        names, codes = enumerate_names(pairs, "subject1", "subject2")
        subject_groups, group_codes = enumerate_names(pairs, "group1", "group2")
        group_of_subject = values_of_codes(codes, group_codes, len(names))
        is_second = second_list(codes, group_of_subject)
        # The subjects of the first list before those of the second.
        order = np.argsort(is_second, kind="stable")
        x1, x2 = np.split(np.argsort(order)[codes], 2)
        attribute_names, attribute_codes = enumerate_names(attributes, "attribute", "attribute")
        attribute_groups, codes_of_groups = enumerate_names(
            attributes, "attribute_group", "attribute_group"
        )
        group_of_attribute = values_of_codes(attribute_codes, codes_of_groups, len(attribute_names))
        return cls(
            subjects=names.gather(order),
            attributes=attribute_names,
            subject_groups=(subject_groups, group_of_subject[order]),
            attribute_groups=(attribute_groups, group_of_attribute),
            firsts=int((~is_second).sum()) if is_second.any() else None,
            units=units,
            pairs=np.unique(x1 * len(names) + x2),
        )

    @property
    def templates(self) -> list[str]:
        """The names of the templates."""
        return number_templates(self.units)[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many subjects, attributes and templates there are."""
        return len(self.subjects), len(self.attributes), len(self.units)

    @cached_property
    def across(self) -> BoolArray:
        """Whether two subjects have groups that differ, shape (subjects, partners)."""
        _, group = self.subject_groups
        has_group = group >= 0
        return np.asarray((group[:, None] != group) & has_group[:, None] & has_group)

    @cached_property
    def are_across(self) -> bool:
        """Whether the subjects of every pair have groups that differ."""
        return bool(self.across.reshape(-1)[self.pairs].all())

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        return places_of_names(self.subjects), places_of_names(self.attributes)

    def swap_groups(self, observations: pl.DataFrame) -> SwapGroups:
        """Finds the places of swap groups.

        Args:
            observations: from `observe.compare_subjects`, of these subjects, attributes and
                templates.
        """
        x1 = self.subject_places(observations["subject1"])
        x2 = self.subject_places(observations["subject2"])
        attribute = self.attribute_places(observations["attribute"])
        template = np.searchsorted(self.units, template_units(observations))
        return SwapGroups(self, x1, x2, attribute, template)

    def subject_places(self, names: pl.Series) -> IntArray:
        """Returns the places of subjects."""
        return np.asarray(self._places[0][numbers_of_names(names)])

    def attribute_places(self, names: pl.Series) -> IntArray:
        """Returns the places of attributes."""
        return np.asarray(self._places[1][numbers_of_names(names)])


@dataclass(frozen=True)
class SwapGroups:
    """The places of swap groups in the axes of their cell.

    Attributes:
        axes: the axes.
        one: shape (groups,), the subject x1.
        other: shape (groups,), the subject x2.
        attribute: shape (groups,).
        template: shape (groups,).
    """

    axes: Axes
    one: IntArray
    other: IntArray
    attribute: IntArray
    template: IntArray

    def __len__(self) -> int:
        return len(self.one)

    def only(self, chosen: BoolArray) -> SwapGroups:
        """Returns chosen swap groups."""
        if chosen.all():
            return self
        return SwapGroups(
            self.axes,
            self.one[chosen],
            self.other[chosen],
            self.attribute[chosen],
            self.template[chosen],
        )

    @cached_property
    def in_templates(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, attributes, templates).

        See `interleave_sides`.
        """
        _, attributes, templates = self.axes.shape
        of_subject = attributes * templates
        question = self.attribute * templates + self.template
        return interleave_sides(
            self.one * of_subject + question, self.other * of_subject + question
        )

    @cached_property
    def in_partners(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, partners, attributes).

        See `interleave_sides`.
        """
        subjects, attributes, _ = self.axes.shape
        forward = self.one * subjects + self.other
        backward = self.other * subjects + self.one
        return interleave_sides(
            forward * attributes + self.attribute, backward * attributes + self.attribute
        )

    @cached_property
    def of_units(self) -> tuple[PlacesAndCounts, PlacesAndCounts, PlacesAndCounts]:
        """The places and counts of templates, of both subjects, and of attributes."""
        subjects, attributes, templates = self.axes.shape
        both = interleave_sides(self.one, self.other)
        return (
            counts_of_places(self.template, templates),
            counts_of_places(both, subjects),
            counts_of_places(self.attribute, attributes),
        )

    @cached_property
    def pair(self) -> IntArray:
        """The place of each pair of subjects among those of the axes."""
        return np.searchsorted(self.axes.pairs, self.one * len(self.axes.subjects) + self.other)

    @cached_property
    def are_across(self) -> BoolArray:
        """Whether both subjects have groups that differ."""
        return np.asarray(self.axes.across[self.one, self.other])


def counts_of_places(places: IntArray, units: int) -> PlacesAndCounts:
    """Returns places among some units, and how often each unit is there, shape (units,)."""
    return places, np.bincount(places, minlength=units)


def interleave_sides(one: NDArray[Number], other: NDArray[Number]) -> NDArray[Number]:
    """Returns numbers of x1 and of x2, swap group by swap group, shape (2 groups,).

    In this order sums do not depend on where a cell is divided.
    """
    return np.column_stack([one, other]).reshape(-1)


class AxesOfParts:
    """Finds the axes of swap groups that come part by part.

    Attributes:
        count: how many there were.
    """

    def __init__(self) -> None:
        self.count = 0
        self._pairs: pl.DataFrame | None = None
        self._attributes: pl.DataFrame | None = None
        self._units: IntArray = np.zeros(0, dtype=np.int64)

    def add(self, observations: pl.DataFrame) -> None:
        """Adds a part, from `observe.compare_subjects`."""
        self.count += len(observations)
        self._pairs = add_distinct(self._pairs, observations.select(PAIR_COLUMNS))
        self._attributes = add_distinct(self._attributes, observations.select(ATTRIBUTE_COLUMNS))
        self._units = np.union1d(self._units, template_units(observations))

    @property
    def axes(self) -> Axes:
        """The axes of all parts; there must be a part."""
        if self._pairs is None or self._attributes is None:
            raise ValueError("no part was added")
        return Axes.of(self._pairs, self._attributes, self._units)


def add_distinct(known: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame:
    """Adds rows of names to distinct ones, in the order of their first appearance.

    Args:
        known: the distinct rows so far, None at first.
        rows: the rows to add.
    """
    distinct = rows.select(pl.all().cast(pl.Categorical)).unique(maintain_order=True)
    if known is None:
        return distinct
    return pl.concat([known, distinct]).unique(maintain_order=True)


class AnsweredGroups:
    """The swap groups of a cell that were answered, part by part.

    Attributes:
        observations: all observations, part by part.
        attributes: which attributes the tokenizer does not know; their swap groups count nowhere.
        asked: how many other swap groups there are.
        count: how many of them were answered.
    """

    def __init__(self, observations: Observations):
        """Goes through the observations of a cell, from `observe.observe`."""
        self.observations = parts_of_observations(observations)
        self.attributes, self.asked, self.answered = find_in_parts(observations, find_answered)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yields them; some parts may be empty."""
        for part in self.observations:
            yield answered_groups(self.attributes.of(part))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.answered.count

    @cached_property
    def axes(self) -> Axes:
        """Their subjects, attributes and templates."""
        return self.answered.axes


def find_answered(parts: Iterable[pl.DataFrame]) -> tuple[KnownAttributes, int, AxesOfParts]:
    """Finds the attributes that are known, and the swap groups about them that were answered.

    Returns:
        The attributes, the number of swap groups about them, and the axes of the answered ones.
    """
    asked, answered = 0, AxesOfParts()
    attributes = find_known_attributes(parts)
    for part in parts:
        about_known = attributes.of(part)
        asked += len(about_known)
        answered.add(answered_groups(about_known))
    return attributes, asked, answered


def axes_of(parts: Iterable[pl.DataFrame]) -> Axes:
    """Returns the axes of all swap groups in some parts; see `AxesOfParts`."""
    axes_of_parts = AxesOfParts()
    for part in parts:
        axes_of_parts.add(part)
    return axes_of_parts.axes


def values_of_codes(codes: IntArray, values: IntArray, count: int) -> IntArray:
    """Returns the value of each code from 0 to `count`, -1 if it has none."""
    value_of = np.full(count, -1, dtype=np.int64)
    value_of[codes] = values
    return value_of


def second_list(codes: IntArray, group_of: IntArray) -> BoolArray:
    """Returns whether each subject is of a second list.

    The subjects of a second list are compared with those of the first alone. Pairs do not tell of
    lists, so two groups that always meet count as two lists, and so do subjects that are only ever
    x1 or x2.

    Args:
        codes: shape (2 pairs,), x1 of all pairs and below x2.
        group_of: shape (subjects,), the group of each subject, -1 if it has none.
    """
    x1, x2 = np.split(codes, 2)
    subject_groups = np.unique(group_of)
    have_two_groups = len(subject_groups) == 2 and subject_groups[0] >= 0
    if have_two_groups and (group_of[x1] != group_of[x2]).all():
        return np.asarray(group_of == subject_groups[1])
    is_second = np.zeros(len(group_of), dtype=np.bool_)
    # A single pair is no two lists.
    if len(group_of) > 2 and not np.isin(x1, x2).any():
        is_second[np.unique(x2)] = True
    return is_second


def enumerate_names(table: pl.DataFrame, one: str, other: str) -> NamesAndCodes:
    """Returns the names in two columns, and the columns as places in these names.

    Args:
        table: the table.
        one: a column.
        other: the other column, or the same.

    Returns:
        The names in alphabetical order, so that places do not depend on tables that were read
        before; and the places of the first column and below of the other one, -1 for null.
    """
    both = pl.concat([table[name].cast(pl.Categorical).rename("name") for name in (one, other)])
    names = both.unique().drop_nulls().cast(pl.String).sort()
    return names, places_of_names(names)[numbers_of_names(both)]


def places_of_names(names: pl.Series) -> IntArray:
    """Returns the place of each name by its number in polars, and behind them -1 for null."""
    numbers = numbers_of_names(names)
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int64)
    places[numbers] = np.arange(len(names))
    return places


def numbers_of_names(names: pl.Series) -> IntArray:
    """Returns the numbers that polars gives to names in this process, -1 for nulls."""
    return names.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
