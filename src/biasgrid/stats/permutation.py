"""Permutation tests: of any association at all, and of the distance of two groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.null import statistic

MOST_PERMUTATIONS = 600_000
"""Of more permutations than this some are drawn."""
VALUES_AT_ONCE = 2**21
"""About how many numbers are computed together."""
TOLERANCE = 1e-12


class PermutationResult(NamedTuple):
    """The result of a permutation test.

    Attributes:
        p: the share of permutations with a mu of at least that which was measured.
        tried: how many were looked at.
        exact: whether these are all.
    """

    p: float
    tried: int
    exact: bool


def permutation_test(
    values: FloatArray, counts: FloatArray, firsts: int | None, most: int, seed: int
) -> PermutationResult:
    """Permutes subjects independently in every cluster, all attributes of a cluster together.

    Valid where no subject differs from another in a way that clusters share.

    Args:
        values: shape (subjects, attributes, clusters), of one list C of the subject's associations,
            of two lists `utilities`; what was not asked does not count.
        counts: how many comparisons there are, 0 where nothing was asked.
        firsts: of two lists how many subjects are of the first, which stand first; None for one
            list.
        most: how many are drawn where there are too many to try all.
        seed: seed of what is drawn.
    """
    subjects, _, clusters = values.shape
    if clusters < 2:
        return PermutationResult(float("nan"), 0, exact=False)
    # Shares of clusters: subjects of one list have other numbers of partners than those of the
    # other.
    shares = np.nan_to_num(divide(counts, counts.sum(axis=-1, keepdims=True)))
    weighted = np.where(counts > 0, values, 0) * shares
    asked = np.ascontiguousarray(np.moveaxis(np.stack([weighted, shares], axis=-1), 2, 0))
    # The same order in all clusters changes nothing in one list; in two it changes who is of which.
    fixed = 1 if firsts is None else 0
    exact = (clusters - fixed) * np.log(float(factorial(min(subjects, 20)))) <= np.log(
        MOST_PERMUTATIONS
    )
    size = max(1, VALUES_AT_ONCE // values.size)
    drawn = drawn_orders(subjects, clusters, fixed, size, most, seed)
    orders = all_orders(subjects, clusters, fixed, size) if exact else drawn
    observed = mu_of(asked, np.tile(np.arange(subjects), (1, clusters, 1)), firsts)[0]
    if np.isnan(observed):
        return PermutationResult(float("nan"), 0, exact=False)
    at_least = total = 0
    for some in orders:
        at_least += int(np.count_nonzero(mu_of(asked, some, firsts) >= observed - TOLERANCE))
        total += len(some)
    p = at_least / total if exact else (at_least + 1) / (total + 1)
    return PermutationResult(p, total, bool(exact))


def all_orders(subjects: int, clusters: int, fixed: int, size: int) -> Iterator[IntArray]:
    """Yields all orders of the subjects in the clusters, some at a time; those of the first `fixed`
    clusters stay.

    Yields:
        Shape (orders, clusters, subjects).
    """
    each = np.array(list(permutations(range(subjects))))
    shape = (len(each),) * (clusters - fixed)
    for start in range(0, prod(shape), size):
        numbers = np.arange(start, min(start + size, prod(shape)))
        orders = np.tile(np.arange(subjects), (len(numbers), clusters, 1))
        for cluster, number in enumerate(np.unravel_index(numbers, shape), start=fixed):
            orders[:, cluster] = each[number]
        yield orders


def drawn_orders(
    subjects: int, clusters: int, fixed: int, size: int, count: int, seed: int
) -> Iterator[IntArray]:
    """Yields random orders, as `all_orders` does."""
    random = np.random.default_rng(seed)
    for start in range(0, count, size):
        orders = np.tile(np.arange(subjects), (min(size, count - start), clusters, 1))
        orders[:, fixed:] = random.permuted(orders[:, fixed:], axis=-1)
        yield orders


def mu_of(asked: FloatArray, orders: IntArray, firsts: int | None) -> FloatArray:
    """Returns mu of each order.

    Args:
        asked: shape (clusters, subjects, attributes, 2), values times their weights, and the
            weights.
        orders: shape (orders, clusters, subjects), whose values each subject gets.
        firsts: see `permutation_test`.
    """
    sums = np.zeros((len(orders), *asked.shape[1:]))
    for cluster in range(len(asked)):
        sums += asked[cluster][orders[:, cluster]]
    means = divide(sums[..., 0], sums[..., 1])
    if firsts is not None:
        means = as_associations(means, firsts)
    return statistic(means, "mu")


def as_associations(utilities: FloatArray, firsts: int) -> FloatArray:
    """Returns the associations of two lists: half of what a utility is above the mean of the other
    list.

    Args:
        utilities: shape (..., subjects, attributes).
        firsts: how many subjects are of the first list.
    """
    one, other = utilities[..., :firsts, :], utilities[..., firsts:, :]
    means = [np.nanmean(each, axis=-2, keepdims=True) for each in (other, one)]
    return np.concatenate([(one - means[0]) / 2, (other - means[1]) / 2], axis=-2)


def utilities(values: FloatArray, firsts: int | None) -> FloatArray:
    """Puts subjects on one scale, so that C(x, y) is half the difference of theirs.

    Args:
        values: shape (subjects, attributes, clusters), associations by cluster.
        firsts: of two lists how many subjects are of the first; None for one list.
    """
    if firsts is None:
        return 2 * (len(values) - 1) / len(values) * values
    mean = np.nanmean(values[:firsts], axis=0, keepdims=True)
    return np.concatenate([2 * values[:firsts] - mean, 2 * values[firsts:] + mean])


def permuted_distance(
    values: FloatArray, block: IntArray, is_first: BoolArray, count: int, seed: int
) -> tuple[float, float]:
    """Permutes the values of two groups within each block: so far apart are groups that make no
    difference.

    Args:
        values: shape (values,), ascending.
        block: shape (values,), the block of each.
        is_first: shape (values,), whether each is of the first group.
        count: how many permutations are drawn.
        seed: which ones.

    Returns:
        The mean of the Wasserstein-1 distance over permutations, and their share in which it is at
        least as large, the groups themselves among them; NaN where a group has no value.
    """
    first, second = int(is_first.sum()), int((~is_first).sum())
    if not first or not second:
        return np.nan, np.nan
    widths, order = np.diff(values), np.argsort(block, kind="stable")
    labels, of_block = is_first[order], block[order]

    def wasserstein(firsts: BoolArray) -> FloatArray:
        weights = np.where(firsts, 1 / first, -1 / second)
        return np.asarray(np.abs(weights.cumsum(axis=1)[:, :-1]) @ widths)

    random, observed = np.random.default_rng(seed), float(wasserstein(is_first[None])[0])
    total, at_least, left = 0.0, 0, count
    while left:
        some = min(left, max(1, VALUES_AT_ONCE // len(values)))
        # Within each block the rows come in a random order, and take the labels one after another.
        keys = np.argsort(of_block + random.random((some, len(values))), axis=1)
        firsts = np.empty((some, len(values)), dtype=np.bool_)
        np.put_along_axis(firsts, order[keys], np.broadcast_to(labels, firsts.shape), axis=1)
        drawn = wasserstein(firsts)
        total, at_least = total + drawn.sum(), at_least + int((drawn >= observed - TOLERANCE).sum())
        left -= some
    return total / count, (at_least + 1) / (count + 1)
