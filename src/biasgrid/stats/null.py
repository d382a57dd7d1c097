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
from biasgrid.stats.noise.variance import jackknife
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
        largest = np.where(asked, sizes, -1).max(axis=-1)
        of_subjects = np.where(largest < 0, np.nan, largest)
    else:
        with np.errstate(invalid="ignore"):
            of_subjects = np.where(asked, sizes, 0).sum(axis=-1) / asked.sum(axis=-1)
    known = ~np.isnan(of_subjects)
    return divide(np.where(known, of_subjects, 0).sum(axis=-1), known.sum(axis=-1))


@cache
def splits(clusters: int) -> FloatArray:
    """Returns weights that take half of the clusters from the other half, with squares that sum to
    1 / clusters.

    Of an odd number each cluster is left out in turn. More than 200 are sampled.

    Returns:
        Shape (splits, clusters).
    """
    even = clusters - clusters % 2
    if comb(even, even // 2) // 2 * (clusters if clusters % 2 else 1) > MOST_LISTED:
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
    """Returns the weights of a split: positive ones, and negative ones of what else is kept."""
    size = np.sqrt((clusters - 1) / clusters) / (clusters - 1) if clusters % 2 else 1 / clusters
    weights = np.zeros(clusters)
    weights[kept] = -size
    weights[positive] = size
    return weights


def drawn_splits(clusters: int) -> FloatArray:
    """Returns some splits of many clusters."""
    random = np.random.default_rng(0)
    orders = [
        random.permutation(clusters)[: clusters - clusters % 2].tolist() for _ in range(MOST_SPLITS)
    ]
    return np.array([split_weights(clusters, order[: len(order) // 2], order) for order in orders])


def null_mean_of(values: FloatArray, name: Statistic) -> float:
    """Returns what a statistic is of the noise alone: half of the clusters less the other half,
    mean over splits.

    Where associations have different clusters, each uses the splits of its own, the r-th of n being
    r modulo n. NaN where one has a single cluster.
    """
    asked = ~np.isnan(values)
    has = asked.any(axis=-1)
    counts = asked.sum(axis=-1)
    if not has.any() or counts[has].min() < 2:
        return float("nan")
    patterns, of_association = np.unique(
        asked.reshape(-1, asked.shape[-1]), axis=0, return_inverse=True
    )
    of_association = of_association.reshape(has.shape)
    longest = max(len(splits(int(pattern.sum()))) for pattern in patterns if pattern.any())
    noise = np.full((longest, *has.shape), np.nan)
    for number, pattern in enumerate(patterns):
        if pattern.any():
            rows = np.nonzero(of_association == number)
            weights = splits(int(pattern.sum()))[
                np.arange(longest) % len(splits(int(pattern.sum())))
            ]
            noise[:, rows[0], rows[1]] = weights @ values[rows][:, pattern].T
    return float(statistic(noise, name).mean())


def signed_root(square: FloatArray | float) -> FloatArray:
    """Returns the root of a number with its sign."""
    return np.asarray(np.sign(square) * np.sqrt(np.abs(square)))


def corrected_statistic(means: FloatArray, values: FloatArray, name: Statistic) -> float:
    """Returns a statistic without what noise adds to it: the signed root of its square less that of
    its noise floor.

    Args:
        means: shape (subjects, attributes), the associations.
        values: the same by cluster.
        name: the statistic.
    """
    return float(signed_root(statistic(means, name) ** 2 - null_mean_of(values, name) ** 2))


def strength_of(
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
    of_clusters = [held_out_of(sums, counts, cluster) for cluster in range(sums.shape[-1])]
    known = np.concatenate([each[~np.isnan(each)] for each in of_clusters])
    return float(known.mean()) if len(known) else float("nan")


def held_out_of(sums: FloatArray, counts: FloatArray, cluster: int) -> FloatArray:
    """Returns for each subject the association in a cluster that is largest in the others, with its
    sign there.
    """
    others, left = (
        sums.sum(axis=-1) - sums[..., cluster],
        counts.sum(axis=-1) - counts[..., cluster],
    )
    usable: BoolArray = (left > 0) & (counts[..., cluster] > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        elsewhere, here = others / left, sums[..., cluster] / counts[..., cluster]
    chosen = np.where(usable, np.abs(elsewhere), -1).argmax(axis=1)[:, None]
    sign, found = (
        np.take_along_axis(each, chosen, axis=1)[:, 0] for each in (np.sign(elsewhere), here)
    )
    return np.where(usable.any(axis=1), sign * found, np.nan)
