"""How sure the measures of a whole cell are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, ratio
from biasgrid.families.underspecified.statistics.sums import SwapGroups
from biasgrid.stats.estimate import jackknife, leave_one_out
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends
from biasgrid.stats.null import Statistic, corrected_statistic, held_out_strength, null_mean_of, statistic, strength_of
from biasgrid.stats.permutation import permutation_test, utilities
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.tables.statistics import NO_METHOD

FEWEST_CLUSTERS = 3
"""Without one of them two are left, which noise is told by."""


@dataclass(frozen=True)
class ByCluster:
    """Associations by cluster.

    Attributes:
        sums: shape (subjects, attributes, clusters), of C or of its sign.
        counts: how many comparisons there are.
    """

    sums: FloatArray
    counts: FloatArray

    @property
    def values(self) -> FloatArray:
        """The associations in each cluster, NaN where nothing was asked."""
        return ratio(self.sums, self.counts)

    @property
    def means(self) -> FloatArray:
        """The associations, shape (subjects, attributes)."""
        return ratio(self.sums.sum(axis=-1), self.counts.sum(axis=-1))

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.sums.shape[-1])

    def without(self, cluster: int) -> ByCluster:
        """Returns what is left without a cluster."""
        kept = np.arange(self.clusters) != cluster
        return ByCluster(self.sums[..., kept], self.counts[..., kept])

    def corrected(self, name: Statistic) -> float:
        """Returns mu or eta without what noise adds."""
        return corrected_statistic(self.means, self.values, name)

    def strength(self) -> float:
        """Returns the size of associations without noise."""
        return strength_of(self.sums, self.counts)


def statistics_of_whole(
    groups: SwapGroups, of_groups: Mapping[str, FloatArray], settings: StatisticsSettings
) -> tuple[pl.DataFrame, ByCluster]:
    """Returns rows of `STATISTICS` of the whole cell, and its associations by cluster.

    Args:
        groups: the swap groups.
        of_groups: by measure, shape (groups,), what it is the mean of (delta and the like).
        settings: level, seed and the like.
    """
    counts = groups.counts.sum(axis=1)
    gamma, eta = (ByCluster(groups.sums_of(name).sum(axis=1), counts) for name in ("gamma", "eta"))
    n = len(groups.subjects)
    rows = [
        mu_row(gamma, groups.firsts, settings),
        corrected_row("mu_corrected", gamma, lambda part: part.corrected("mu"), settings),
        {"measure": "mu_held_out", "value": held_out_strength(gamma.sums, gamma.counts)},
        {"measure": "eta", "value": float(statistic(eta.means, "eta")), "null_mean": null_mean_of(eta.values, "eta")},
        corrected_row("eta_corrected", eta, lambda part: part.corrected("eta"), settings),
        corrected_row("strength", gamma, ByCluster.strength, settings),
    ]
    of_cell = [
        {"generalises_to": "templates", "method": NO_METHOD, **row, "n": n, "clusters": groups.clusters} for row in rows
    ]
    tables = [
        pl.DataFrame(of_cell),
        *(means_of_groups(groups, name, each, (0, 1), settings) for name, each in of_groups.items()),
    ]
    return pl.concat(tables, how="diagonal_relaxed").with_columns(options=pl.lit("")), gamma


def mu_row(gamma: ByCluster, firsts: int | None, settings: StatisticsSettings) -> dict[str, Any]:
    """Returns mu with its noise floor, and p: whether there is any association at all."""
    found = permutation_test(utilities_of(gamma, firsts), gamma.counts, firsts, settings.permutations, settings.seed)
    method = f"permutation ({'exact' if found.exact else found.tried})" if found.tried else NO_METHOD
    value, null_mean = float(statistic(gamma.means, "mu")), null_mean_of(gamma.values, "mu")
    return {"measure": "mu", "value": value, "null_mean": null_mean, "p": found.p, "method": method}


def utilities_of(gamma: ByCluster, firsts: int | None) -> FloatArray:
    """Returns what subjects are permuted by: of one list its associations, of two utilities on one scale."""
    return gamma.values if firsts is None else utilities(gamma.values, firsts)


def corrected_row(
    measure: str, by_cluster: ByCluster, find: Callable[[ByCluster], float], settings: StatisticsSettings
) -> dict[str, Any]:
    """Returns a number of the associations with its interval: jackknife over clusters, of three at least."""
    value, clusters = find(by_cluster), by_cluster.clusters
    without = np.full((1, clusters), np.nan)
    if clusters >= FEWEST_CLUSTERS:
        without[0] = [find(by_cluster.without(cluster)) for cluster in range(clusters)]
    is_known = not np.isnan(without).any()
    row = {"measure": measure, "value": value, **without_row(without if is_known else np.full_like(without, np.nan))}
    if not is_known:
        return row
    variance, _ = jackknife(without)
    df = np.array([clusters - 1.0])
    half = float(half_width([VarianceSource(variance, df)], settings.alpha)[0])
    interval = {"low": value - half, "high": value + half, "se": float(np.sqrt(variance[0])), "df": float(df[0])}
    return row | interval | {"method": "jackknife t"}


def without_row(without: FloatArray) -> dict[str, Any]:
    """Returns what `without_columns` does of a single number, shape (1, clusters)."""
    return {name: column.to_list()[0] for name, column in jackknife_columns(without).items()}


def means_of_groups(
    groups: SwapGroups, measure: str, values: FloatArray, within: tuple[float, float], settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of a mean over all swap groups, whose intervals are cut to a range.

    Clusters of which there is no swap group say nothing.
    """
    by_cluster = left_out_of(groups.cluster, values, groups.clusters)
    asked = np.bincount(groups.cluster, minlength=groups.clusters) > 0
    templates = as_source(by_cluster[asked])
    lists = list(sources_of_lists(groups, values))
    attributes = as_source(left_out_of(groups.attribute, values, len(groups.attributes)))
    sources = {"templates": [templates], "subjects": lists, "all": [templates, *lists, attributes]}
    mean = float(values.mean())
    rows = []
    for generalises_to, some in sources.items():
        low, high = interval_ends(np.array([mean]), half_width(some, settings.alpha), within)
        known, method = not np.isnan(low[0]), "combined" if len(some) > 1 else "jackknife t"
        row = {"measure": measure, "generalises_to": generalises_to, "value": mean, "low": low[0], "high": high[0]}
        if len(some) == 1 and known:
            row |= {"se": float(np.sqrt(some[0].variance[0])), "df": some[0].df[0]}
        counted = {"n": len(values), "clusters": int(asked.sum()), "method": method if known else NO_METHOD}
        rows.append(row | counted | (without_row(by_cluster[None]) if generalises_to == "templates" else {}))
    return pl.DataFrame(rows)


def left_out_of(units: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Returns a mean without each of some units, shape (units,), each value being of one.

    Args:
        units: shape (values,).
        values: shape (values,).
        count: how many units there are.
    """
    sums = np.bincount(units, values, minlength=count).astype(np.float64)
    counts = np.bincount(units, minlength=count)
    return leave_one_out(sums, counts.astype(np.float64))


def sources_of_lists(groups: SwapGroups, values: FloatArray) -> Iterator[VarianceSource]:
    """Yields how much a mean over swap groups varies with the subjects of each list."""
    count = len(groups.subjects)
    sides, both = np.concatenate([groups.one, groups.other]), np.tile(values, 2)
    sums = np.bincount(sides, both, minlength=count).astype(np.float64)
    counts = np.bincount(sides, minlength=count).astype(np.float64)
    total, number = np.array([values.sum()]), np.array([float(len(values))])
    without = leave_one_out(sums, counts, total, number)
    for part in [without] if groups.firsts is None else np.split(without, [groups.firsts]):
        yield as_source(part)


def as_source(without: FloatArray) -> VarianceSource:
    """Returns the jackknife variance of one number, from what it is without each unit; shape (1,)."""
    variance, units = jackknife(without[None])
    undefined = np.isnan(without).any()
    return VarianceSource(np.where(undefined, np.nan, variance), (units - 1).astype(np.float64))
