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
    values: FloatArray, counts: FloatArray, first_list_size: int | None, most: int, seed: int
) -> PermutationResult:
    """Permutes subjects independently in every cluster, all attributes of a cluster together.

    Valid where no subject differs from another in a way that clusters share.

    Args:
        values: shape (subjects, attributes, clusters): the associations C of one list, or
            `utilities` of two lists. Values of which `counts` is 0 are ignored.
        counts: the same shape, the number of comparisons, 0 if nothing was asked.
        first_list_size: how many subjects, the leading ones, form the first of two lists; None for
            one list. It decides what `values` are.
        most: how many permutations are drawn if there are too many to try all.
        seed: seed of the drawn permutations.

    Returns:
        p is NaN, of 0 permutations, with fewer than two clusters or without any association.
    """
    subjects, _, clusters = values.shape
    if clusters < 2:
        return PermutationResult(float("nan"), 0, exact=False)
    # Weights, because subjects of one list may have more partners than those of the other.
    shares = np.nan_to_num(divide(counts, counts.sum(axis=-1, keepdims=True)))
    products = np.where(counts > 0, values, 0) * shares
    columns = np.stack([products, shares], axis=-1)
    weighted = np.ascontiguousarray(np.moveaxis(columns, 2, 0))
    as_measured = np.tile(np.arange(subjects), (1, clusters, 1))
    observed = permuted_mu(weighted, as_measured, first_list_size)[0]
    if np.isnan(observed):
        return PermutationResult(float("nan"), 0, exact=False)
    # The same order in all clusters changes nothing in one list; in two it changes who is of which.
    fixed = 1 if first_list_size is None else 0
    # More than 20 subjects are too many in any case, and their factorial is no float.
    log_orders = (clusters - fixed) * np.log(float(factorial(min(subjects, 20))))
    exact = bool(log_orders <= np.log(MOST_PERMUTATIONS))
    size = max(1, VALUES_AT_ONCE // values.size)
    if exact:
        orders = all_orders(subjects, clusters, fixed, size)
    else:
        orders = drawn_orders(subjects, clusters, fixed, size, most, seed)
    at_least = total = 0
    for some_orders in orders:
        mu = permuted_mu(weighted, some_orders, first_list_size)
        at_least += int(np.count_nonzero(mu >= observed - TOLERANCE))
        total += len(some_orders)
    # The measured order counts as one of the drawn ones, so that p is never 0.
    p = at_least / total if exact else (at_least + 1) / (total + 1)
    return PermutationResult(p, total, exact)


def all_orders(subjects: int, clusters: int, fixed: int, size: int) -> Iterator[IntArray]:
    """Yields all orders of subjects in clusters, some at a time; the first `fixed` clusters stay.

    Yields:
        Shape (orders, clusters, subjects).
    """
    orders_of_cluster = np.array(list(permutations(range(subjects))))
    shape = (len(orders_of_cluster),) * (clusters - fixed)
    for start in range(0, prod(shape), size):
        numbers = np.arange(start, min(start + size, prod(shape)))
        orders = np.tile(np.arange(subjects), (len(numbers), clusters, 1))
        for cluster, place in enumerate(np.unravel_index(numbers, shape), start=fixed):
            orders[:, cluster] = orders_of_cluster[place]
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


def permuted_mu(weighted: FloatArray, orders: IntArray, first_list_size: int | None) -> FloatArray:
    """Returns mu of each order.

    Args:
        weighted: shape (clusters, subjects, attributes, 2): values times their
            weights, and the weights.
        orders: shape (orders, clusters, subjects): the position of the subject whose values each
            subject gets.
        first_list_size: see `permutation_test`.
    """
    sums = np.zeros((len(orders), *weighted.shape[1:]))
    for cluster in range(len(weighted)):
        sums += weighted[cluster][orders[:, cluster]]
    means = divide(sums[..., 0], sums[..., 1])
    if first_list_size is not None:
        means = as_associations(means, first_list_size)
    return statistic(means, "mu")


def as_associations(utilities: FloatArray, first_list_size: int) -> FloatArray:
    """Returns the associations of two lists: half of a utility less the mean of the other list.

    Args:
        utilities: shape (..., subjects, attributes).
        first_list_size: how many subjects, the leading ones, form the first list.
    """
    one, other = utilities[..., :first_list_size, :], utilities[..., first_list_size:, :]
    one_mean = np.nanmean(one, axis=-2, keepdims=True)
    other_mean = np.nanmean(other, axis=-2, keepdims=True)
    return np.concatenate([(one - other_mean) / 2, (other - one_mean) / 2], axis=-2)


def utilities(values: FloatArray, first_list_size: int | None) -> FloatArray:
    """Returns utilities u of subjects, such that C(x, y) is (u(x) - u(y)) / 2.

    Args:
        values: shape (subjects, attributes, clusters), associations by cluster.
        first_list_size: how many subjects, the leading ones, form the first of two lists; None for
            one list.
    """
    if first_list_size is None:
        return 2 * (len(values) - 1) / len(values) * values
    mean = np.nanmean(values[:first_list_size], axis=0, keepdims=True)
    return np.concatenate(
        [2 * values[:first_list_size] - mean, 2 * values[first_list_size:] + mean]
    )


def permuted_distance(
    values: FloatArray, block: IntArray, is_first: BoolArray, count: int, seed: int
) -> tuple[float, float]:
    """Permutes the values of two groups within blocks, as if groups made no difference.

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
    if is_first.all() or not is_first.any():
        return np.nan, np.nan
    random = np.random.default_rng(seed)
    observed = float(wasserstein_distances(values, is_first[None])[0])
    order = np.argsort(block, kind="stable")
    labels, block_in_order = is_first[order], block[order]
    total, at_least, remaining = 0.0, 0, count
    while remaining:
        drawn = min(remaining, max(1, VALUES_AT_ONCE // len(values)))
        # Within each block the rows come in a random order, and take the labels one after another.
        keys = np.argsort(block_in_order + random.random((drawn, len(values))), axis=1)
        permuted = np.empty((drawn, len(values)), dtype=np.bool_)
        np.put_along_axis(permuted, order[keys], np.broadcast_to(labels, permuted.shape), axis=1)
        distances = wasserstein_distances(values, permuted)
        total += distances.sum()
        at_least += int((distances >= observed - TOLERANCE).sum())
        remaining -= drawn
    return total / count, (at_least + 1) / (count + 1)


def wasserstein_distances(values: FloatArray, is_first: BoolArray) -> FloatArray:
    """Returns the Wasserstein-1 distance of two groups, for several ways to divide values.

    Args:
        values: shape (values,), ascending.
        is_first: shape (divisions, values), whether each value is of the first group; each group
            has the same size in all divisions.

    Returns:
        Shape (divisions,).
    """
    first = int(is_first[0].sum())
    second = len(values) - first
    weights = np.where(is_first, 1 / first, -1 / second)
    # The distance is the area between both distribution functions.
    return np.asarray(np.abs(weights.cumsum(axis=1)[:, :-1]) @ np.diff(values))
