"""The axes of a cell: its subjects, attributes and templates, and the places of swap groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.cell import Observations, find_in_parts, parts_of_observations
from biasgrid.families.underspecified.observe import UNKNOWN_TEXT, answered_groups
from biasgrid.stats.clusters import index_templates, template_units

SideNumber = TypeVar("SideNumber", np.int64, np.float64)
PAIR_COLUMNS = ["subject1", "subject2", "group1", "group2"]
ATTRIBUTE_COLUMNS = ["attribute", "attribute_group"]


class NamedCodes(NamedTuple):
    """Names, and the position of each thing in them, -1 for a thing without a name.

    Attributes:
        distinct_names: the names in alphabetical order, without null.
        codes: shape (things,), positions in `distinct_names`.
    """

    distinct_names: pl.Series
    codes: IntArray


class UnitPlaces(NamedTuple):
    """The unit of each row, and the number of rows of each unit.

    Attributes:
        places: shape (rows,), positions of units.
        counts: shape (units,), how often each position is in `places`.
    """

    places: IntArray
    counts: IntArray


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
    subject_groups: NamedCodes
    attribute_groups: NamedCodes
    firsts: int | None
    units: IntArray
    pairs: IntArray

    @property
    def templates(self) -> list[str]:
        """The names of the templates."""
        return index_templates(self.units)[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many subjects, attributes and templates there are."""
        return len(self.subjects), len(self.attributes), len(self.units)

    @cached_property
    def across(self) -> BoolArray:
        """Whether two subjects have groups that differ, shape (subjects, partners)."""
        group = self.subject_groups.codes
        has_group = group >= 0
        return np.asarray((group[:, None] != group) & has_group[:, None] & has_group)

    @cached_property
    def are_across(self) -> bool:
        """Whether the subjects of every pair have groups that differ."""
        return bool(self.across.reshape(-1)[self.pairs].all())

    @property
    def groups_by_name(self) -> pl.DataFrame:
        """`subject` and `subject_group` of every subject, null if it has none, sorted by name."""
        names, codes = self.subject_groups
        groups = names.gather(pl.Series(codes).replace(-1, None))
        return pl.DataFrame({"subject": self.subjects, "subject_group": groups}).sort("subject")

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """The places of subjects and of attributes; see `name_places`."""
        return name_places(self.subjects), name_places(self.attributes)

    def subject_places(self, subjects: pl.Series) -> IntArray:
        """Returns the positions of subjects in `subjects`; all of them must be there."""
        return np.asarray(self.places[0][category_numbers(subjects)])

    def attribute_places(self, attributes: pl.Series) -> IntArray:
        """Returns the positions of attributes in `attributes`; all of them must be there."""
        return np.asarray(self.places[1][category_numbers(attributes)])

    def swap_groups(self, observations: pl.DataFrame) -> SwapGroups:
        """Finds the places of swap groups.

        Args:
            observations: from `observe.compare_subjects`, of these subjects, attributes and
                templates.
        """
        return SwapGroups(
            self,
            self.subject_places(observations["subject1"]),
            self.subject_places(observations["subject2"]),
            self.attribute_places(observations["attribute"]),
            np.searchsorted(self.units, template_units(observations)),
        )


@dataclass(frozen=True)
class SwapGroups:
    """The places of swap groups in the axes of their cell.

    Attributes:
        axes: the axes.
        x1: shape (groups,), the subject x1.
        x2: shape (groups,), the subject x2.
        attribute: shape (groups,).
        template: shape (groups,).
    """

    axes: Axes
    x1: IntArray
    x2: IntArray
    attribute: IntArray
    template: IntArray

    def __len__(self) -> int:
        return len(self.x1)

    def only(self, is_kept: BoolArray) -> SwapGroups:
        """Returns the swap groups where `is_kept`, shape (groups,), is true; itself if all are."""
        if is_kept.all():
            return self
        places = (self.x1, self.x2, self.attribute, self.template)
        return SwapGroups(self.axes, *(place[is_kept] for place in places))

    @cached_property
    def in_templates(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, attributes, templates).

        See `interleave_sides`.
        """
        _, attributes, templates = self.axes.shape
        question = self.attribute * templates + self.template
        subject_stride = attributes * templates
        return interleave_sides(
            self.x1 * subject_stride + question, self.x2 * subject_stride + question
        )

    @cached_property
    def in_partners(self) -> IntArray:
        """The places of both sides in an array of shape (subjects, partners, attributes).

        See `interleave_sides`.
        """
        subjects, attributes, _ = self.axes.shape
        forward = self.x1 * subjects + self.x2
        backward = self.x2 * subjects + self.x1
        return interleave_sides(
            forward * attributes + self.attribute, backward * attributes + self.attribute
        )

    @cached_property
    def template_index(self) -> UnitPlaces:
        """The template of each swap group."""
        return UnitPlaces(self.template, np.bincount(self.template, minlength=self.axes.shape[2]))

    @cached_property
    def subject_index(self) -> UnitPlaces:
        """Both subjects of each swap group, shape (2 groups,); see `interleave_sides`."""
        both = interleave_sides(self.x1, self.x2)
        return UnitPlaces(both, np.bincount(both, minlength=self.axes.shape[0]))

    @cached_property
    def attribute_index(self) -> UnitPlaces:
        """The attribute of each swap group."""
        return UnitPlaces(self.attribute, np.bincount(self.attribute, minlength=self.axes.shape[1]))

    @cached_property
    def pair(self) -> IntArray:
        """The position of each pair in `Axes.pairs`, shape (groups,)."""
        return np.searchsorted(self.axes.pairs, self.x1 * len(self.axes.subjects) + self.x2)

    @cached_property
    def are_across(self) -> BoolArray:
        """Whether both subjects have groups that differ."""
        return np.asarray(self.axes.across[self.x1, self.x2])


def interleave_sides(x1: NDArray[SideNumber], x2: NDArray[SideNumber]) -> NDArray[SideNumber]:
    """Returns numbers of x1 and of x2, swap group by swap group, shape (2 groups,).

    In this order sums do not depend on where a cell is divided.
    """
    return np.column_stack([x1, x2]).reshape(-1)


class AxesFinder:
    """Finds the axes of swap groups that come part by part.

    Attributes:
        group_count: the number of swap groups so far.
        pairs: the distinct `PAIR_COLUMNS`, in the order of their first appearance.
        attributes: the same of `ATTRIBUTE_COLUMNS`.
        units: the units of templates, each once, sorted.
    """

    def __init__(self, parts: Iterable[pl.DataFrame] = ()) -> None:
        """Begins with the swap groups of some parts, from `observe.compare_subjects`."""
        self.group_count = 0
        self.pairs = pl.DataFrame(schema=dict.fromkeys(PAIR_COLUMNS, pl.Categorical))
        self.attributes = pl.DataFrame(schema=dict.fromkeys(ATTRIBUTE_COLUMNS, pl.Categorical))
        self.units: IntArray = np.zeros(0, dtype=np.int64)
        for part in parts:
            self.add(part)

    def add(self, observations: pl.DataFrame) -> None:
        """Adds a part, from `observe.compare_subjects`."""
        self.group_count += len(observations)
        self.pairs = with_distinct(self.pairs, observations)
        self.attributes = with_distinct(self.attributes, observations)
        self.units = np.union1d(self.units, template_units(observations))

    @property
    def axes(self) -> Axes:
        """The axes of all parts."""
        names, codes = enumerate_names(self.pairs, "subject1", "subject2")
        subject_groups, group_codes = enumerate_names(self.pairs, "group1", "group2")
        group_of_subject = values_by_code(codes, group_codes, len(names))
        is_second = second_list(codes, group_of_subject)
        # The first list comes before the second one.
        order = np.argsort(is_second, kind="stable")
        x1, x2 = np.split(np.argsort(order)[codes], 2)
        attributes, attribute_codes = enumerate_names(self.attributes, "attribute")
        attribute_groups, codes_of_groups = enumerate_names(self.attributes, "attribute_group")
        group_of_attribute = values_by_code(attribute_codes, codes_of_groups, len(attributes))
        return Axes(
            subjects=names.gather(order),
            attributes=attributes,
            subject_groups=NamedCodes(subject_groups, group_of_subject[order]),
            attribute_groups=NamedCodes(attribute_groups, group_of_attribute),
            firsts=int((~is_second).sum()) if is_second.any() else None,
            units=self.units,
            pairs=np.unique(x1 * len(names) + x2),
        )


def with_distinct(earlier_rows: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Adds rows of names to distinct ones, in the order of their first appearance.

    Args:
        earlier_rows: the distinct rows so far.
        rows: a table with the same columns, whose rows are added.
    """
    names = rows.select(pl.col(earlier_rows.columns).cast(pl.Categorical))
    distinct = names.unique(maintain_order=True)
    return pl.concat([earlier_rows, distinct]).unique(maintain_order=True)


def values_by_code(codes: IntArray, values: IntArray, code_count: int) -> IntArray:
    """Returns the value of each code from 0 to `count`, -1 if it has none."""
    by_code = np.full(code_count, -1, dtype=np.int64)
    by_code[codes] = values
    return by_code


def second_list(codes: IntArray, group_codes: IntArray) -> BoolArray:
    """Returns whether each subject is of a second list.

    The subjects of a second list are compared with those of the first alone. Pairs do not tell of
    lists, so two groups that always meet count as two lists, and so do subjects that are only ever
    x1 or x2.

    Args:
        codes: shape (2 pairs,), x1 of all pairs, then x2 of all pairs.
        group_codes: shape (subjects,), the group of each subject, -1 if it has none.
    """
    x1, x2 = np.split(codes, 2)
    subject_groups = np.unique(group_codes)
    have_two_groups = len(subject_groups) == 2 and subject_groups[0] >= 0
    if have_two_groups and (group_codes[x1] != group_codes[x2]).all():
        return np.asarray(group_codes == subject_groups[1])
    is_second = np.zeros(len(group_codes), dtype=np.bool_)
    # A single pair is no two lists.
    if len(group_codes) > 2 and not np.isin(x1, x2).any():
        is_second[x2] = True
    return is_second


def enumerate_names(table: pl.DataFrame, *columns: str) -> NamedCodes:
    """Returns the names in columns, and the columns as places in these names, one below the other.

    Names are in alphabetical order, so that places do not depend on tables that were read before.
    """
    names_of_columns = [table[column].rename("name") for column in columns]
    every_name = pl.concat(names_of_columns)
    names = every_name.unique().drop_nulls().cast(pl.String).sort()
    return NamedCodes(names, name_places(names)[category_numbers(every_name)])


def name_places(distinct_names: pl.Series) -> IntArray:
    """Returns the position of each name by its number in polars.

    The last place holds -1, so that the number of a null, -1, finds it.
    """
    numbers = category_numbers(distinct_names)
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int64)
    places[numbers] = np.arange(len(distinct_names))
    return places


def category_numbers(name_column: pl.Series) -> IntArray:
    """Returns the numbers that polars gives to names in this process, -1 for nulls."""
    return name_column.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


# Swap groups that were answered, about attributes that a tokenizer knows


class KnownAttributes(NamedTuple):
    """Which attributes of a cell a tokenizer knows.

    Attributes:
        left_out: the attributes all of whose swap groups have text that it does not know; none if
            it knows no attribute, since then the templates or subjects may be unknown.
        total: how many attributes there are.
    """

    left_out: tuple[str, ...]
    total: int

    @property
    def are_known(self) -> pl.Expr:
        """Whether the attribute of each row is not left out."""
        return ~pl.col("attribute").cast(pl.String).is_in(self.left_out)

    def known_rows(self, part: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of a table about attributes that are not left out."""
        return part.filter(self.are_known) if self.left_out else part


def find_known_attributes(parts: Iterable[pl.DataFrame]) -> KnownAttributes:
    """Finds the attributes that a tokenizer knows.

    Args:
        parts: the observations of a cell, part by part. If they do not have `UNKNOWN_TEXT`, all
            attributes count as known, and the total as 0.
    """
    is_unknown: dict[str, bool] = {}
    for part in parts:
        if UNKNOWN_TEXT not in part.columns:
            return KnownAttributes((), 0)
        attributes = part.group_by(pl.col("attribute").cast(pl.String))
        for attribute, are_all in attributes.agg(pl.col(UNKNOWN_TEXT).all()).iter_rows():
            is_unknown[attribute] = is_unknown.get(attribute, True) and are_all
    unknown = sorted(attribute for attribute, are_all in is_unknown.items() if are_all)
    left_out = tuple(unknown) if len(unknown) < len(is_unknown) else ()
    return KnownAttributes(left_out, len(is_unknown))


class AnsweredGroups:
    """The swap groups of a cell that were answered, part by part.

    Attributes:
        observations: all observations, part by part.
        attributes: which attributes the tokenizer does not know; their swap groups count nowhere.
        group_count: the number of all other swap groups.
        answered_count: the number of these that were answered.
    """

    def __init__(self, observations: Observations) -> None:
        """Goes through the observations of a cell, from `observe.observe`."""
        self.observations = parts_of_observations(observations)
        self.attributes, self.group_count, self.answered_axes = find_in_parts(
            observations, find_answered
        )
        self.answered_count = self.answered_axes.group_count

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yields them; some parts may be empty."""
        for part in self.observations:
            yield answered_groups(self.attributes.known_rows(part))

    @cached_property
    def axes(self) -> Axes:
        """Their subjects, attributes and templates."""
        return self.answered_axes.axes


def find_answered(parts: Iterable[pl.DataFrame]) -> tuple[KnownAttributes, int, AxesFinder]:
    """Finds the attributes that are known, and the swap groups about them that were answered.

    Returns:
        The attributes, the number of swap groups about them, and the axes of the answered ones.
    """
    group_count, answered_axes = 0, AxesFinder()
    attributes = find_known_attributes(parts)
    for part in parts:
        about_known = attributes.known_rows(part)
        group_count += len(about_known)
        answered_axes.add(answered_groups(about_known))
    return attributes, group_count, answered_axes
