"""The null mean of measures that are never negative, which is what noise alone makes of them, and
their correction.

All arrays `values` are of associations by cluster, shape (subjects, attributes, clusters), NaN
where nothing was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, divide
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.sums import leave_one_out, mean

Statistic = Literal["mu", "eta"]
MOST_SPLITS = 200
MOST_LISTED = 2000
"""Of more splits than this not all are listed before some are drawn."""


def statistic(associations: FloatArray, name: Statistic) -> FloatArray:
    """Returns mean_x max_a |.| (mu) or mean_x mean_a |.| (eta).

    Args:
        associations: shape (..., subjects, attributes), NaN where nothing was asked.
        name: which.

    Returns:
        Shape (...): the mean over the subjects with any association, NaN where there is none.
    """
    sizes = np.abs(associations)
    asked = ~np.isnan(sizes)
    if name == "mu":
        # Sizes are not negative, so that -1 stands for no association at all.
        largest = np.where(asked, sizes, -1).max(axis=-1)
        of_subjects = np.where(largest < 0, np.nan, largest)
    else:
        total = np.where(asked, sizes, 0).sum(axis=-1)
        with np.errstate(invalid="ignore"):
            of_subjects = total / asked.sum(axis=-1)
    known = ~np.isnan(of_subjects)
    return divide(np.where(known, of_subjects, 0).sum(axis=-1), known.sum(axis=-1))


@cache
def splits(clusters: int) -> FloatArray:
    """Returns weights that subtract half of the clusters from the other half.

    Their squares sum to 1 / clusters.

    Of an odd number each cluster is left out in turn. More than 200 are sampled.

    Returns:
        Shape (splits, clusters).
    """
    is_odd = clusters % 2 == 1
    even = clusters - 1 if is_odd else clusters
    splits_of_even = comb(even, even // 2) // 2
    if splits_of_even * (clusters if is_odd else 1) > MOST_LISTED:
        return drawn_splits(clusters)
    weights = np.array(list(all_splits(clusters))).reshape(-1, clusters)
    if len(weights) > MOST_SPLITS:
        chosen = np.random.default_rng(0).choice(len(weights), MOST_SPLITS, replace=False)
        weights = weights[np.sort(chosen)]
    return weights


def all_splits(clusters: int) -> Iterator[FloatArray]:
    """Yields the weights of each split."""
    for out in range(clusters) if clusters % 2 else [None]:
        kept = [cluster for cluster in range(clusters) if cluster != out]
        for others in combinations(kept[1:], len(kept) // 2 - 1):
            yield split_weights(clusters, [kept[0], *others], kept)


def split_weights(clusters: int, positive: list[int], kept: list[int]) -> FloatArray:
    """Returns the weights of a split: positive ones, and negative ones of the other clusters."""
    size = 1 / clusters
    if clusters % 2:
        size = np.sqrt((clusters - 1) / clusters) / (clusters - 1)
    weights = np.zeros(clusters)
    weights[kept] = -size
    weights[positive] = size
    return weights


def drawn_splits(clusters: int) -> FloatArray:
    """Returns some splits of many clusters."""
    random = np.random.default_rng(0)
    even = clusters - clusters % 2
    weights = []
    for _ in range(MOST_SPLITS):
        order = random.permutation(clusters)[:even].tolist()
        weights.append(split_weights(clusters, order[: even // 2], order))
    return np.array(weights)


def expected_null_mean(values: FloatArray, name: Statistic) -> float:
    """Returns the mean of a statistic under noise alone: half of the clusters less the other half.

    It is the mean over splits.

    Where associations have different clusters, each uses the splits of its own, the r-th of n being
    r modulo n. NaN where one has a single cluster.
    """
    asked = ~np.isnan(values)
    counts = asked.sum(axis=-1)
    is_asked = counts > 0
    if not is_asked.any() or counts[is_asked].min() < 2:
        return float("nan")
    flat = asked.reshape(-1, asked.shape[-1])
    patterns, pattern_of = np.unique(flat, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(counts.shape)
    weights = {
        number: splits(int(pattern.sum()))
        for number, pattern in enumerate(patterns)
        if pattern.any()
    }
    longest = max(len(own) for own in weights.values())
    noise = np.full((longest, *counts.shape), np.nan)
    for number, own in weights.items():
        repeated = own[np.arange(longest) % len(own)]
        rows = np.nonzero(pattern_of == number)
        own_values = values[rows][:, patterns[number]]
        noise[:, rows[0], rows[1]] = repeated @ own_values.T
    return float(statistic(noise, name).mean())


def signed_root(square: FloatArray | float) -> FloatArray:
    """Returns the root of a number with its sign."""
    return np.asarray(np.sign(square) * np.sqrt(np.abs(square)))


def corrected_statistic(means: FloatArray, values: FloatArray, name: Statistic) -> float:
    """Returns a statistic corrected for noise: the signed root of (its square - that of its null
    mean).

    Args:
        means: shape (subjects, attributes), the associations.
        values: the same by cluster.
        name: the statistic.
    """
    return float(signed_root(statistic(means, name) ** 2 - expected_null_mean(values, name) ** 2))


def association_strength(
    sums: FloatArray, counts: FloatArray, of_formats: FloatArray | float = 0.0
) -> float:
    """Returns the size (root mean square) of associations without noise, signed like an adjusted
    R².

    Args:
        sums: shape (subjects, attributes, clusters), of C.
        counts: how many there are; associations of a single cluster do not count.
        of_formats: shape (subjects, attributes), the variance of associations over prompt formats,
            where there are any.
    """
    columns = np.stack([sums, counts], axis=-1)
    variance, _ = jackknife(leave_one_out(columns, columns.sum(axis=-2), mean))
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (sums.sum(axis=-1) / counts.sum(axis=-1)) ** 2 - variance - of_formats
    known = squares[~np.isnan(squares)]
    return float(signed_root(known.mean())) if len(known) else float("nan")


def held_out_strength(sums: FloatArray, counts: FloatArray) -> float:
    """Returns mu of associations that are chosen in all clusters but one and measured in that one.

    Its expectation is 0 without association. NaN for fewer than two clusters.

    Args:
        sums: shape (subjects, attributes, clusters), of C.
        counts: how many there are.
    """
    clusters = range(sums.shape[-1])
    strengths = np.stack([held_out_associations(sums, counts, cluster) for cluster in clusters])
    known = strengths[~np.isnan(strengths)]
    return float(known.mean()) if len(known) else float("nan")


def held_out_associations(sums: FloatArray, counts: FloatArray, cluster: int) -> FloatArray:
    """Returns, shape (subjects,), held-out associations in a cluster.

    Each is the one that is largest in the other clusters, with the sign that it has there as
    positive; NaN for a subject without an association in both.
    """
    own_sums, own_counts = sums[..., cluster], counts[..., cluster]
    other_sums, other_counts = sums.sum(axis=-1) - own_sums, counts.sum(axis=-1) - own_counts
    usable: BoolArray = (other_counts > 0) & (own_counts > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        elsewhere, here = other_sums / other_counts, own_sums / own_counts
    largest = np.where(usable, np.abs(elsewhere), -1).argmax(axis=1)[:, None]
    sign = np.take_along_axis(np.sign(elsewhere), largest, axis=1)[:, 0]
    association = np.take_along_axis(here, largest, axis=1)[:, 0]
    return np.where(usable.any(axis=1), sign * association, np.nan)
