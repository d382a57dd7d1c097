"""What a cell is asked about: names of subjects, attributes and templates, and where in them each
swap group is.
"""

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
"""Names, and of each thing its place among them, -1 where it has none."""
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
        """Names what there is.

        Args:
            pairs: the distinct `PAIR_COLUMNS` of swap groups.
            attributes: their distinct `ATTRIBUTE_COLUMNS`.
            units: their units of templates, each once, sorted.
        """
        names, codes = enumerate_names(pairs, "subject1", "subject2")
        subject_groups, of_codes = enumerate_names(pairs, "group1", "group2")
        group_of = values_of_codes(codes, of_codes, len(names))
        is_second = second_list(codes, group_of)
        order = np.argsort(is_second, kind="stable")
        one, other = np.split(np.argsort(order)[codes], 2)
        attribute_names, attribute = enumerate_names(attributes, "attribute", "attribute")
        sorts, of_attributes = enumerate_names(attributes, "attribute_group", "attribute_group")
        return cls(
            subjects=names.gather(order),
            attributes=attribute_names,
            subject_groups=(subject_groups, group_of[order]),
            attribute_groups=(
                sorts,
                values_of_codes(attribute, of_attributes, len(attribute_names)),
            ),
            firsts=int((~is_second).sum()) if is_second.any() else None,
            units=units,
            pairs=np.unique(one * len(names) + other),
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
        """Which subjects have groups that differ, shape (subjects, partners)."""
        group = self.subject_groups[1]
        return np.asarray((group[:, None] != group) & (group[:, None] >= 0) & (group >= 0))

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
        one, other = (self.subject_places(observations[name]) for name in ("subject1", "subject2"))
        attribute, template = (
            self.attribute_places(observations["attribute"]),
            template_units(observations),
        )
        return SwapGroups(self, one, other, attribute, np.searchsorted(self.units, template))

    def subject_places(self, names: pl.Series) -> IntArray:
        """Returns the places of subjects."""
        return np.asarray(self._places[0][numbers_of_names(names)])

    def attribute_places(self, names: pl.Series) -> IntArray:
        """Returns the places of attributes."""
        return np.asarray(self._places[1][numbers_of_names(names)])


@dataclass(frozen=True)
class SwapGroups:
    """Where swap groups are in the axes of their cell.

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
        """Returns some of the swap groups."""
        if chosen.all():
            return self
        return SwapGroups(
            self.axes,
            *(each[chosen] for each in (self.one, self.other, self.attribute, self.template)),
        )

    @cached_property
    def in_templates(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, attributes, templates), see
        `side_by_side`.
        """
        _, attributes, templates = self.axes.shape
        asked = self.attribute * templates + self.template
        one, other = (
            subject * attributes * templates + asked for subject in (self.one, self.other)
        )
        return side_by_side(one, other)

    @cached_property
    def in_partners(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, partners, attributes), see
        `side_by_side`.
        """
        subjects, attributes, _ = self.axes.shape
        pairs = self.one * subjects + self.other, self.other * subjects + self.one
        one, other = (pair * attributes + self.attribute for pair in pairs)
        return side_by_side(one, other)

    @cached_property
    def of_units(self) -> tuple[PlacesAndCounts, PlacesAndCounts, PlacesAndCounts]:
        """The places of templates, of both subjects and of attributes, and how often each of them
        is there.
        """
        subjects, attributes, templates = self.axes.shape
        both = side_by_side(self.one, self.other)
        places = (self.template, templates), (both, subjects), (self.attribute, attributes)
        template, subject, attribute = (
            (place, np.bincount(place, minlength=count)) for place, count in places
        )
        return template, subject, attribute

    @cached_property
    def pair(self) -> IntArray:
        """The place of each pair of subjects among those of the axes."""
        return np.searchsorted(self.axes.pairs, self.one * len(self.axes.subjects) + self.other)

    @cached_property
    def are_across(self) -> BoolArray:
        """Whether both subjects have groups that differ."""
        return np.asarray(self.axes.across[self.one, self.other])


def side_by_side(one: NDArray[Number], other: NDArray[Number]) -> NDArray[Number]:
    """Returns what is said of x1 and of x2, swap group by swap group, shape (2 groups,).

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
        self._rows: dict[str, pl.DataFrame] = {}
        self._units: IntArray = np.zeros(0, dtype=np.int64)

    def add(self, observations: pl.DataFrame) -> None:
        """Adds a part, from `observe.compare_subjects`."""
        self.count += len(observations)
        for columns in (PAIR_COLUMNS, ATTRIBUTE_COLUMNS):
            found = observations.select(pl.col(columns).cast(pl.Categorical)).unique(
                maintain_order=True
            )
            known = self._rows.get(columns[0])
            self._rows[columns[0]] = (
                found if known is None else pl.concat([known, found]).unique(maintain_order=True)
            )
        self._units = np.union1d(self._units, template_units(observations))

    @property
    def axes(self) -> Axes:
        """The axes of all parts; there must be a swap group."""
        return Axes.of(self._rows[PAIR_COLUMNS[0]], self._rows[ATTRIBUTE_COLUMNS[0]], self._units)


class AnsweredGroups:
    """The swap groups of a cell that were answered, part by part.

    Attributes:
        observations: all that was observed, part by part.
        attributes: which attributes the tokenizer does not know; their swap groups count nowhere.
        asked: how many other swap groups there are.
        count: how many of them were answered.
    """

    def __init__(self, observations: Observations):
        """Goes through what was observed, from `observe.observe`."""
        self.observations = parts_of_observations(observations)
        self.attributes, self.asked, self.found = find_in_parts(observations, find_answered)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yields them; some parts may be empty."""
        for part in self.observations:
            yield answered_groups(self.attributes.of(part))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.found.count

    @cached_property
    def axes(self) -> Axes:
        """What they are about."""
        return self.found.axes


def find_answered(parts: Iterable[pl.DataFrame]) -> tuple[KnownAttributes, int, AxesOfParts]:
    """Returns which attributes are known, how many swap groups these have, and what the answered
    ones are about.
    """
    asked, found = 0, AxesOfParts()
    attributes = find_known_attributes(parts)
    for each in parts:
        part = attributes.of(each)
        asked += len(part)
        found.add(answered_groups(part))
    return attributes, asked, found


def axes_of(parts: Iterable[pl.DataFrame]) -> Axes:
    """Returns the axes of all swap groups in some parts; see `AxesOfParts`."""
    found = AxesOfParts()
    for part in parts:
        found.add(part)
    return found.axes


def values_of_codes(codes: IntArray, values: IntArray, count: int) -> IntArray:
    """Returns the value of each code, -1 where it has none."""
    found = np.full(count, -1, dtype=np.int64)
    found[codes] = values
    return found


def second_list(codes: IntArray, group_of: IntArray) -> BoolArray:
    """Says of each subject whether it is of a second list, whose subjects are compared with those
    of the first alone.

    Args:
        codes: shape (2 pairs,), x1 of all pairs and below x2.
        group_of: shape (subjects,).
    """
    one, other = np.split(codes, 2)
    second = np.zeros(len(group_of), dtype=np.bool_)
    subject_groups = np.unique(group_of)
    if (
        len(subject_groups) == 2
        and subject_groups[0] >= 0
        and (group_of[one] != group_of[other]).all()
    ):
        second = group_of == subject_groups[1]
    elif len(group_of) > 2 and not np.isin(one, other).any():
        second[np.unique(other)] = True
    return second


def enumerate_names(table: pl.DataFrame, one: str, other: str) -> NamesAndCodes:
    """Returns the names in two columns in alphabetical order, and the columns, one below the other,
    as places in them.

    Places do not depend on what was read before; nulls are -1.
    """
    both = pl.concat([table[name].cast(pl.Categorical).rename("name") for name in (one, other)])
    names = both.unique().drop_nulls().cast(pl.String).sort()
    return names, places_of_names(names)[numbers_of_names(both)]


def places_of_names(names: pl.Series) -> IntArray:
    """Returns the place of each name by the number that polars knows it by; behind them -1 for
    null.
    """
    numbers = numbers_of_names(names)
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int64)
    places[numbers] = np.arange(len(names))
    return places


def numbers_of_names(names: pl.Series) -> IntArray:
    """Returns the numbers that polars knows names by in this process, -1 for nulls."""
    return names.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
