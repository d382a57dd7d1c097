"""The parts of a cell, such as groups of subjects, and the sums from which numbers are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.underspecified.tallies.axes import Axes
from biasgrid.families.underspecified.tallies.sums import MeanTally, SumsOfSubjects
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums

CountsOfParts = Sequence[Mapping[str, FloatArray]]
"""Numbers of swap groups of each part of a cell, by kind and factor; see `PartKind.along`."""
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


class PartKind(NamedTuple):
    """Parts that are about the same keys.

    Attributes:
        keys: the keys.
        rows: shape (rows, subjects), which subjects each row takes together; None where each
            subject is a row.
        columns: shape (columns, attributes), which attributes each column takes together; None
            where each is a column.
        row_names: the names of the rows.
        column_names: the names of the columns, None where all attributes are taken together.
    """

    keys: Sequence[str]
    rows: FloatArray | None
    columns: FloatArray | None
    row_names: pl.Series
    column_names: pl.Series | None

    @property
    def is_of_subject_groups(self) -> bool:
        """Whether rows are groups of subjects."""
        return "subject_group" in self.keys

    def along(self, sums: SumsOfSubjects) -> dict[str, FloatArray]:
        """Adds up the sums of subjects to those of parts, by factor.

        Returns:
            Arrays of shape (rows x columns, units). The factor `subjects` is there only if rows
            take subjects together, and `attributes` only if columns take attributes together.
        """
        by_template, by_partner = sums.by_template, sums.by_partner
        if self.is_of_subject_groups:
            by_template, by_partner = sums.across_by_template, sums.across_by_partner
        by_attribute = by_partner.sum(axis=1)
        templates = taken_together(self.rows, by_template)
        partners = by_partner
        if self.columns is not None:
            templates = np.einsum("qa,raf->rqf", self.columns, templates, optimize=True)
            partners = np.tensordot(by_partner, self.columns.T, axes=1)
        factors = {TEMPLATES: flatten_parts(templates)}
        if self.rows is not None:
            of_subjects = by_attribute.T
            if self.columns is not None:
                of_subjects = (by_attribute @ self.columns.T).T
            factors["subjects"] = flatten_parts(self.rows[:, None, :] * of_subjects[None])
        others = np.swapaxes(taken_together(self.rows, partners), 1, 2)
        factors["others"] = flatten_parts(others)
        if self.columns is not None:
            of_rows = taken_together(self.rows, by_attribute)
            factors["attributes"] = flatten_parts(of_rows[:, None, :] * self.columns[None])
        return factors

    def names(self) -> pl.DataFrame:
        """Returns the keys of all parts, row by row."""
        rows = np.arange(len(self.row_names))
        if self.column_names is None:
            return pl.DataFrame({self.keys[0]: self.row_names.gather(rows)})
        columns = np.arange(len(self.column_names))
        row_names = self.row_names.gather(np.repeat(rows, len(columns)))
        column_names = self.column_names.gather(np.tile(columns, len(rows)))
        return pl.DataFrame({self.keys[0]: row_names, self.keys[1]: column_names})


def taken_together(rows: FloatArray | None, sums: FloatArray) -> FloatArray:
    """Adds up the sums of the subjects of each row, shape (rows, ...); see `PartKind`."""
    return sums if rows is None else np.tensordot(rows, sums, axes=1)


def flatten_parts(sums: FloatArray) -> FloatArray:
    """Returns rows and columns as one axis."""
    return np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])


def part_kinds(axes: Axes) -> Iterator[PartKind]:
    """Yields the kinds of parts that a cell has."""
    subject_groups, group_of_subject = axes.subject_groups
    attribute_groups, group_of_attribute = axes.attribute_groups
    groups_of_subjects = membership(group_of_subject, len(subject_groups))
    groups_of_attributes = membership(group_of_attribute, len(attribute_groups))
    all_attributes = np.ones((1, len(axes.attributes)))
    subjects = {
        "subject": (None, axes.subjects),
        "subject_group": (groups_of_subjects, subject_groups),
    }
    attributes = {
        None: (all_attributes, None),
        "attribute": (None, axes.attributes),
        "attribute_group": (groups_of_attributes, attribute_groups),
    }
    for keys in KEYS_OF_PARTS:
        rows, row_names = subjects[keys[0]]
        columns, column_names = attributes[keys[1] if len(keys) > 1 else None]
        if len(row_names) and (column_names is None or len(column_names)):
            yield PartKind(keys, rows, columns, row_names, column_names)


def membership(places: IntArray, count: int) -> FloatArray:
    """Returns 1 where a thing belongs to a group, else 0, shape (groups, things).

    Args:
        places: shape (things,), the group of each, -1 if it has none.
        count: how many groups there are.
    """
    return np.asarray(np.arange(count)[:, None] == places[None], dtype=np.float64)


def is_compared(sums: Sums) -> bool:
    """Whether models are compared by parts of a kind."""
    return [key for key in PART_KEYS if key in sums.keys.columns] in COMPARED_PARTS


def counts_of_parts(axes: Axes, counts: SumsOfSubjects) -> CountsOfParts:
    """Returns the counts of the parts of a cell, kind by kind and by factor.

    Many measures share them.
    """
    return [kind.along(counts) for kind in part_kinds(axes)]


def sums_of_parts(
    axes: Axes, sums: SumsOfSubjects, counts: CountsOfParts, asked: CountsOfParts | None = None
) -> Iterator[Sums]:
    """Yields the means of the parts of a cell that have swap groups, kind by kind.

    Two subjects of one group say nothing about it, so groups of subjects leave out their swap
    groups. Parts of which all swap groups are left out have no value.

    Args:
        axes: the axes of the cell.
        sums: the sums of subjects.
        counts: the numbers of swap groups that are in the sums.
        asked: the numbers of all swap groups, None if all are in the sums.
    """
    units = {
        TEMPLATES: axes.templates,
        "subjects": axes.subjects.to_list(),
        "others": axes.subjects.to_list(),
        "attributes": axes.attributes.to_list(),
    }
    for kind, counts_of_kind, asked_of_kind in zip(
        part_kinds(axes), counts, asked or counts, strict=True
    ):
        n = counts_of_kind[TEMPLATES].sum(axis=1)
        n_asked = asked_of_kind[TEMPLATES].sum(axis=1)
        # Mostly all parts have swap groups; a slice of all needs no copy.
        chosen = slice(None) if (n_asked > 0).all() else n_asked > 0
        along = {}
        for factor, sums_of_factor in kind.along(sums).items():
            columns = (sums_of_factor[chosen], counts_of_kind[factor][chosen])
            along[factor] = Along(units[factor], np.stack(columns, axis=-1))
        keys = kind.names().with_columns(
            pl.Series("n", n.astype(np.int64)),
            pl.Series("left_out", (n_asked - n).astype(np.int64)),
        )
        yield Sums(
            keys.filter(pl.Series(n_asked > 0)),
            along,
            MEAN,
            "moderated t",
            compared=False,
            claims_all=kind.is_of_subject_groups,
        )


def mean_over_templates(axes: Axes, tally: MeanTally, left_out: int) -> Sums:
    """Returns a mean over all swap groups that varies with templates alone.

    Args:
        axes: see `mean_of_swap_groups`.
        tally: see `mean_of_swap_groups`.
        left_out: see `mean_of_swap_groups`.
    """
    along = {TEMPLATES: Along(axes.templates, tally.by_template[None])}
    keys = pl.DataFrame({"measure": [""], "options": [""], "n": [tally.n], "left_out": [left_out]})
    return Sums(keys, along, interval="t")


def mean_of_swap_groups(axes: Axes, tally: MeanTally, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups; templates without any say nothing.

    Args:
        axes: the axes of the cell.
        tally: the sums and counts of the swap groups.
        left_out: how many more swap groups have no value.
    """
    over_templates = mean_over_templates(axes, tally, left_out)
    along = {**over_templates.along}
    names = axes.subjects.to_list()
    firsts = len(names) if axes.firsts is None else axes.firsts
    along["subjects"] = Along(names[:firsts], tally.by_subject[None, :firsts])
    if axes.firsts is not None:
        along["others"] = Along(names[firsts:], tally.by_subject[None, firsts:])
    along["attributes"] = Along(axes.attributes.to_list(), tally.by_attribute[None])
    return replace(over_templates, along=along)
