"""Which clusters of templates say nearly the same, or are much noisier than the others.

All arrays `sums` and `counts` are of associations by cluster, shape (subjects, attributes,
clusters).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.noise.by_cluster import ByCluster
from biasgrid.stats.noise.gain import blocks_of, factors_of
from biasgrid.stats.noise.variance import ROUNDING_OF_VALUE
from biasgrid.stats.null import statistic

FEWEST_CLUSTERS = 3
"""The noise of two clusters is the same but for its sign, whatever they say."""
FEWEST_ATTRIBUTES = 2


def noise_of_clusters(sums: FloatArray, counts: FloatArray) -> FloatArray:
    """Returns each cluster's own noise, shape (subjects, attributes, clusters), NaN if unknown.

    That is what is left of its associations without what all clusters have in common, multiplied by
    its factor (see `noise.gain`), and without what it does to a subject as such: two clusters that
    multiply alike, or that like the same subjects, do not therefore say the same.

    Args:
        sums: of C.
        counts: how many comparisons there are.
    """
    subjects, attributes, clusters = sums.shape
    # Associations in one row each, subject by subject.
    values = divide(sums, counts).reshape(-1, clusters)
    means = divide(sums.sum(axis=2), counts.sum(axis=2)).ravel()
    attribute_of = np.tile(np.arange(attributes), subjects)
    blocks = blocks_of(counts.reshape(-1, clusters) > 0, attribute_of)
    noise = np.full(values.shape, np.nan)
    noise_of_pairs = noise.reshape(sums.shape)
    for block in range(blocks.max(initial=-1) + 1):
        inside = np.flatnonzero(blocks == block)
        own_attributes = inside[: len(inside) // subjects]
        is_asked = (counts[:, own_attributes] > 0).any(axis=(0, 1))
        if len(own_attributes) < FEWEST_ATTRIBUTES or is_asked.sum() < FEWEST_CLUSTERS:
            continue
        factors = factors_of(values[inside], means[inside], np.ones(len(inside), dtype=np.bool_))
        # Without any association there is nothing to multiply.
        in_common = means[inside, None] * np.nan_to_num(factors)
        noise[inside] = values[inside] - in_common
        of_block = noise_of_pairs[:, own_attributes]
        known = ~np.isnan(of_block)
        of_subjects = divide(np.where(known, of_block, 0).sum(axis=1), known.sum(axis=1))
        noise_of_pairs[:, own_attributes] = of_block - of_subjects[:, None]
    largest = np.nanmax(np.abs(values), initial=0)
    is_rounding = np.abs(noise_of_pairs) <= np.sqrt(ROUNDING_OF_VALUE) * largest
    return np.where(is_rounding, 0, noise_of_pairs)


def likeness(noise: FloatArray, asked: BoolArray) -> FloatArray:
    """Correlates the noise of clusters, shape (clusters, clusters), NaN of a cluster with itself.

    The noise of clusters sums to nearly 0, so that of two independent ones of F correlates by -1 /
    (F - 1), which is added. Clusters without any noise are the same.

    Args:
        noise: from `noise_of_clusters`.
        asked: the same shape, what each cluster asks.
    """
    clusters = noise.shape[2]
    correlations = np.full((clusters, clusters), np.nan)
    clusters_of_attributes = asked.any(axis=0).sum(axis=1)
    for one, other in combinations(range(clusters), 2):
        known = ~np.isnan(noise[..., one]) & ~np.isnan(noise[..., other])
        if not known.any():
            continue
        are_equal = not noise[..., [one, other]][known].any()
        correlation = 1.0 if are_equal else known_correlation(noise[..., one], noise[..., other])
        asking = np.broadcast_to(clusters_of_attributes, known.shape)[known].mean()
        correlations[one, other] = correlations[other, one] = correlation + 1 / (asking - 1)
    return correlations


def noise_ratio(noise: FloatArray) -> FloatArray:
    """Returns how many times as noisy each cluster is as the one in the middle, shape (clusters,).

    Args:
        noise: from `noise_of_clusters`.
    """
    known = ~np.isnan(noise)
    squares = (np.where(known, noise, 0) ** 2).sum(axis=(0, 1))
    spread = np.sqrt(divide(squares, known.sum(axis=(0, 1))))
    known_spread = spread[~np.isnan(spread)]
    return divide(spread, float(np.median(known_spread)) if len(known_spread) else np.nan)


def known_correlation(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of numbers that are known in both; NaN where one does not vary."""
    known = ~np.isnan(one) & ~np.isnan(other)
    if not known.any():
        return float("nan")
    deviations = one[known] - one[known].mean()
    other_deviations = other[known] - other[known].mean()
    norm = np.sqrt((deviations**2).sum() * (other_deviations**2).sum())
    return float((deviations * other_deviations).sum() / norm) if norm > 0 else float("nan")


def clusters_of_cell(gamma: ByCluster, templates: IntArray, cluster_of: IntArray) -> pl.DataFrame:
    """Returns rows of `DESIGN` about clusters: mu without each, and clusters with like noise.

    Args:
        gamma: the associations by cluster.
        templates: shape (units,), their numbers, again in each prompt format.
        cluster_of: shape (units,), the cluster of each.
    """
    noise = noise_of_clusters(gamma.sums, gamma.counts)
    correlations = likeness(noise, gamma.counts > 0)
    ratios = noise_ratio(noise)
    rows: list[dict[str, Any]] = []
    for cluster in range(gamma.clusters):
        numbers: dict[str, float | None] = dict.fromkeys(("mu_without", "correlation", "likeness"))
        if gamma.clusters > 1:
            without = gamma.without(cluster)
            numbers["mu_without"] = float(statistic(without.means, "mu"))
            own = gamma.values[..., cluster]
            numbers["correlation"] = known_correlation(own, without.means)
        most_like = None
        if not np.isnan(correlations[cluster]).all():
            most_like = int(np.nanargmax(correlations[cluster]))
            numbers["likeness"] = float(correlations[cluster, most_like])
        numbers["noise_ratio"] = float(ratios[cluster])
        own_templates = np.unique(templates[cluster_of == cluster])
        shared = {"cluster": cluster, "templates": ", ".join(map(str, own_templates))}
        for name, value in numbers.items():
            rows.append({**shared, "name": name, "value": value, "like": most_like})
    types = {
        "cluster": pl.UInt16,
        "templates": pl.String,
        "name": pl.String,
        "value": pl.Float64,
        "like": pl.UInt16,
    }
    return pl.DataFrame(rows, schema=types)
