"""Swap groups as arrays, and what is summed over them by subject, partner, attribute and template."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.clusters import number_templates, template_units

NamesAndCodes = tuple[pl.Series, IntArray]
"""Names, and of each thing its place among them, -1 where it has none."""


@dataclass(frozen=True)
class SwapGroups:
    """The swap groups of a cell, all answered.

    Attributes:
        subjects: names of subjects, of two lists those of the first before those of the second.
        attributes: names of attributes.
        groups: names of the groups of subjects, and that of each subject.
        attribute_groups: the same of attributes.
        firsts: of two lists, how many subjects are of the first; None for one list.
        one: shape (groups,), the subject x1.
        other: shape (groups,), the subject x2.
        attribute: shape (groups,).
        template: shape (groups,), the place of its template.
        templates: the names of the templates that there are, each in its prompt format; see
            `stats.clusters.template_units`.
        comparison: shape (groups,), C(x1, x2).
    """

    subjects: pl.Series
    attributes: pl.Series
    subject_groups: NamesAndCodes
    attribute_groups: NamesAndCodes
    firsts: int | None
    one: IntArray
    other: IntArray
    attribute: IntArray
    template: IntArray
    templates: list[str]
    comparison: FloatArray

    @classmethod
    def of(cls, observations: pl.DataFrame) -> SwapGroups:
        """Looks at the observations of a cell.

        Args:
            observations: from `observe.compare_subjects`, those that were answered.
        """
        names, codes = name_codes(observations, "subject1", "subject2")
        subject_groups, of_codes = name_codes(observations, "group1", "group2")
        group_of = values_of_codes(codes, of_codes, len(names))
        is_second = second_list(codes, group_of)
        order = np.argsort(is_second, kind="stable")
        one, other = np.split(np.argsort(order)[codes], 2)
        attributes, attribute = name_codes(observations, "attribute", "attribute")
        sorts, of_attributes = name_codes(observations, "attribute_group", "attribute_group")
        template, templates = number_templates(template_units(observations))
        return cls(
            subjects=names.gather(order),
            attributes=attributes,
            subject_groups=(subject_groups, group_of[order]),
            attribute_groups=(sorts, values_of_codes(attribute, of_attributes, len(attributes))),
            firsts=int((~is_second).sum()) if is_second.any() else None,
            one=one,
            other=other,
            attribute=attribute[: len(observations)],
            template=template,
            templates=templates,
            comparison=observations["comparison"].to_numpy(),
        )

    def only(self, chosen: BoolArray) -> SwapGroups:
        """Returns some of the swap groups, of the same subjects, attributes and templates."""
        if chosen.all():
            return self
        columns = ("one", "other", "attribute", "template", "comparison")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """How many subjects, partners, attributes and templates there are."""
        return len(self.subjects), len(self.subjects), len(self.attributes), len(self.templates)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        return tuple(  # type: ignore[return-value]
            np.ravel_multi_index((x, y, self.attribute, self.template), self.shape)
            for x, y in ((self.one, self.other), (self.other, self.one))
        )

    def sums(self, forward: FloatArray | None, backward: FloatArray | None) -> SumsOfSubjects:
        """Sums what is seen from either subject.

        Args:
            forward: shape (groups,), what x1 sees; None to count.
            backward: shape (groups,), what x2 sees.
        """
        size = int(np.prod(self.shape))
        there, back = (
            np.bincount(place, values, minlength=size)
            for place, values in zip(self._places, (forward, backward), strict=True)
        )
        there += back
        sums = there.reshape(self.shape).astype(np.float64, copy=False)
        return SumsOfSubjects.of(sums, None if self.are_across else self.across)

    @cached_property
    def counts(self) -> SumsOfSubjects:
        """How many comparisons there are."""
        return self.sums(None, None)

    @property
    def across(self) -> BoolArray:
        """Which subjects have groups that differ, shape (subjects, partners)."""
        group = self.subject_groups[1]
        return np.asarray((group[:, None] != group) & (group[:, None] >= 0) & (group >= 0))

    @cached_property
    def are_across(self) -> bool:
        """Whether the subjects of every swap group have groups that differ."""
        return bool(self.across[self.one, self.other].all())


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

    @classmethod
    def of(cls, sums: FloatArray, across: BoolArray | None) -> SumsOfSubjects:
        """Adds up sums.

        Args:
            sums: shape (subjects, partners, attributes, templates).
            across: see `SwapGroups.across`; None where there are no others.
        """
        by_partner = sums.sum(axis=3)
        if across is None:
            by_template = sums.sum(axis=1)
            return cls(by_template, by_partner, by_template, by_partner)
        if not across.any():
            nothing = np.zeros_like
            by_template = sums.sum(axis=1)
            return cls(by_template, by_partner, nothing(by_template), nothing(by_partner))
        others = sums * across[:, :, None, None]
        return cls(sums.sum(axis=1), by_partner, others.sum(axis=1), by_partner * across[:, :, None])


def name_codes(observations: pl.DataFrame, one: str, other: str) -> NamesAndCodes:
    """Returns what `enumerate_names` does, in 64 bits."""
    names, codes = enumerate_names(observations, one, other)
    return names, codes.astype(np.int64)


def values_of_codes(codes: IntArray, values: IntArray, count: int) -> IntArray:
    """Returns the value of each code, -1 where it has none."""
    found = np.full(count, -1, dtype=np.int64)
    found[codes] = values
    return found


def second_list(codes: IntArray, group_of: IntArray) -> BoolArray:
    """Says of each subject whether it is of a second list, whose subjects are compared with those of the first alone.

    Args:
        codes: shape (2 groups,), x1 of all groups and below x2.
        group_of: shape (subjects,).
    """
    one, other = np.split(codes, 2)
    second = np.zeros(len(group_of), dtype=np.bool_)
    subject_groups = np.unique(group_of)
    if len(subject_groups) == 2 and subject_groups[0] >= 0 and (group_of[one] != group_of[other]).all():
        second = group_of == subject_groups[1]
    elif len(group_of) > 2 and not np.isin(one, other).any():
        second[np.unique(other)] = True
    return second


def enumerate_names(observations: pl.DataFrame, one: str, other: str) -> tuple[pl.Series, npt.NDArray[np.int32]]:
    """Returns the names in two columns in alphabetical order, and the columns, one below the other, as places in them.

    Places do not depend on what was read before; nulls are -1.
    """
    columns = [observations[name].cast(pl.Categorical) for name in (one, other)]
    seen = pl.concat([column.unique() for column in columns]).unique().drop_nulls()
    names, numbers = seen.cast(pl.String), seen.to_physical().to_numpy()
    order = names.arg_sort()
    # A place for each number that polars knows a name by, and behind them one for null.
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int32)
    places[numbers[order.to_numpy()]] = np.arange(len(names))
    codes = [places[column.to_physical().fill_null(len(places) - 1).to_numpy()] for column in columns]
    return names.gather(order), np.concatenate(codes)
