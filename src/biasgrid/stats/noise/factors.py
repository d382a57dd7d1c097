"""How numbers vary with the units of a factor: clusters of templates, items, names, prompt
formats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource, p_values
from biasgrid.stats.noise.gain import crossing_of, gain_of
from biasgrid.stats.noise.trend import trend_of
from biasgrid.stats.noise.variance import (
    FEWEST_VARIANCES,
    NO_PRIOR,
    ROUNDING,
    Prior,
    jackknife,
    moderate_variances,
    without_rounding,
)
from biasgrid.stats.shares import difference_of_shares, p_with_ties, shares_of_two
from biasgrid.stats.sums import DIFFERENCE, FORMATS, MEAN, Sums, leave_one_out, mean

SHARES = "difference of shares"
"""The intervals of differences of shares; see `shares.difference_of_shares`."""
SHARE_OF_TWO = "share of two"
"""The intervals of shares of choices between two, tested against one half; see
`shares.shares_of_two`.

Columns: how many cases choose the first, how many there are, and how many choose the second.
"""
MEAN_SHARE_OF_TWO = "mean share of two"
"""The intervals of means of such shares over units, each of which counts alike; see
`over_mean_shares`.

Columns: a unit's share of the first, 1, its share of the second, and how many cases it has.
"""
WITH_ADDED = (SHARES, SHARE_OF_TWO, MEAN_SHARE_OF_TWO)
"""Intervals that may have two added units."""
FEWEST_CASES = 3
"""With fewer cases a unit on average, shares of units are nearly single choices, for whose means t
is wrong.
"""


class OverFactor(NamedTuple):
    """How numbers vary with the units of their first factor; arrays of shape (numbers,).

    Attributes:
        without: shape (numbers, units), the numbers without each unit.
        source: their variance, strengthened by that of others where they are moderated.
        units: how many units they have anything of.
        prior: what their variances have in common.
        centre: around what their intervals lie, None where that is the numbers themselves.
        least_p: the least p that a test may have, None where there is none.
        gain: the variance due to units that multiply all numbers, None where there is no such gain.
        constant: which numbers are the same in all units, so that nothing is known of their
            variance; None of none.
        added: which numbers have two added units; None of none.
    """

    without: FloatArray
    source: VarianceSource
    units: IntArray
    prior: Prior
    centre: FloatArray | None = None
    least_p: FloatArray | None = None
    gain: VarianceSource | None = None
    constant: BoolArray | None = None
    added: BoolArray | None = None

    @property
    def sources(self) -> list[VarianceSource]:
        """All that the units make vary."""
        return [self.source] if self.gain is None else [self.source, self.gain]


def over_first_factor(sums: Sums, *, may_grow: bool = True) -> OverFactor:
    """Returns the variance of numbers over their first factor.

    Units of templates are from `Sums.clustered`.

    Args:
        sums: the numbers of a kind.
        may_grow: whether noise may grow with moderated numbers; not with shares, whose 0 is no less
            noisy than their 1.
    """
    if sums.interval == SHARES:
        return over_differences_of_shares(sums)
    if sums.interval == SHARE_OF_TWO:
        return over_shares_of_two(sums)
    if sums.interval == MEAN_SHARE_OF_TWO:
        return over_mean_shares(sums)
    without = sums.without
    units = sums.along[sums.factor].present.sum(axis=1)
    variance, _ = jackknife(without)
    is_constant = (variance == 0) & (units > 1)
    if sums.interval == "moderated t":
        source, prior, gain = over_moderated(sums, variance, units, may_grow=may_grow)
        # A number that borrows a variance from others is not constant any more.
        is_constant &= np.isnan(source.variance)
        return OverFactor(without, source, units, prior, gain=gain, constant=is_constant)
    source = VarianceSource(variance, (units - 1).astype(np.float64))
    return OverFactor(without, source, units, NO_PRIOR, constant=is_constant)


def over_differences_of_shares(sums: Sums) -> OverFactor:
    """Returns the variance of differences of shares, all with two added units.

    See `shares.difference_of_shares`.
    """
    along = sums.along[sums.factor]
    differences = difference_of_shares(along.sums)
    return OverFactor(
        sums.without,
        differences.source,
        along.present.sum(axis=1),
        NO_PRIOR,
        differences.centre,
        differences.sign_flip_p,
        added=np.ones(len(along.sums), dtype=np.bool_),
    )


def over_shares_of_two(sums: Sums) -> OverFactor:
    """Returns the variance of shares of choices between two, all with two added units.

    See `shares.shares_of_two`.
    """
    along = sums.along[sums.factor]
    shares = shares_of_two(along.sums)
    return OverFactor(
        sums.without,
        shares.source,
        along.present.sum(axis=1),
        NO_PRIOR,
        shares.centre,
        shares.least_p,
        added=np.ones(len(along.sums), dtype=np.bool_),
    )


def over_mean_shares(sums: Sums) -> OverFactor:
    """Returns how means over units of shares of choices between two vary: with t over units.

    Those whose units have fewer than `FEWEST_CASES` cases on average have two added units instead.
    As in `shares.shares_of_two` a tie is no evidence for the second, so p is at least that with
    half of the ties.
    """
    along = sums.along[sums.factor]
    units = along.present.sum(axis=1)
    with_added = shares_of_two(along.sums)
    without, values, df = sums.without, sums.values, units - 1.0
    variance, _ = jackknife(without)
    cases = along.sums[..., 3]
    is_few = cases.sum(axis=1) < FEWEST_CASES * units
    source = VarianceSource(
        np.where(is_few, with_added.source.variance, variance),
        np.where(is_few, with_added.source.df, df),
    )
    return OverFactor(
        without,
        source,
        units,
        NO_PRIOR,
        centre=np.where(is_few, with_added.centre, values),
        least_p=np.where(is_few, with_added.least_p, least_p_with_ties(sums, df)),
        constant=(variance == 0) & (units > 1) & ~is_few,
        added=is_few,
    )


def least_p_with_ties(sums: Sums, df: FloatArray) -> FloatArray:
    """Returns the p of mean shares of two with half of the ties, 1 where ties decide the side.

    Args:
        sums: mean shares, in columns of `MEAN_SHARE_OF_TWO`.
        df: shape (numbers,), degrees of freedom of their variances.
    """
    first, every, second, _ = np.moveaxis(sums.along[sums.factor].sums, -1, 0)
    halved = np.stack([(first + every - second) / 2, every], axis=-1)
    totals = halved.sum(axis=1)
    variance, _ = jackknife(leave_one_out(halved, totals, mean))
    apart = mean(totals) - sums.fair
    # Rounding leaves 1e-17 of a zero, whose sign is no evidence.
    apart = np.where(np.abs(apart) <= ROUNDING, 0.0, apart)
    p = p_values(apart, [VarianceSource(variance, df)])
    return p_with_ties(sums.values - sums.fair, apart, p)


def over_moderated(
    sums: Sums, variance: FloatArray, units: IntArray, *, may_grow: bool
) -> tuple[VarianceSource, Prior, VarianceSource | None]:
    """Returns the moderated variances of numbers, their prior, and the variance due to a gain.

    The last is None if there is no gain.

    Args:
        sums: the numbers of a kind.
        variance: shape (numbers,), their jackknife variances.
        units: shape (numbers,), of how many units they are.
        may_grow: whether clusters that multiply all numbers, and noise that grows with these, are
            looked for.
    """
    counts = units.astype(np.float64)
    along, values = sums.along[sums.factor], sums.values
    by_cluster = np.where(along.present, sums.finish(along.sums), np.nan)
    crossing = crossing_of(sums.keys, by_cluster)
    is_mean = sums.finish.name in (MEAN.name, DIFFERENCE.name)
    has_enough = np.count_nonzero(crossing.counted) >= FEWEST_VARIANCES
    if not (may_grow and is_mean and has_enough):
        source, prior = moderate_variances(variance, counts, crossing.counted)
        return source, prior, None
    gain = gain_of(along.sums, sums.finish, crossing)
    if gain.found.any():
        # The gain is a source of its own: only the residual is left to a number.
        residual = np.where(gain.found, divide(gain.residual, counts), variance)
        variance = without_rounding(residual, units, values)
    trend = trend_of(counts * variance, counts - 1, values, gain.residual, crossing.counted)
    source, prior = moderate_variances(variance, counts, crossing.counted, trend)
    return source, prior, gain.source if gain.found.any() else None


def over_names(sums: Sums, factor: str) -> VarianceSource:
    """Returns how much numbers vary with the units of another factor than the first."""
    along = sums.along[factor]
    without = leave_one_out(along.sums, sums.totals, sums.finish.function)
    variance, _ = jackknife(without)
    return VarianceSource(variance, along.present.sum(axis=1) - 1.0)


def sources_of_formats(sums: Sums, *, may_grow: bool) -> list[VarianceSource]:
    """Returns the variances of numbers over prompt formats, if there are several.

    They are computed as over a first factor.
    """
    if FORMATS not in sums.along:
        return []
    if sums.interval in WITH_ADDED:
        return [over_names(sums, FORMATS)]
    of_formats = replace(sums, along={FORMATS: sums.along[FORMATS]})
    over_formats = over_first_factor(of_formats, may_grow=may_grow)
    source, *gain = over_formats.sources
    # Formats in which numbers are all the same add nothing to what clusters tell.
    is_constant = np.isnan(source.variance) & (over_formats.units > 1)
    variance = np.where(is_constant, 0.0, source.variance)
    return [source._replace(variance=variance), *gain]
