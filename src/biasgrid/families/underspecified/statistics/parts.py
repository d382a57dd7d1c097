"""How sure gamma, eta and win_ratio of the parts of a cell are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, ratio
from biasgrid.families.underspecified.measure import ASSOCIATION_KEYS
from biasgrid.families.underspecified.statistics.sums import SwapGroups
from biasgrid.stats.estimate import jackknife_of_means, leave_one_out
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, p_values
from biasgrid.stats.multiplicity import false_discovery_rates, holm, selected_ends
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.stats.variance import Prior, moderate_variances
from biasgrid.tables.statistics import NO_METHOD

MEASURE_RANGES = {"gamma": (-1.0, 1.0), "eta": (-1.0, 1.0), "win_ratio": (0.0, 1.0)}
TESTED_MEASURE = "gamma"
"""The measure that is tested; tests of the others would only ask the same again."""
COMPARED_PARTS = (("subject",), ("subject", "attribute"))
"""The kinds of parts that models are compared by."""


class ReducedSums(NamedTuple):
    """Sums over all partners and over all clusters, of C or of counts.

    Attributes:
        by_cluster: shape (subjects, attributes, clusters).
        by_partner: shape (subjects, partners, attributes).
    """

    by_cluster: FloatArray
    by_partner: FloatArray

    @classmethod
    def of(cls, sums: FloatArray, across: BoolArray | None) -> ReducedSums:
        """Sums, over partners of other groups alone where `across` says which these are."""
        if across is not None:
            sums = sums * across[:, :, None, None]
        return cls(sums.sum(axis=1), sums.sum(axis=3))


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

    def by_cluster(self, sums: ReducedSums) -> FloatArray:
        """Returns sums of shape (rows x columns, clusters)."""
        of_rows = np.tensordot(self.rows, sums.by_cluster, axes=1)
        return flatten_parts(np.einsum("qa,raf->rqf", self.columns, of_rows, optimize=True))

    def by_others(self, sums: ReducedSums) -> FloatArray:
        """Returns sums of shape (rows x columns, partners)."""
        of_columns = np.tensordot(sums.by_partner, self.columns.T, axes=1)
        return flatten_parts(np.swapaxes(np.tensordot(self.rows, of_columns, axes=1), 1, 2))

    def by_names(self, sums: ReducedSums) -> FloatArray:
        """Returns sums of shape (rows x columns, subjects of the row)."""
        of_subjects = sums.by_partner.sum(axis=1) @ self.columns.T
        return flatten_parts(self.rows[:, None, :] * of_subjects.T[None])

    def by_attributes(self, sums: ReducedSums) -> FloatArray:
        """Returns sums of shape (rows x columns, attributes)."""
        of_rows = self.rows @ sums.by_partner.sum(axis=1)
        return flatten_parts(of_rows[:, None, :] * self.columns[None])

    def subject_sources(self, sums: ReducedSums, counts: ReducedSums) -> list[VarianceSource]:
        """Returns how much parts vary with partners; those of groups with their names and those of the others."""
        found = [jackknife_source(self.by_others(sums), self.by_others(counts))]
        if self.is_of_subject_groups:
            found.insert(0, jackknife_source(self.by_names(sums), self.by_names(counts)))
        return found

    def attribute_sources(self, sums: ReducedSums, counts: ReducedSums) -> list[VarianceSource]:
        """Returns how much parts vary with attributes, where they take several together."""
        if "attribute" in self.keys:
            return []
        return [jackknife_source(self.by_attributes(sums), self.by_attributes(counts))]

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


def jackknife_source(sums: FloatArray, counts: FloatArray) -> VarianceSource:
    """Returns the jackknife variance over units, with their number less 1 as degrees of freedom."""
    variance, units = jackknife_of_means(sums, counts)
    return VarianceSource(variance, (units - 1).astype(np.float64))


def membership(places: IntArray, count: int) -> FloatArray:
    """Returns which things belong to which of some groups, shape (groups, things)."""
    return np.asarray(np.arange(count)[:, None] == places[None], dtype=np.float64)


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


def statistics_of_parts(groups: SwapGroups, settings: StatisticsSettings) -> tuple[pl.DataFrame, Prior]:
    """Returns rows of `STATISTICS` of all parts, and the prior of the variances of associations.

    Args:
        groups: the swap groups.
        settings: level and how false discoveries are controlled.
    """
    subject_groups = groups.subject_groups[1]
    across = (
        (subject_groups[:, None] != subject_groups[None]) & (subject_groups[:, None] >= 0) & (subject_groups[None] >= 0)
    )
    tables, priors = [], {}
    counts = {is_of: ReducedSums.of(groups.counts, across if is_of else None) for is_of in (False, True)}
    for measure in MEASURE_RANGES:
        whole = groups.sums_of(measure)
        sums = {is_of: ReducedSums.of(whole, across if is_of else None) for is_of in (False, True)}
        for kind in part_kinds(groups):
            of = kind.is_of_subject_groups
            rows, prior = statistics_of_kind(measure, kind, sums[of], counts[of], settings)
            tables.append(rows)
            priors[measure, tuple(kind.keys)] = prior
    return pl.concat(tables, how="diagonal"), priors[TESTED_MEASURE, ("subject", "attribute")]


def statistics_of_kind(
    measure: str, kind: PartKind, sums: ReducedSums, counts: ReducedSums, settings: StatisticsSettings
) -> tuple[pl.DataFrame, Prior]:
    """Returns rows of `STATISTICS` of the parts of a kind, and the prior of their variances over clusters."""
    by_cluster, of_clusters = kind.by_cluster(sums), kind.by_cluster(counts)
    variance, clusters = jackknife_of_means(by_cluster, of_clusters)
    templates, prior = moderate_variances(variance, clusters.astype(np.float64))
    subjects, attributes = kind.subject_sources(sums, counts), kind.attribute_sources(sums, counts)
    n = of_clusters.sum(axis=1)
    there = n > 0
    known = kind.names().with_columns(
        measure=pl.lit(measure), value=ratio(by_cluster.sum(axis=1), n), n=n.astype(np.int64), clusters=clusters
    )
    if measure == TESTED_MEASURE and tuple(kind.keys) in COMPARED_PARTS:
        known = known.with_columns(**jackknife_columns(leave_one_out(by_cluster, of_clusters), moderated=True))
    sources = {"templates": [templates], "subjects": subjects, "all": [templates, *subjects, *attributes]}
    parts = []
    for generalises_to, some in sources.items():
        chosen = [VarianceSource(each.variance[there], each.df[there]) for each in some]
        parts.append(with_intervals(known.filter(pl.Series(there)), measure, generalises_to, chosen, prior, settings))
    return pl.concat(parts, how="diagonal").with_columns(options=pl.lit("")), prior


def with_intervals(
    parts: pl.DataFrame,
    measure: str,
    generalises_to: str,
    sources: list[VarianceSource],
    prior: Prior,
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """Adds intervals and, of the measure that is tested, p, q and Holm's correction of parts of one kind."""
    values, within = parts["value"].to_numpy(), MEASURE_RANGES[measure]
    low, high = interval_ends(values, half_width(sources, settings.alpha), within)
    columns = {"low": low, "high": high}
    if len(sources) == 1:
        columns |= {"se": np.sqrt(sources[0].variance), "df": np.where(np.isnan(low), np.nan, sources[0].df)}
    if measure == TESTED_MEASURE:
        p = p_values(values, sources)
        q = false_discovery_rates(p, settings.fdr)
        chosen = selected_ends(values, q, sources, within, settings.alpha)
        columns |= {"p": p, "q": q, "holm": holm(p), "selected_low": chosen[0], "selected_high": chosen[1]}
    method = "combined" if len(sources) > 1 else method_of(generalises_to, prior)
    return parts.with_columns(
        generalises_to=pl.lit(generalises_to),
        method=pl.when(pl.Series(np.isnan(low))).then(pl.lit(NO_METHOD)).otherwise(pl.lit(method)),
        **{name: pl.Series(column) for name, column in columns.items()},
    )


def method_of(generalises_to: str, prior: Prior) -> str:
    """Names how an interval over one thing was found."""
    if generalises_to != "templates":
        return "jackknife t"
    return "moderated t" if prior.df > 0 else "t"
