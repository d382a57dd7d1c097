"""Parts of a cell, such as a subject with an attribute or a group of subjects, and their sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.underspecified.associations.swap_groups import SumsOfSubjects, SwapGroups
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums, sum_units

PART_KEYS = ("subject", "subject_group", "attribute", "attribute_group")
COMPARED_PARTS = (["subject"], ["subject", "attribute"])
"""The kinds of parts that models are compared by."""

ASSOCIATION_KEYS = [
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
    for keys in ASSOCIATION_KEYS:
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


def sums_of_parts(groups: SwapGroups, sums: SumsOfSubjects, asked: SwapGroups | None = None) -> Iterator[Sums]:
    """Yields the means of the parts of a cell that have swap groups, kind by kind.

    Two subjects of one group say nothing about it, so groups of subjects leave out their swap groups.

    Args:
        groups: the swap groups.
        sums: what is summed over them.
        asked: where these are some alone, all of them: parts of which none is left have no value.
    """
    units = {
        TEMPLATES: groups.templates,
        "subjects": groups.subjects.to_list(),
        "others": groups.subjects.to_list(),
        "attributes": groups.attributes.to_list(),
    }
    for kind in part_kinds(groups):
        own, counts = kind.along(sums), kind.along(groups.counts)
        n = counts[TEMPLATES].sum(axis=1)
        of_all = n if asked is None or asked is groups else kind.along(asked.counts)[TEMPLATES].sum(axis=1)
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


def mean_over_templates(groups: SwapGroups, values: FloatArray, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups that varies with templates alone; see `mean_of_swap_groups`."""
    along = {TEMPLATES: sum_units(values, groups.template, len(groups.templates))._replace(units=groups.templates)}
    keys = pl.DataFrame({"measure": [""], "options": [""], "n": [len(values)], "left_out": [left_out]})
    return Sums(keys, along, interval="t")


def mean_of_swap_groups(groups: SwapGroups, values: FloatArray, left_out: int = 0) -> Sums:
    """Returns a mean over all swap groups; templates of which there is none say nothing.

    Args:
        groups: the swap groups.
        values: shape (groups,).
        left_out: how many more have no value.
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
