"""Intervals and tests of differences and ratios of two shares over clusters, items or prompts, and
of choices of two.

A difference of shares has no interval of width 0: two clusters are added that contradict each other
(Agresti and Min, Biometrics 2005, here with clusters). A share of choices between two is such a
difference, too. Clusters of unequal size vary by their residuals from the pooled shares, as ratios
do (Cochran, Sampling Techniques, 1977, chapter 6). Of a ratio both Wilson intervals are joined
(MOVER-R; Donner and Zou, 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, divide
from biasgrid.stats.intervals import VarianceSource, p_values

MOST_FLIPPED = 16
"""Of how many clusters that differ at most all signs are tried."""
SAME = 1e-12
"""Sums of flipped differences that are as large but for rounding count as such."""
ADDED_CLUSTERS = 2


def are_shares(values: FloatArray) -> bool:
    """Says whether values are all 0 or 1, so that their means are shares; those that are not there
    are NaN.
    """
    return bool(np.isin(values[~np.isnan(values)], (0, 1)).all())


class ShareDifferences(NamedTuple):
    """What is known of differences of two shares; arrays of shape (numbers,).

    Attributes:
        centre: the difference with the two added clusters, around which its interval lies.
        source: the variance of the centre, and its degrees of freedom.
        sign_flip_p: p of an exact test by signs, 0 where there is none: groups in different
            clusters, or many of these.
        paired: whether each cluster asks both groups.
    """

    centre: FloatArray
    source: VarianceSource
    sign_flip_p: FloatArray
    paired: BoolArray


def estimate_share_differences(sums: FloatArray) -> ShareDifferences:
    """Returns intervals and exact p of differences of pooled shares.

    Clusters of unequal size vary by the residuals of what they count, so that the design alone does
    not.

    Args:
        sums: shape (numbers, clusters, 4), how many are counted and of how many cases, of the one
            group and of the other; 0 cases where a cluster does not ask a group.
    """
    counted, cases = sums[..., 0::2], sums[..., 1::2]
    asked = cases > 0
    shares, clusters, free = cluster_shares(counted, cases)
    is_paired = (asked[..., 0] == asked[..., 1]).all(axis=1)
    # Paired: the two added clusters have the differences 1 and -1.
    apart = shares[..., 0] - shares[..., 1]
    pairs = clusters[:, 0] + ADDED_CLUSTERS
    pair_mean = apart.sum(axis=1) / pairs
    pair_variance = (((apart**2).sum(axis=1) + 1) / pairs - pair_mean**2) / pairs
    # Not paired: in each group one of them has the share 1, the other 0.
    with_added = clusters + ADDED_CLUSTERS
    group_means = (shares.sum(axis=1) + 1) / with_added
    group_squares = ((shares**2).sum(axis=1) + 1) / with_added
    variances = (group_squares - group_means**2) / with_added
    total = variances.sum(axis=1)
    welch_df = divide(total**2, divide(variances**2, free).sum(axis=1))
    centre = np.where(is_paired, pair_mean, group_means[:, 0] - group_means[:, 1])
    variance = np.where(is_paired, pair_variance, total)
    df = np.where(is_paired, free.min(axis=1), welch_df)
    has_enough = (clusters > 1).all(axis=1)
    source = VarianceSource(np.where(has_enough, variance, np.nan), np.where(has_enough, df, 0))
    exact_p = np.zeros(len(apart))
    for number in np.flatnonzero(is_paired):
        exact_p[number] = sign_flip_p(apart[number])
    return ShareDifferences(centre, source, exact_p, is_paired)


class ClusterShares(NamedTuple):
    """Shares of two groups in clusters.

    Attributes:
        shares: shape (numbers, clusters, groups), the pooled share plus the cluster's residual, in
            units of a cluster of mean size; a cluster's own share where all have as many cases. 0
            where a cluster does not ask a group.
        clusters: shape (numbers, groups), how many clusters ask a group.
        df: shape (numbers, groups), degrees of freedom: to how many clusters of equal size they
            amount, less 1.
    """

    shares: FloatArray
    clusters: FloatArray
    df: FloatArray


def cluster_shares(counted: FloatArray, cases: FloatArray) -> ClusterShares:
    """Returns shares of clusters whose mean is the pooled share, and which do not vary with the
    clusters' sizes.

    Args:
        counted: shape (numbers, clusters, groups), how many are counted.
        cases: the same shape, of how many.
    """
    asked = cases > 0
    clusters = asked.sum(axis=1).astype(np.float64)
    whole = cases.sum(axis=1)
    pooled = divide(counted.sum(axis=1), whole)
    totals = counted * divide(clusters, whole)[:, None]
    # Not times the quotient, so that it is 0 to the last digit where sizes are equal.
    beyond_mean_size = divide(clusters[:, None] * cases, whole[:, None]) - 1
    shares = np.where(asked, totals - pooled[:, None] * beyond_mean_size, 0.0)
    effective = divide(whole**2, (cases**2).sum(axis=1))
    return ClusterShares(shares, clusters, np.maximum(np.nan_to_num(effective) - 1, 0))


def sign_flip_p(differences: FloatArray) -> float:
    """Returns the share of sign changes that make a sum at least as large in size; 0 where these
    are too many.

    Args:
        differences: shape (clusters,); if one is 0 but for rounding, its sign changes nothing.
    """
    moved = differences[np.abs(differences) > SAME]
    if len(moved) > MOST_FLIPPED:
        return 0.0
    sums = np.zeros(1)
    for difference in moved:
        sums = np.concatenate([sums + difference, sums - difference])
    return float((np.abs(sums) >= abs(differences.sum()) - SAME).mean())


class ChoiceShares(NamedTuple):
    """What is known of shares of choices between two; arrays of shape (numbers,).

    Attributes:
        centre: the share with the two added units, around which its interval lies.
        source: the variance of the centre, and its degrees of freedom.
        p_floor: the least p that a test against one half may have.
    """

    centre: FloatArray
    source: VarianceSource
    p_floor: FloatArray


def estimate_choice_shares(sums: FloatArray) -> ChoiceShares:
    """Returns intervals of shares of choices between two, and what limits their tests against one
    half.

    A case chooses the first, the second, or neither (a tie). The share counts ties as not the
    first, so that its difference from one half is half the difference of the shares of cases with
    and without the first: interval and test are those of `estimate_share_differences`. A tie is no
    evidence for the second, so p is also at least that of the first less the second, where a tie
    counts for neither, and 1 where ties alone put the share below one half. Without ties both tests
    are the same.

    Args:
        sums: shape (numbers, units, 3 or more), how many cases choose the first, how many there
            are, and how many choose the second; further columns are not read.
    """
    first, cases, second = np.moveaxis(sums[..., :3], -1, 0)
    share = estimate_share_differences(np.stack([first, cases, cases - first, cases], axis=-1))
    decided = estimate_share_differences(np.stack([first, cases, second, cases], axis=-1))
    p = np.fmax(p_values(decided.centre, [decided.source]), decided.sign_flip_p)
    p_floor = np.fmax(share.sign_flip_p, p_with_ties(share.centre, decided.centre, p))
    variance, df = share.source
    return ChoiceShares((1 + share.centre) / 2, VarianceSource(variance / 4, df), p_floor)


def p_with_ties(apart: FloatArray, decided: FloatArray, p: FloatArray) -> FloatArray:
    """Returns the p of shares whose ties count for neither side, 1 where ties alone decide the
    side.

    Args:
        apart: shape (numbers,), shares less one half, or twice as much.
        decided: the same with half of the ties in the share.
        p: of tests of `decided`.
    """
    return np.where(np.sign(apart) == np.sign(decided), p, 1.0)


class ShareWithInterval(NamedTuple):
    """Shares with both ends of their intervals; arrays of shape (numbers,)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def only(self, place: int) -> ShareWithInterval:
        """Returns a single share, shape (1,)."""
        chosen = slice(place, place + 1)
        return ShareWithInterval(self.value[chosen], self.low[chosen], self.high[chosen])


def share_ratio_interval(
    one: ShareWithInterval, other: ShareWithInterval
) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of the interval of one share by another, taken as uncorrelated (MOVER-R).

    Returns:
        Shape (numbers,); the upper end is infinite where the other share may be 0.
    """
    product = one.value * other.value
    below = one.low * (2 * one.value - one.low), other.high * (2 * other.value - other.high)
    above = one.high * (2 * one.value - one.high), other.low * (2 * other.value - other.low)
    with np.errstate(invalid="ignore", divide="ignore"):
        low = below[0] / (product + np.sqrt(product**2 - below[0] * below[1]))
        high = (product + np.sqrt(product**2 - above[0] * above[1])) / above[1]
    known = ~np.isnan(one.low) & ~np.isnan(other.low)
    low = np.where(one.value <= 0, 0.0, low)
    high = np.where((other.value <= 0) | (other.low <= 0), np.inf, high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)
