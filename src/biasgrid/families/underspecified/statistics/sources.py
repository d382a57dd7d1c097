"""Where the variance of a cell is, what hangs on each of its clusters, and which clusters say nearly the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.families.underspecified.statistics.sums import SwapGroups
from biasgrid.families.underspecified.statistics.whole import ByCluster
from biasgrid.stats.estimate import jackknife_of_means
from biasgrid.stats.multiplicity import LEVEL
from biasgrid.stats.null import statistic
from biasgrid.stats.permutation import utilities
from biasgrid.stats.power import minimal_detectable_effect
from biasgrid.stats.variance import Prior, components_of, indices_of

VARIANCE_NAMES = ("subject", "association", "subject x cluster", "association x cluster")


def variances_of(groups: SwapGroups, observations: pl.DataFrame, gamma: ByCluster) -> pl.DataFrame:
    """Returns rows of `VARIANCES`: of each block of attributes that are asked in the same clusters.

    Args:
        groups: the swap groups.
        observations: the same, from `observe.compare_subjects`.
        gamma: the associations by cluster.
    """
    asked = gamma.counts > 0
    patterns, block_of = np.unique(asked.any(axis=0), axis=0, return_inverse=True)
    rows: list[dict[str, Any]] = []
    for number, pattern in enumerate(patterns):
        attributes = np.flatnonzero(block_of.reshape(-1) == number)
        if pattern.any() and asked[:, attributes][:, :, pattern].all():
            found = rows_of_block(groups, observations, gamma.values[:, attributes][:, :, pattern], attributes, pattern)
            rows += [{"block": number, **row} for row in found]
    return pl.DataFrame(rows)


def rows_of_block(
    groups: SwapGroups, observations: pl.DataFrame, values: FloatArray, attributes: IntArray, clusters: Any
) -> Iterator[dict[str, Any]]:
    """Yields the sources of variance in a block, and the indices made of them.

    Args:
        groups: the swap groups.
        observations: the same.
        values: shape (subjects, attributes of the block, clusters of the block).
        attributes: shape (attributes of the block,).
        clusters: shape (clusters,), which clusters the block has.
    """
    scale = utilities(values, groups.firsts)
    components = components_of(scale)
    if components is None:
        return
    place = np.full(len(groups.attributes), -1)
    place[attributes] = np.arange(len(attributes))
    of_cluster = np.cumsum(clusters) - 1
    chosen = np.flatnonzero(place[groups.attribute] >= 0)
    one, other = (
        scale[side[chosen], place[groups.attribute[chosen]], of_cluster[groups.cluster[chosen]]]
        for side in (groups.one, groups.other)
    )
    pair = float(((groups.comparison[chosen] - (one - other) / 2) ** 2).mean())
    order = float((order_effects(observations)[chosen] ** 2).mean())
    variances = dict(zip((*VARIANCE_NAMES, "pair", "order"), (*components, pair, order), strict=True))
    total = sum(max(each, 0.0) for each in variances.values())
    for name, variance in variances.items():
        yield {"name": name, "value": variance, "share": max(variance, 0.0) / total if total else None}
    indices = indices_of(components, scale.shape[-1])
    for name, value in zip(("template_share", "reliability", "templates_for_0.8"), indices, strict=True):
        yield {"name": name, "value": value, "share": None}


def order_effects(observations: pl.DataFrame) -> FloatArray:
    """Returns half of what C is in one order of the subjects less what it is in the other, shape (groups,)."""
    scores = scores_in_groups(observations)
    bias = scores[:, :, 0] - scores[:, :, 1]
    in_order = (bias[..., 0] - bias[..., 1]) / 2
    return np.asarray((in_order[:, 0] - in_order[:, 1]) / 2)


def effects_of(gamma: ByCluster, prior: Prior, q: FloatArray) -> pl.DataFrame:
    """Returns rows of `VARIANCES` that tell what associations are found.

    Args:
        gamma: the associations by cluster.
        prior: of their variances.
        q: of their tests over templates.
    """
    variance, clusters = jackknife_of_means(gamma.sums, gamma.counts)
    own = (clusters * variance)[~np.isnan(variance)]
    if not len(own):
        return pl.DataFrame()
    mean = float(own.mean())
    tests = np.count_nonzero(~np.isnan(q))
    alpha = LEVEL * max(int(np.count_nonzero(q <= LEVEL)), 1) / tests if tests else float("nan")
    found = {
        "noise_sd": float(np.sqrt(mean)),
        "prior_df": prior.df,
        "mde": minimal_detectable_effect(mean, prior.df, gamma.clusters),
        "mde_fdr": minimal_detectable_effect(mean, prior.df, gamma.clusters, alpha),
    }
    return pl.DataFrame([{"name": name, "value": value} for name, value in found.items()])


def clusters_of_cell(groups: SwapGroups, gamma: ByCluster, templates: IntArray) -> pl.DataFrame:
    """Returns rows of `CLUSTERS`.

    Args:
        groups: the swap groups.
        gamma: the associations by cluster.
        templates: shape (groups,), the template of each swap group.
    """
    alike = likeness(gamma)
    rows = []
    for cluster in range(gamma.clusters):
        numbers = np.unique(templates[groups.cluster == cluster])
        without = gamma.without(cluster) if gamma.clusters > 1 else None
        like = int(np.nanargmax(alike[cluster])) if not np.isnan(alike[cluster]).all() else None
        row = {
            "cluster": cluster,
            "templates": ", ".join(map(str, numbers)),
            "mu_without": float(statistic(without.means, "mu")) if without else None,
            "correlation": known_correlation(gamma.values[..., cluster], without.means) if without else None,
            "like": like,
            "likeness": float(alike[cluster, like]) if like is not None else None,
        }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def likeness(gamma: ByCluster) -> FloatArray:
    """Returns how the noise of clusters correlates, shape (clusters, clusters), NaN of a cluster with itself."""
    noise = gamma.values - gamma.means[..., None]
    found = np.full((gamma.clusters, gamma.clusters), np.nan)
    for one, other in combinations(range(gamma.clusters), 2):
        found[one, other] = found[other, one] = known_correlation(noise[..., one], noise[..., other])
    return found


def known_correlation(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of numbers that are known in both; NaN where one does not vary."""
    known = ~np.isnan(one) & ~np.isnan(other)
    apart = [each[known] - each[known].mean() for each in (one, other)] if known.any() else [np.zeros(1)] * 2
    norm = np.sqrt((apart[0] ** 2).sum() * (apart[1] ** 2).sum())
    return float((apart[0] * apart[1]).sum() / norm) if norm > 0 else float("nan")
