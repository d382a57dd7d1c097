"""The parts of a cell, such as groups of subjects, and what numbers about them are made of."""

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
"""How many swap groups each part of a cell has, along each factor, kind by kind; see
`PartKind.along`.
"""
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
        column_names: those of the columns, none where all attributes are taken together.
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
        """Returns by factor sums of shape (rows x columns, units)."""
        of_groups = self.is_of_subject_groups
        by_template = sums.across_by_template if of_groups else sums.by_template
        by_partner = sums.across_by_partner if of_groups else sums.by_partner
        of_rows = taken_together(self.rows, by_template)
        if self.columns is not None:
            of_rows = np.einsum("qa,raf->rqf", self.columns, of_rows, optimize=True)
        found = {TEMPLATES: flatten_parts(of_rows)}
        of_subjects = by_partner.sum(axis=1)
        if self.rows is not None:
            of_columns = of_subjects.T if self.columns is None else (of_subjects @ self.columns.T).T
            found["subjects"] = flatten_parts(self.rows[:, None, :] * of_columns[None])
        partners = (
            by_partner if self.columns is None else np.tensordot(by_partner, self.columns.T, axes=1)
        )
        found["others"] = flatten_parts(np.swapaxes(taken_together(self.rows, partners), 1, 2))
        if self.columns is not None:
            found["attributes"] = flatten_parts(
                taken_together(self.rows, of_subjects)[:, None, :] * self.columns[None]
            )
        return found

    def names(self) -> pl.DataFrame:
        """Returns the keys of all parts, row by row."""
        columns = 1 if self.column_names is None else len(self.column_names)
        found = {
            self.keys[0]: self.row_names.gather(np.repeat(np.arange(len(self.row_names)), columns))
        }
        if self.column_names is not None:
            found[self.keys[1]] = self.column_names.gather(
                np.tile(np.arange(columns), len(self.row_names))
            )
        return pl.DataFrame(found)


def taken_together(rows: FloatArray | None, sums: FloatArray) -> FloatArray:
    """Returns sums of the subjects that each row takes together, shape (rows, ...); see
    `PartKind`.
    """
    return sums if rows is None else np.tensordot(rows, sums, axes=1)


def flatten_parts(sums: FloatArray) -> FloatArray:
    """Returns rows and columns as one axis."""
    return np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])


def part_kinds(axes: Axes) -> Iterator[PartKind]:
    """Yields the kinds of parts that a cell has."""
    names, group_of = axes.subject_groups
    sorts, sort_of = axes.attribute_groups
    subjects = {
        "subject": (None, axes.subjects),
        "subject_group": (membership(group_of, len(names)), names),
    }
    attributes = {
        None: (np.ones((1, len(axes.attributes))), None),
        "attribute": (None, axes.attributes),
        "attribute_group": (membership(sort_of, len(sorts)), sorts),
    }
    for keys in KEYS_OF_PARTS:
        rows, row_names = subjects[keys[0]]
        columns, column_names = attributes[keys[1] if len(keys) > 1 else None]
        if len(row_names) and (column_names is None or len(column_names)):
            yield PartKind(keys, rows, columns, row_names, column_names)


def membership(places: IntArray, count: int) -> FloatArray:
    """Returns which things belong to which of some groups, shape (groups, things)."""
    return np.asarray(np.arange(count)[:, None] == places[None], dtype=np.float64)


def is_compared(sums: Sums) -> bool:
    """Says whether models are compared by parts of a kind."""
    return [key for key in PART_KEYS if key in sums.keys.columns] in COMPARED_PARTS


def counts_of_parts(axes: Axes, counts: SumsOfSubjects) -> CountsOfParts:
    """Returns the counts of the parts of a cell, kind by kind and by factor; many measures share
    them.
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
        sums: what subjects see.
        counts: how many swap groups that is of.
        asked: how many there are, where these are some of them alone.
    """
    units = {
        TEMPLATES: axes.templates,
        "subjects": axes.subjects.to_list(),
        "others": axes.subjects.to_list(),
        "attributes": axes.attributes.to_list(),
    }
    for kind, counted, among in zip(part_kinds(axes), counts, asked or counts, strict=True):
        own = kind.along(sums)
        n, of_all = (each[TEMPLATES].sum(axis=1) for each in (counted, among))
        # Mostly all are there, which need no copy.
        there = slice(None) if (of_all > 0).all() else of_all > 0
        along = {
            factor: Along(
                units[factor], np.stack([own[factor][there], counted[factor][there]], axis=-1)
            )
            for factor in own
        }
        numbers = {"n": n, "left_out": of_all - n}
        keys = kind.names().with_columns(
            pl.Series(name, each.astype(np.int64)) for name, each in numbers.items()
        )
        yield Sums(
            keys.filter(pl.Series(of_all > 0)),
            along,
            MEAN,
            "moderated t",
            compared=False,
            claims_all=kind.is_of_subject_groups,
        )


def mean_over_templates(axes: Axes, tally: MeanTally, left_out: int) -> Sums:
    """Returns a mean over all swap groups that varies with templates alone; see
    `mean_of_swap_groups`.
    """
    along = {TEMPLATES: Along(axes.templates, tally.by_template[None])}
    keys = pl.DataFrame({"measure": [""], "options": [""], "n": [tally.n], "left_out": [left_out]})
    return Sums(keys, along, interval="t")


def mean_of_swap_groups(axes: Axes, tally: MeanTally, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups; templates of which there is none say nothing.

    Args:
        axes: the axes of the cell.
        tally: the sums and counts of the swap groups.
        left_out: how many more have no value.
    """
    over_templates = mean_over_templates(axes, tally, left_out)
    along = {**over_templates.along}
    names, firsts = axes.subjects.to_list(), axes.firsts or len(axes.subjects)
    along["subjects"] = Along(names[:firsts], tally.by_subject[None, :firsts])
    if axes.firsts is not None:
        along["others"] = Along(names[firsts:], tally.by_subject[None, firsts:])
    along["attributes"] = Along(axes.attributes.to_list(), tally.by_attribute[None])
    return replace(over_templates, along=along)
