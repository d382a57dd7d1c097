"""Swap groups as arrays, and what is summed over them: by parts of a cell, such as groups of subjects; and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.groups.records import Records, SubjectOutputs
from biasgrid.groups.terms import records_of
from biasgrid.stats.clusters import number_templates, template_units
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums, sum_units

NamesAndCodes = tuple[pl.Series, IntArray]
"""Names, and of each thing its place among them, -1 where it has none."""
ASSOCIATION = ("subject", "attribute")
PART_KEYS = ("subject", "subject_group", "attribute", "attribute_group")
COMPARED_PARTS = (["subject"], ["subject", "attribute"])
"""The kinds of parts that models are compared by."""
KEYS_OF_PARTS = [
    ["subject", "attribute"],
    ["subject"],
    ["subject_group", "attribute"],
    ["subject_group"],
    ["subject", "attribute_group"],
    ["subject_group", "attribute_group"],
]


@dataclass(frozen=True)
class SwapGroups:
    """The swap groups of a cell, all answered.

    Attributes:
        subjects: names of subjects, of two lists those of the first before those of the second.
        attributes: names of attributes.
        subject_groups: names of the groups of subjects, and that of each subject.
        attribute_groups: the same of attributes.
        firsts: of two lists, how many subjects are of the first; None for one list.
        one: shape (groups,), the subject x1.
        other: shape (groups,), the subject x2.
        attribute: shape (groups,).
        template: shape (groups,), the place of its template.
        templates: the names of the templates that there are, each in its prompt format; see
            `stats.clusters.template_units`.
        comparison: shape (groups,), C(x1, x2).
        asked: where these are some alone, all of them.
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
    asked: SwapGroups | None = None

    @classmethod
    def of(cls, observations: pl.DataFrame) -> SwapGroups:
        """Looks at the observations of a cell.

        Args:
            observations: from `observe.compare_subjects`, those that were answered.
        """
        names, codes = enumerate_names(observations, "subject1", "subject2")
        subject_groups, of_codes = enumerate_names(observations, "group1", "group2")
        group_of = values_of_codes(codes, of_codes, len(names))
        is_second = second_list(codes, group_of)
        order = np.argsort(is_second, kind="stable")
        one, other = np.split(np.argsort(order)[codes], 2)
        attributes, attribute = enumerate_names(observations, "attribute", "attribute")
        sorts, of_attributes = enumerate_names(observations, "attribute_group", "attribute_group")
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
        """Returns some of the swap groups, of the same subjects, attributes and templates; the others are left out."""
        if chosen.all():
            return self
        columns = ("one", "other", "attribute", "template", "comparison")
        return replace(self, asked=self.asked or self, **{name: getattr(self, name)[chosen] for name in columns})

    @property
    def left_out(self) -> int:
        """How many are left out."""
        return len(self.asked.one) - len(self.one) if self.asked else 0

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
        by_template, by_partner = sums.sum(axis=1), sums.sum(axis=3)
        if across is None:
            return cls(by_template, by_partner, by_template, by_partner)
        others = sums * across[:, :, None, None]
        return cls(by_template, by_partner, others.sum(axis=1), by_partner * across[:, :, None])


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


def enumerate_names(observations: pl.DataFrame, one: str, other: str) -> NamesAndCodes:
    """Returns the names in two columns in alphabetical order, and the columns, one below the other, as places in them.

    Places do not depend on what was read before; nulls are -1.
    """
    columns = [observations[name].cast(pl.Categorical) for name in (one, other)]
    seen = pl.concat([column.unique() for column in columns]).unique().drop_nulls()
    names, numbers = seen.cast(pl.String), seen.to_physical().to_numpy()
    order = names.arg_sort()
    # A place for each number that polars knows a name by, and behind them one for null.
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int64)
    places[numbers[order.to_numpy()]] = np.arange(len(names))
    codes = [places[column.to_physical().fill_null(len(places) - 1).to_numpy()] for column in columns]
    return names.gather(order), np.concatenate(codes)


class PartKind(NamedTuple):
    """Parts that are about the same keys.

    Attributes:
        keys: the keys.
        rows: shape (rows, subjects), which subjects each row takes together.
        columns: shape (columns, attributes), which attributes each column takes together.
        row_names: the names of the rows.
        column_names: those of the columns, none where all attributes are taken together.
    """

    keys: Sequence[str]
    rows: FloatArray
    columns: FloatArray
    row_names: pl.Series
    column_names: pl.Series | None

    @property
    def is_of_subject_groups(self) -> bool:
        """Whether rows are groups of subjects."""
        return "subject_group" in self.keys

    def along(self, sums: SumsOfSubjects) -> dict[str, FloatArray]:
        """Returns by factor sums of shape (rows x columns, units)."""
        of_groups = self.is_of_subject_groups
        by_template = sums.across_by_template if of_groups else sums.by_template
        by_partner = sums.across_by_partner if of_groups else sums.by_partner
        of_rows = np.tensordot(self.rows, by_template, axes=1)
        found = {TEMPLATES: flatten_parts(np.einsum("qa,raf->rqf", self.columns, of_rows, optimize=True))}
        of_subjects = by_partner.sum(axis=1)
        if of_groups:
            found["subjects"] = flatten_parts(self.rows[:, None, :] * (of_subjects @ self.columns.T).T[None])
        of_columns = np.tensordot(by_partner, self.columns.T, axes=1)
        found["others"] = flatten_parts(np.swapaxes(np.tensordot(self.rows, of_columns, axes=1), 1, 2))
        if "attribute" not in self.keys:
            found["attributes"] = flatten_parts((self.rows @ of_subjects)[:, None, :] * self.columns[None])
        return found

    def names(self) -> pl.DataFrame:
        """Returns the keys of all parts, row by row."""
        columns = 1 if self.column_names is None else len(self.column_names)
        found = {self.keys[0]: self.row_names.gather(np.repeat(np.arange(len(self.row_names)), columns))}
        if self.column_names is not None:
            found[self.keys[1]] = self.column_names.gather(np.tile(np.arange(columns), len(self.row_names)))
        return pl.DataFrame(found)


def flatten_parts(sums: FloatArray) -> FloatArray:
    """Returns rows and columns as one axis."""
    return np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])


def part_kinds(groups: SwapGroups) -> Iterator[PartKind]:
    """Yields the kinds of parts that a cell has."""
    subjects = {
        "subject": (np.eye(len(groups.subjects)), groups.subjects),
        "subject_group": (
            membership(groups.subject_groups[1], len(groups.subject_groups[0])),
            groups.subject_groups[0],
        ),
    }
    sorts, sort_of = groups.attribute_groups
    attributes = {
        None: (np.ones((1, len(groups.attributes))), None),
        "attribute": (np.eye(len(groups.attributes)), groups.attributes),
        "attribute_group": (membership(sort_of, len(sorts)), sorts),
    }
    for keys in KEYS_OF_PARTS:
        rows, row_names = subjects[keys[0]]
        columns, column_names = attributes[keys[1] if len(keys) > 1 else None]
        if len(rows) and len(columns):
            yield PartKind(keys, rows, columns, row_names, column_names)


def membership(places: IntArray, count: int) -> FloatArray:
    """Returns which things belong to which of some groups, shape (groups, things)."""
    return np.asarray(np.arange(count)[:, None] == places[None], dtype=np.float64)


def is_compared(sums: Sums) -> bool:
    """Says whether models are compared by parts of a kind."""
    return [key for key in PART_KEYS if key in sums.keys.columns] in COMPARED_PARTS


def sums_of_parts(groups: SwapGroups, forward: FloatArray, backward: FloatArray | None = None) -> Iterator[Sums]:
    """Yields the means of the parts of a cell that have swap groups, kind by kind.

    Two subjects of one group say nothing about it, so groups of subjects leave out their swap groups. Parts of which
    all swap groups are left out have no value.

    Args:
        groups: the swap groups.
        forward: shape (groups,), what x1 sees.
        backward: shape (groups,), what x2 sees; the same with the other sign if it is not given.
    """
    sums = groups.sums(forward, -forward if backward is None else backward)
    units = {
        TEMPLATES: groups.templates,
        "subjects": groups.subjects.to_list(),
        "others": groups.subjects.to_list(),
        "attributes": groups.attributes.to_list(),
    }
    for kind in part_kinds(groups):
        own, counts = kind.along(sums), kind.along(groups.counts)
        n = counts[TEMPLATES].sum(axis=1)
        of_all = kind.along(groups.asked.counts)[TEMPLATES].sum(axis=1) if groups.asked else n
        there = of_all > 0
        along = {
            factor: Along(units[factor], np.stack([own[factor][there], counts[factor][there]], axis=-1))
            for factor in own
        }
        counted = {"n": n, "left_out": of_all - n}
        keys = kind.names().with_columns(pl.Series(name, each.astype(np.int64)) for name, each in counted.items())
        yield Sums(
            keys.filter(pl.Series(there)), along, MEAN, "moderated t",
            compared=False, claims_all=kind.is_of_subject_groups,
        )  # fmt: skip


def mean_over_templates(groups: SwapGroups, values: FloatArray, left_out: int | None = None) -> Sums:
    """Returns a mean over all swap groups that varies with templates alone; see `mean_of_swap_groups`."""
    along = {TEMPLATES: sum_units(values, groups.template, len(groups.templates))._replace(units=groups.templates)}
    counts = {"n": [len(values)], "left_out": [groups.left_out if left_out is None else left_out]}
    keys = pl.DataFrame({"measure": [""], "options": [""], **counts})
    return Sums(keys, along, interval="t")


def mean_of_swap_groups(groups: SwapGroups, values: FloatArray, left_out: int | None = None) -> Sums:
    """Returns a mean over all swap groups; templates of which there is none say nothing.

    Args:
        groups: the swap groups.
        values: shape (groups,).
        left_out: how many more have no value; those that the swap groups leave out if it is not given.
    """
    over_templates = mean_over_templates(groups, values, left_out)
    along = {**over_templates.along}
    names, count = groups.subjects.to_list(), len(groups.subjects)
    sides = sum_units(np.tile(values, 2), np.concatenate([groups.one, groups.other]), count)
    firsts = groups.firsts or count
    along["subjects"] = Along(names[:firsts], sides.sums[:, :firsts])
    if groups.firsts is not None:
        along["others"] = Along(names[firsts:], sides.sums[:, firsts:])
    attributes = groups.attributes.to_list()
    along["attributes"] = sum_units(values, groups.attribute, len(attributes))._replace(units=attributes)
    return replace(over_templates, along=along)


def records_of_subjects(observations: pl.DataFrame) -> Records:
    """Makes records of a cell.

    A case is a template, in one prompt format, with an attribute and a question, plain or negated. Its records are the
    subjects: the score of each is the mean over all that it is paired with, in both orders. Bias types are `subject`,
    each subject a group of its own, and where subjects have groups `subject_group`, with the subjects as terms.

    Args:
        observations: from `compare_subjects`.
    """
    subjects = mean_scores(observations)
    of_subject = subjects.with_columns(bias_type=pl.lit("subject"), group="subject")
    of_subject_group = subjects.drop_nulls("subject_group").with_columns(
        bias_type=pl.lit("subject_group"), group="subject_group"
    )
    records = pl.concat([of_subject, of_subject_group])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        observations: from `compare_subjects`.

    Returns:
        `case`, `template`, `term` and `subject` (both its name), `subject_group`, `score`; by case and subject.
    """
    names, codes = enumerate_names(observations, "subject1", "subject2")
    attributes, attribute = enumerate_names(observations, "attribute", "attribute")
    units, unit = np.unique(template_units(observations), return_inverse=True)
    asked = unit * len(attributes) + attribute[: len(unit)]
    subjects = np.split(codes, 2)
    scores = scores_in_groups(observations)
    size = 2 * (int(asked.max()) + 1) * len(names)
    sums, counts = np.zeros(size), np.zeros(size, dtype=np.int64)
    for order, negated, side in product((0, 1), repeat=3):
        place = (2 * asked + negated) * len(names) + subjects[side]
        sums += np.bincount(place, scores[:, order, negated, side], minlength=size)
        counts += np.bincount(place, minlength=size)
    found = np.flatnonzero(counts)
    case, subject = found // len(names), names.gather(found % len(names))
    means = pl.DataFrame(
        {
            "case": case,
            "template": units[case // 2 // len(attributes)],
            "term": subject,
            "subject": subject,
            "score": sums[found] / counts[found],
        }
    )
    return means.join(subject_groups_of(observations), on="subject", how="left", maintain_order="left")


def subject_groups_of(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns `subject` and `subject_group` of every subject."""
    sides = [observations.select(subject=f"subject{side}", subject_group=f"group{side}").unique() for side in (1, 2)]
    return pl.concat(side.cast(pl.String) for side in sides).unique("subject").sort("subject")
