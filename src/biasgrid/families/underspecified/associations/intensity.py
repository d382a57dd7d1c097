"""How large associations are as a whole: mu, eta and strength, what noise makes of them, and whether there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.underspecified.associations.by_cluster import ByCluster
from biasgrid.families.underspecified.associations.components import design_of_cell, two_lists
from biasgrid.groups.terms import with_permutation_tests
from biasgrid.stats.estimate import FEWEST_TESTED
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.variance import jackknife
from biasgrid.stats.null import held_out_strength, statistic
from biasgrid.stats.permutation import permutation_test, utilities
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Sums, find_sums
from biasgrid.tables.measures import MEASURE_KEYS

FEWEST_CLUSTERS = 3
"""Without one of them two are left, which noise is told by."""
TOO_FEW_KNOWN = "fewer than half of the associations have two clusters"
ASSOCIATION = ("subject", "attribute")


def mu(gamma: Sums) -> float:
    """Intensity: mean over subjects of the largest |gamma(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of(gamma), "mu"))


def eta_of_cell(eta: Sums) -> float:
    """Mean over subjects and attributes of |eta(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of(eta), "eta"))


def matrix_of(sums: Sums) -> FloatArray:
    """Returns numbers of pairs, shape (subjects, attributes), NaN where nobody asked."""
    wide = sums.keys.select(*ASSOCIATION, value=pl.Series(sums.values)).pivot(
        "attribute", index="subject", values="value"
    )
    return wide.drop("subject").to_numpy().astype(np.float64)


def mu_corrected(gamma: ByCluster) -> float:
    """Root of mu² less the square of what noise alone makes of it."""
    return gamma.corrected("mu")


def eta_corrected(eta: ByCluster) -> float:
    """Root of eta² less the square of what noise alone makes of it."""
    return eta.corrected("eta")


def strength(gamma: ByCluster) -> float:
    """Root mean square of associations without noise, signed like an adjusted R²."""
    return gamma.strength()


def mu_held_out(gamma: ByCluster) -> float:
    """Mean over subjects of the association that is largest in all clusters but one, as measured in that one."""
    return held_out_strength(gamma.sums, gamma.counts)


def associations_of_cell(sums: Sequence[Sums], settings: StatisticsSettings) -> tuple[ByCluster, ByCluster, int | None]:
    """Returns gamma and eta by cluster, and of two lists how many subjects are of the first."""
    of_pairs = [find_sums(sums, name, ASSOCIATION) for name in ("gamma", "eta")]
    subjects, attributes, firsts = two_lists(sums)
    gamma, eta = (ByCluster.of(each.clustered(settings.clusters), subjects, attributes) for each in of_pairs)
    return gamma, eta, firsts


def derive(
    estimates: pl.DataFrame, sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> CellNumbers:
    """Adds what is made of all associations together, and where their variance is.

    Args:
        estimates: those of the cell.
        sums: its sums.
        options: see `measures.measure`.
        settings: level, seed, clusters and the like.
    """
    if not any(each.keys["measure"][0] == "gamma" for each in sums):
        return CellNumbers(estimates)
    gamma, eta, firsts = associations_of_cell(sums, settings)
    of_mu = {
        "null_mean": gamma.null_mean("mu"),
        "clusters": gamma.clusters,
        **permuted_associations(gamma, firsts, settings),
    }
    if not gamma.is_representative:
        # A test of fewer associations would not be of this number.
        of_mu["p"] = float("nan")
    of_eta = {"null_mean": eta.null_mean("eta"), "clusters": eta.clusters}
    known = estimates.with_columns(of_cell("mu", name, value) for name, value in of_mu.items())
    known = known.with_columns(of_cell("eta", name, value) for name, value in of_eta.items())
    held_out = {"measure": "mu_held_out", "value": mu_held_out(gamma), "reason": "measured in what is left out"}
    rows = [size_row(gamma, size, settings) for size in corrected_numbers(gamma, eta)]
    counts = {"n": gamma.known, "left_out": gamma.left_out}
    shared = {"options": "", **counts, "generalises_to": "clusters"}
    table = pl.DataFrame([{**shared, "clusters": gamma.clusters, "is_claim": True, **row} for row in (*rows, held_out)])
    derived = pl.concat([known, table], how="diagonal_relaxed")
    with_groups = with_permutation_tests(derived, sums, options.get("failure_threshold", 0), settings)
    return CellNumbers(with_groups, design_of_cell(sums, gamma, firsts, estimates, settings))


def permuted_associations(part: ByCluster, firsts: int | None, settings: StatisticsSettings) -> dict[str, Any]:
    """Returns `p` and `method` of the test of any association at all; see `permutation.permutation_test`.

    Two clusters are too few to test by, whatever they are tested with.
    """
    if part.clusters < FEWEST_TESTED:
        return {"p": None, "method": None}
    scale = part.values if firsts is None else utilities(part.values, firsts)
    test = permutation_test(scale, part.counts, firsts, settings.permutations, settings.seed)
    method = f"permutation ({'exact' if test.exact else test.tried})" if test.tried else None
    return {"p": test.p, "method": method}


def of_cell(measure: str, column: str, value: float | int | str | None) -> pl.Expr:
    """Fills a column in the row of a measure of the whole cell."""
    about = pl.all_horizontal(pl.col("measure") == measure, *(pl.col(key).is_null() for key in MEASURE_KEYS))
    return pl.when(about).then(pl.lit(value)).otherwise(column).alias(column)


def corrected_numbers(gamma: ByCluster, eta: ByCluster) -> Iterator[tuple[str, float, FloatArray]]:
    """Yields what is corrected for noise, with what it is without each cluster, shape (1, clusters)."""
    yield size_without_clusters("mu_corrected", gamma, mu_corrected)
    yield size_without_clusters("eta_corrected", eta, eta_corrected)
    yield size_without_clusters("strength", gamma, strength)


def size_without_clusters(
    name: str, part: ByCluster, find: Callable[[ByCluster], float]
) -> tuple[str, float, FloatArray]:
    """Returns a name, a size of associations, and what it is without each cluster, shape (1, clusters)."""
    without = np.full((1, part.clusters), np.nan)
    if part.clusters >= FEWEST_CLUSTERS:
        without[0] = [find(part.without(cluster)) for cluster in range(part.clusters)]
    return name, find(part), np.where(np.isnan(without).any(), np.nan, without)


def size_row(part: ByCluster, size: tuple[str, float, FloatArray], settings: StatisticsSettings) -> dict[str, Any]:
    """Returns a size of associations with its interval: over clusters, and of a strength over prompt formats, too.

    Args:
        part: the associations.
        size: from `size_without_clusters`.
        settings: the level.
    """
    name, value, without = size
    if part.by_format is None or not name.endswith(strength.__name__):
        return interval_row(name, value, without, settings)
    row = interval_row(name, value, without, settings, part.strengths_without_formats()[None])
    return {**row, "generalises_to": "clusters x formats"}


def interval_row(
    measure: str, value: float, without: FloatArray, settings: StatisticsSettings, formats: FloatArray | None = None
) -> dict[str, Any]:
    """Returns a size of the associations with its interval: jackknife over clusters, of three at least.

    The lower end is value - t se. A size whose clusters multiply it is skewed: where it is above 0 with all clusters
    and without each, the upper end is that of its logarithm, value * exp(t se of ln), which lies farther up.

    Args:
        measure: its name.
        value: the size.
        without: shape (1, clusters), what it is without each cluster.
        settings: the level.
        formats: shape (1, formats), what it is without each prompt format, if it generalises over these.
    """
    clusters = without.shape[1]
    if np.isnan(value) and clusters > 1:
        return {"measure": measure, "value": None, "reason": TOO_FEW_KNOWN}
    if np.isnan(without).any():
        few = f"fewer than {FEWEST_CLUSTERS} clusters"
        return {"measure": measure, "value": value, "reason": few if clusters < FEWEST_CLUSTERS else "not defined"}
    sides = [without] if formats is None else [without, formats]
    if sides[-1].shape[1] < FEWEST_CLUSTERS or np.isnan(sides[-1]).any():
        return {"measure": measure, "value": value, "reason": f"fewer than {FEWEST_CLUSTERS} prompt formats"}
    sources = [left_out_source(side) for side in sides]
    if not sources[0].variance[0] > 0:
        return {"measure": measure, "value": value, "reason": f"equal without each of {clusters} clusters"}
    half = float(half_width(sources, settings.alpha)[0])
    high = value + half
    if value > 0 and all((side > 0).all() for side in sides):
        of_logs = [left_out_source(np.log(side)) for side in sides]
        high = value * float(np.exp(half_width(of_logs, settings.alpha)[0]))
    ends = {"low": value - half, "high": high}
    if formats is not None:
        return {"measure": measure, "value": value, **ends, "method": "combined"}
    ends |= {"se": float(np.sqrt(sources[0].variance[0])), "df": float(sources[0].df[0])}
    return {"measure": measure, "value": value, **ends, "method": "jackknife t"}


def left_out_source(without: FloatArray) -> VarianceSource:
    """Returns the jackknife variance of a number without each unit, shape (1,)."""
    variance, units = jackknife(without)
    return VarianceSource(variance, np.asarray(units - 1.0, dtype=np.float64))


def left_out_of_derived(
    sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> Iterator[tuple[str, float, Sequence[str], FloatArray]]:
    """Yields the numbers that models are compared by and that are made of several sums, with the names of clusters.

    See `corrected_numbers`.
    """
    if any(each.keys["measure"][0] == "gamma" for each in sums):
        along = find_sums(sums, "gamma", ASSOCIATION).clustered(settings.clusters).along[TEMPLATES]
        units = [along.units[place] for place in np.flatnonzero(along.present.any(axis=0)).tolist()]
        for name, value, without in corrected_numbers(*associations_of_cell(sums, settings)[:2]):
            yield name, value, units, without
