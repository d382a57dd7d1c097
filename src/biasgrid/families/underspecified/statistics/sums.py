"""Sums over the swap groups of a cell, from which all of its statistics are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.underspecified.measure import enumerate_names
from biasgrid.stats.clusters import clusters_of_templates

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
        cluster: shape (groups,).
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
    cluster: IntArray
    comparison: FloatArray

    @classmethod
    def of(cls, observations: pl.DataFrame, clusters: Sequence[int]) -> SwapGroups:
        """Looks at the observations of a cell.

        Args:
            observations: from `observe.compare_subjects`, those that were answered.
            clusters: the cluster of each template, by number.
        """
        names, codes = name_codes(observations, "subject1", "subject2")
        subject_groups, of_codes = name_codes(observations, "group1", "group2")
        group_of = values_of_codes(codes, of_codes, len(names))
        is_second = second_list(codes, group_of)
        order = np.argsort(is_second, kind="stable")
        one, other = np.split(np.argsort(order)[codes], 2)
        attributes, attribute = name_codes(observations, "attribute", "attribute")
        sorts, of_attributes = name_codes(observations, "attribute_group", "attribute_group")
        return cls(
            subjects=names.gather(order),
            attributes=attributes,
            subject_groups=(subject_groups, group_of[order]),
            attribute_groups=(sorts, values_of_codes(attribute, of_attributes, len(attributes))),
            firsts=int((~is_second).sum()) if is_second.any() else None,
            one=one,
            other=other,
            attribute=attribute[: len(observations)],
            cluster=clusters_of_templates(observations["template"].to_numpy().astype(np.int64), clusters),
            comparison=observations["comparison"].to_numpy(),
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """How many subjects, partners, attributes and clusters there are."""
        return len(self.subjects), len(self.subjects), len(self.attributes), self.clusters

    @cached_property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.cluster.max()) + 1

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        return tuple(  # type: ignore[return-value]
            np.ravel_multi_index((x, y, self.attribute, self.cluster), self.shape)
            for x, y in ((self.one, self.other), (self.other, self.one))
        )

    def sums(self, forward: FloatArray | None, backward: FloatArray | None) -> FloatArray:
        """Sums what is seen from either subject; shape (subjects, partners, attributes, clusters).

        Args:
            forward: shape (groups,), what x1 sees; None to count.
            backward: shape (groups,), what x2 sees.
        """
        size = int(np.prod(self.shape))
        there, back = (
            np.bincount(place, values, minlength=size)
            for place, values in zip(self._places, (forward, backward), strict=True)
        )
        return (there + back).reshape(self.shape).astype(np.float64)

    def sums_of(self, measure: str) -> FloatArray:
        """Returns the sums of C, of its sign, or of whether it is positive: what `measure` is the mean of."""
        if measure == "gamma":
            return self.sums(self.comparison, -self.comparison)
        if measure == "eta":
            sign = np.sign(self.comparison)
            return self.sums(sign, -sign)
        return self.sums((self.comparison > 0).astype(np.float64), (self.comparison < 0).astype(np.float64))

    @cached_property
    def counts(self) -> FloatArray:
        """How many comparisons there are, shape (subjects, partners, attributes, clusters)."""
        return self.sums(None, None)


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
