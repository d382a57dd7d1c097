"""Intervals of shares, and of differences and ratios of groups, over items and names of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width, p_values, wilson_interval
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.noise.random_factors import (
    NAMES,
    first_factor_variance,
    list_source,
    other_factor_variance,
)
from biasgrid.stats.shares import (
    ShareWithInterval,
    estimate_share_differences,
    share_ratio_interval,
)
from biasgrid.stats.sums import DIFFERENCE, MEAN, PAIR_OF_LISTS, Sums, leave_one_out

ITEMS = "items"
"""The factor of items. Names are the factor `NAMES`; in differences of groups, `PAIR_OF_LISTS`."""
RANGE_STEPS = 2001
WILSON = "effective Wilson"
ANY_RATIO = "the other rate may be 0, so the ratio can be any number"
"""Why a ratio has no interval."""
PAIR = (0, 1)
"""The places of two groups."""


class Claim(NamedTuple):
    """The interval and test of a number over items and names.

    Attributes:
        low: lower end of the interval, NaN without an interval.
        high: upper end, likewise.
        method: the name of the interval.
        items_part: the share of the interval's squared width that is due to items, NaN if the
            number has no names.
        p: p of no difference, NaN if it is not tested.
        null_mean: the expected number without any difference, NaN if that is 0.
        reason: why there is no interval; None if there is one, or if the usual reasons apply.
    """

    low: float
    high: float
    method: str
    items_part: float = np.nan
    p: float = np.nan
    null_mean: float = np.nan
    reason: str | None = None


class SharesOverNames(NamedTuple):
    """Shares with intervals over items and names; arrays of shape (numbers,).

    Attributes:
        shares: the shares with both ends.
        items_part: the share of their squared widths that is due to items, NaN where names have
            none.
    """

    shares: ShareWithInterval
    items_part: FloatArray


def shares_over_names(part: Sums, alpha: float) -> SharesOverNames:
    """Returns shares with Wilson's intervals over items, made wider by the variance over names.

    An end is as far from the share as the root of the sum of both squared distances (MOVER; Zou and
    Donner, 2008).
    """
    of_means = replace(part, finish=MEAN)
    values, units = of_means.values, part.along[ITEMS].present.sum(axis=1)
    variance, _ = jackknife(of_means.without)
    cases = part.keys["cases"].cast(pl.Float64).to_numpy()
    low, high, _ = wilson_interval(
        values, independent_cases=cases, variance=variance, clusters=units, alpha=alpha
    )
    if NAMES not in part.along:
        return SharesOverNames(ShareWithInterval(values, low, high), np.full(len(values), np.nan))
    half_over_names = half_width([other_factor_variance(of_means, NAMES)], alpha)
    moved_low = np.clip(values - np.hypot(values - low, half_over_names), 0, 1)
    moved_high = np.clip(values + np.hypot(high - values, half_over_names), 0, 1)
    item_square = ((high - low) / 2) ** 2
    items_part = item_square / (item_square + half_over_names**2)
    return SharesOverNames(ShareWithInterval(values, moved_low, moved_high), items_part)


def without_sign(low: float, high: float) -> tuple[float, float]:
    """Returns the ends of the interval of a size from the signed ends, NaN of unknown ones."""
    if np.isnan(low + high):
        return np.nan, np.nan
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return nearest, max(abs(low), abs(high))


class GroupDifference(NamedTuple):
    """The difference of two groups.

    Attributes:
        centre: shape (1,), the centre of its interval.
        sources: its variance over items, then over names if the groups have names.
        p_floor: a smaller p is raised to it; 0 if there is none.
    """

    centre: FloatArray
    sources: Sequence[VarianceSource]
    p_floor: float

    @property
    def variances(self) -> list[float]:
        """The variance of each source."""
        return [float(source.variance[0]) for source in self.sources]

    def ends(self, alpha: float) -> tuple[float, float]:
        """Returns both ends of its interval, which holds 0 unless the exact test rejects it."""
        half = half_width(self.sources, alpha)
        low, high = float((self.centre - half)[0]), float((self.centre + half)[0])
        if self.p > alpha:
            return min(low, 0.0), max(high, 0.0)
        return low, high

    @property
    def p(self) -> float:
        """P of no difference."""
        return float(np.maximum(p_values(self.centre, self.sources), self.p_floor)[0])


def estimate_group_difference(
    groups: Sums, one: int, other: int, *, has_shares: bool
) -> GroupDifference:
    """Returns the difference of two of some groups.

    Args:
        groups: the number of each group, with sums over items and perhaps over names.
        one: the place of a group.
        other: the place of the group that is subtracted.
        has_shares: whether the numbers are shares.
    """
    items = pair_columns(groups.along[ITEMS].sums, one, other)
    of_names = []
    if NAMES in groups.along:
        names = pair_columns(groups.along[NAMES].sums, one, other)
        of_names.append(list_source(names))
    if has_shares:
        apart = estimate_share_differences(items)
        return GroupDifference(apart.centre, [apart.source, *of_names], float(apart.sign_flip_p[0]))
    totals = items.sum(axis=1)
    variance, units = jackknife(leave_one_out(items, totals, DIFFERENCE.function))
    of_items = VarianceSource(variance, (units - 1).astype(np.float64))
    return GroupDifference(DIFFERENCE(totals), [of_items, *of_names], 0.0)


def pair_columns(sums: FloatArray, one: int, other: int) -> FloatArray:
    """Joins the sums of two groups into the columns of their difference, shape (1, units, 4)."""
    return np.concatenate([sums[one], sums[other]], axis=-1)[None]


def ratio_claim(groups: Sums, *, is_directed: bool, alpha: float) -> Claim:
    """Returns the interval of the ratio of two shares (MOVER-R).

    Args:
        groups: the shares of two groups.
        is_directed: whether the ratio is first / second; else it is smaller / larger.
        alpha: how often the interval misses.
    """
    shares, items = shares_over_names(groups, alpha)
    one, other = (shares.only(place) for place in PAIR)
    lows, highs = share_ratio_interval(one, other)
    low, high = float(lows[0]), float(highs[0])
    method = "MOVER-R"
    if np.isnan(low):
        return Claim(np.nan, np.nan, method)
    items_part = float(items.mean())
    if not is_directed:
        return Claim(*smaller_by_larger_ends(low, high), method, items_part)
    if np.isinf(high):
        return Claim(np.nan, np.nan, method, reason=ANY_RATIO)
    return Claim(low, high, method, items_part)


def smaller_by_larger_ends(low: float, high: float) -> tuple[float, float]:
    """Returns the ends of the interval of a ratio of the smaller by the larger one.

    Args:
        low: lower end of the ratio in one direction, 0 or more.
        high: its upper end, perhaps infinite.
    """
    if low <= 1 <= high:
        return min(low, 1 / high), 1.0
    if high < 1:
        return low, high
    return 1 / high, 1 / low if low > 0 else np.inf


def gap_claim(groups: Sums, *, has_shares: bool, alpha: float) -> Claim:
    """Returns the claim of the largest difference of groups.

    Its ends are the largest ones of the sizes of all differences, which hold together (Bonferroni).
    Noise alone gives the expected range of as many normal numbers with the variance of these
    differences.
    """
    count = len(groups.keys)
    pairs = [
        estimate_group_difference(groups, one, other, has_shares=has_shares)
        for one, other in combinations(range(count), 2)
    ]
    sizes = [without_sign(*pair.ends(alpha / len(pairs))) for pair in pairs]
    low, high = (float(end) for end in np.array(sizes).max(axis=0))
    p = min(1.0, len(pairs) * float(np.min([pair.p for pair in pairs])))
    variances = np.array([pair.variances for pair in pairs])
    # A difference has the variance of two groups.
    group_variance = variances.sum(axis=1).mean() / 2
    return Claim(
        low,
        min(high, 1.0) if has_shares else high,
        "differences of groups",
        mean_items_share(pairs, alpha) if NAMES in groups.along else np.nan,
        p,
        null_mean=expected_range(count) * float(np.sqrt(group_variance)),
    )


def mean_items_share(pairs: Sequence[GroupDifference], alpha: float) -> float:
    """Returns the mean of the shares of squared widths of differences that are due to items.

    Args:
        pairs: differences of groups, whose first source is items.
        alpha: how often their intervals miss.
    """
    shares = []
    for pair in pairs:
        squares = np.array([squared_half_width(source, alpha) for source in pair.sources])
        shares.append(squares[0] / squares.sum())
    return float(np.mean(shares))


def squared_half_width(source: VarianceSource, alpha: float) -> float:
    """Returns the square of half the width of an interval over one factor, of a single number."""
    return float(half_width([source], alpha)[0]) ** 2


def expected_range(count: int) -> float:
    """Returns the mean of the range of so many standard normal numbers (Tippett, 1925)."""
    x = np.linspace(-10, 10, RANGE_STEPS)
    below = ndtr(x)
    return float(np.trapezoid(1 - below**count - (1 - below) ** count, x))


def items_share(part: Sums, alpha: float) -> float:
    """Returns which share of the squared width of a difference's interval is due to items."""
    items = squared_half_width(first_factor_variance(part).source, alpha)
    names = squared_half_width(list_source(part.along[PAIR_OF_LISTS].sums), alpha)
    return items / (items + names) if items + names > 0 else np.nan
