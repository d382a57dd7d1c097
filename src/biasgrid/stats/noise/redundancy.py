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
    """Returns what is each cluster's own, shape (subjects, attributes, clusters), NaN where it
    cannot be said.

    That is what is left of its associations without what all clusters have in common, multiplied by
    its factor (see `noise.gain`), and without what it does to a subject as such: two clusters that
    multiply alike, or that like the same subjects, do not therefore say the same.

    Args:
        sums: of C.
        counts: how many comparisons there are.
    """
    shape = sums.shape
    flat = divide(sums, counts).reshape(-1, shape[2])
    means = divide(sums.sum(axis=2), counts.sum(axis=2)).ravel()
    blocks = blocks_of(counts.reshape(-1, shape[2]) > 0, np.tile(np.arange(shape[1]), shape[0]))
    noise = np.full(flat.shape, np.nan)
    for block in range(blocks.max(initial=-1) + 1):
        inside = np.flatnonzero(blocks == block)
        factors = factors_of(flat[inside], means[inside], np.ones(len(inside), dtype=np.bool_))
        # Without any association there is nothing to multiply.
        noise[inside] = flat[inside] - means[inside, None] * np.nan_to_num(factors)
        attributes = inside[: len(inside) // shape[0]]
        of_block = noise.reshape(shape)[:, attributes]
        if (
            len(attributes) < FEWEST_ATTRIBUTES
            or (counts[:, attributes] > 0).any(axis=(0, 1)).sum() < FEWEST_CLUSTERS
        ):
            noise[inside] = np.nan
            continue
        known = ~np.isnan(of_block)
        of_subjects = divide(np.where(known, of_block, 0).sum(axis=1), known.sum(axis=1))
        noise.reshape(shape)[:, attributes] = of_block - of_subjects[:, None]
    of_clusters = noise.reshape(shape)
    largest = np.nanmax(np.abs(flat), initial=0)
    return np.where(np.abs(of_clusters) <= np.sqrt(ROUNDING_OF_VALUE) * largest, 0, of_clusters)


def likeness(noise: FloatArray, asked: BoolArray) -> FloatArray:
    """Returns how the noise of clusters correlates, shape (clusters, clusters), NaN of a cluster
    with itself.

    The noise of clusters sums to nearly 0, so that of two independent ones of F correlates by -1 /
    (F - 1), which is added. Clusters without any noise are the same.

    Args:
        noise: from `noise_of_clusters`.
        asked: the same shape, what each cluster asks.
    """
    clusters = noise.shape[2]
    found = np.full((clusters, clusters), np.nan)
    of_attributes = asked.any(axis=0).sum(axis=1)
    for one, other in combinations(range(clusters), 2):
        known = ~np.isnan(noise[..., one]) & ~np.isnan(noise[..., other])
        if not known.any():
            continue
        are_equal = not noise[..., [one, other]][known].any()
        correlation = 1.0 if are_equal else known_correlation(noise[..., one], noise[..., other])
        expected = 1 / (np.broadcast_to(of_attributes, known.shape)[known].mean() - 1)
        found[one, other] = found[other, one] = correlation + expected
    return found


def noise_ratio(noise: FloatArray) -> FloatArray:
    """Returns how many times as noisy each cluster is as the one in the middle, shape (clusters,).

    Args:
        noise: from `noise_of_clusters`.
    """
    known = ~np.isnan(noise)
    spread = np.sqrt(
        divide((np.where(known, noise, 0) ** 2).sum(axis=(0, 1)), known.sum(axis=(0, 1)))
    )
    there = spread[~np.isnan(spread)]
    return divide(spread, float(np.median(there)) if len(there) else np.nan)


def known_correlation(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of numbers that are known in both; NaN where one does not vary."""
    known = ~np.isnan(one) & ~np.isnan(other)
    apart = (
        [each[known] - each[known].mean() for each in (one, other)]
        if known.any()
        else [np.zeros(1)] * 2
    )
    norm = np.sqrt((apart[0] ** 2).sum() * (apart[1] ** 2).sum())
    return float((apart[0] * apart[1]).sum() / norm) if norm > 0 else float("nan")


def clusters_of_cell(gamma: ByCluster, templates: IntArray, cluster_of: IntArray) -> pl.DataFrame:
    """Returns rows of `DESIGN` of the clusters of a cell: what it is without each, and which noise
    is alike.

    Args:
        gamma: the associations by cluster.
        templates: shape (units,), their numbers, again in each prompt format.
        cluster_of: shape (units,), the cluster of each.
    """
    noise = noise_of_clusters(gamma.sums, gamma.counts)
    alike, loudness = likeness(noise, gamma.counts > 0), noise_ratio(noise)
    rows: list[dict[str, Any]] = []
    for cluster in range(gamma.clusters):
        names = {
            "cluster": cluster,
            "templates": ", ".join(map(str, np.unique(templates[cluster_of == cluster]))),
        }
        without = gamma.without(cluster) if gamma.clusters > 1 else None
        like = int(np.nanargmax(alike[cluster])) if not np.isnan(alike[cluster]).all() else None
        of_others = (
            known_correlation(gamma.values[..., cluster], without.means) if without else None
        )
        found = {
            "mu_without": float(statistic(without.means, "mu")) if without else None,
            "correlation": of_others,
            "likeness": float(alike[cluster, like]) if like is not None else None,
            "noise_ratio": float(loudness[cluster]),
        }
        rows += [
            {**names, "name": name, "value": value, "like": like} for name, value in found.items()
        ]
    types = {
        "cluster": pl.UInt16,
        "templates": pl.String,
        "name": pl.String,
        "value": pl.Float64,
        "like": pl.UInt16,
    }
    return pl.DataFrame(rows, schema=types)
