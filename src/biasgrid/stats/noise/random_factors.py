"""Variances over random factors: clusters of templates, items, names, persons, formats."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource, p_values
from biasgrid.stats.noise.jackknife import RELATIVE_ROUNDING, ROUNDING, jackknife, without_rounding
from biasgrid.stats.noise.moderated_variances import (
    FEWEST_VARIANCES,
    NO_PRIOR,
    Prior,
    estimate_gain,
    fit_trend,
    moderate_variances,
    read_crossing,
)
from biasgrid.stats.shares import estimate_choice_shares, estimate_share_differences, p_with_ties
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    PROMPT_FORMATS,
    Along,
    Sums,
    leave_one_out,
    mean,
)
from biasgrid.tables.key_columns import KEYS, group_keys

SHARES = "difference of shares"
"""The intervals of differences of shares; see `shares.estimate_share_differences`."""
SHARE_OF_TWO = "share of two"
"""The intervals of shares of choices between two, tested against one half; see
`shares.estimate_choice_shares`.

Columns: how many cases choose the first, how many there are, and how many choose the second.
"""
MEAN_SHARE_OF_TWO = "mean share of two"
"""The intervals of means of such shares over units, each of which counts alike; see
`mean_choice_share_variance`.

Columns: a unit's share of the first, 1, its share of the second, and how many cases it has.
"""
WITH_ADDED = (SHARES, SHARE_OF_TWO, MEAN_SHARE_OF_TWO)
"""Intervals that may have two added units."""
FEWEST_CASES = 3
"""With fewer cases a unit on average, shares of units are nearly single choices, for whose means t
is wrong.
"""


class FactorVariance(NamedTuple):
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


def first_factor_variance(sums: Sums, *, may_grow: bool = True) -> FactorVariance:
    """Returns the variance of numbers over their first factor.

    Units of templates are from `Sums.clustered`.

    Args:
        sums: the numbers of a kind.
        may_grow: whether noise may grow with moderated numbers; not with shares, whose 0 is no less
            noisy than their 1.
    """
    if sums.interval == SHARES:
        return share_difference_variance(sums)
    if sums.interval == SHARE_OF_TWO:
        return choice_share_variance(sums)
    if sums.interval == MEAN_SHARE_OF_TWO:
        return mean_choice_share_variance(sums)
    without = sums.without
    units = sums.along[sums.factor].present.sum(axis=1)
    variance, _ = jackknife(without)
    is_constant = (variance == 0) & (units > 1)
    if sums.interval == "moderated t":
        source, prior, gain = over_moderated(sums, variance, units, may_grow=may_grow)
        # A number that borrows a variance from others is not constant any more.
        is_constant &= np.isnan(source.variance)
        return FactorVariance(without, source, units, prior, gain=gain, constant=is_constant)
    source = VarianceSource(variance, (units - 1).astype(np.float64))
    return FactorVariance(without, source, units, NO_PRIOR, constant=is_constant)


def share_difference_variance(sums: Sums) -> FactorVariance:
    """Returns the variance of differences of shares, all with two added units.

    See `shares.estimate_share_differences`.
    """
    along = sums.along[sums.factor]
    differences = estimate_share_differences(along.sums)
    return FactorVariance(
        sums.without,
        differences.source,
        along.present.sum(axis=1),
        NO_PRIOR,
        differences.centre,
        differences.sign_flip_p,
        added=np.ones(len(along.sums), dtype=np.bool_),
    )


def choice_share_variance(sums: Sums) -> FactorVariance:
    """Returns the variance of shares of choices between two, all with two added units.

    See `shares.estimate_choice_shares`.
    """
    along = sums.along[sums.factor]
    shares = estimate_choice_shares(along.sums)
    return FactorVariance(
        sums.without,
        shares.source,
        along.present.sum(axis=1),
        NO_PRIOR,
        shares.centre,
        shares.least_p,
        added=np.ones(len(along.sums), dtype=np.bool_),
    )


def mean_choice_share_variance(sums: Sums) -> FactorVariance:
    """Returns how means over units of shares of choices between two vary: with t over units.

    Those whose units have fewer than `FEWEST_CASES` cases on average have two added units instead.
    As in `shares.estimate_choice_shares` a tie is no evidence for the second, so p is at least
    that with half of the ties.
    """
    along = sums.along[sums.factor]
    units = along.present.sum(axis=1)
    with_added = estimate_choice_shares(along.sums)
    without, values, df = sums.without, sums.values, units - 1.0
    variance, _ = jackknife(without)
    cases = along.sums[..., 3]
    is_few = cases.sum(axis=1) < FEWEST_CASES * units
    source = VarianceSource(
        np.where(is_few, with_added.source.variance, variance),
        np.where(is_few, with_added.source.df, df),
    )
    return FactorVariance(
        without,
        source,
        units,
        NO_PRIOR,
        centre=np.where(is_few, with_added.centre, values),
        least_p=np.where(is_few, with_added.least_p, p_floor_with_ties(sums, df)),
        constant=(variance == 0) & (units > 1) & ~is_few,
        added=is_few,
    )


def p_floor_with_ties(sums: Sums, df: FloatArray) -> FloatArray:
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
    crossing = read_crossing(sums.keys, by_cluster)
    is_mean = sums.finish.name in (MEAN.name, DIFFERENCE.name)
    has_enough = np.count_nonzero(crossing.counted) >= FEWEST_VARIANCES
    if not (may_grow and is_mean and has_enough):
        source, prior = moderate_variances(variance, counts, crossing.counted)
        return source, prior, None
    gain = estimate_gain(along.sums, sums.finish, crossing)
    if gain.found.any():
        # The gain is a source of its own: only the residual is left to a number.
        residual = np.where(gain.found, divide(gain.residual, counts), variance)
        variance = without_rounding(residual, units, values)
    trend = fit_trend(counts * variance, counts - 1, values, gain.residual, crossing.counted)
    source, prior = moderate_variances(variance, counts, crossing.counted, trend)
    return source, prior, gain.source if gain.found.any() else None


def other_factor_variance(sums: Sums, factor: str) -> VarianceSource:
    """Returns how much numbers vary with the units of another factor than the first."""
    along = sums.along[factor]
    without = leave_one_out(along.sums, sums.totals, sums.finish.function)
    variance, _ = jackknife(without)
    return VarianceSource(variance, along.present.sum(axis=1) - 1.0)


def format_sources(sums: Sums, *, may_grow: bool) -> list[VarianceSource]:
    """Returns the variances of numbers over prompt formats, if there are several.

    They are computed as over a first factor.
    """
    if PROMPT_FORMATS not in sums.along:
        return []
    if sums.interval in WITH_ADDED:
        return [other_factor_variance(sums, PROMPT_FORMATS)]
    of_formats = replace(sums, along={PROMPT_FORMATS: sums.along[PROMPT_FORMATS]})
    over_formats = first_factor_variance(of_formats, may_grow=may_grow)
    source, *gain = over_formats.sources
    # Formats in which numbers are all the same add nothing to what clusters tell.
    is_constant = np.isnan(source.variance) & (over_formats.units > 1)
    variance = np.where(is_constant, 0.0, source.variance)
    return [source._replace(variance=variance), *gain]


NAMES, PARTNERS = "subjects", "others"
"""The factors of numbers of groups of names: those of the group, and those of others that they are
compared with.
"""


class Side(NamedTuple):
    """The names on one side of numbers.

    Attributes:
        means: shape (numbers, names), of each name, NaN where a number has nothing of it.
        weights: shape (numbers, names), how much of the side's mean is a name's.
        groups: shape (names,), the group of each name, as only names of one group are alike.
    """

    means: FloatArray
    weights: FloatArray
    groups: IntArray

    @classmethod
    def of(cls, sums: FloatArray, groups: IntArray) -> Side:
        """Makes it of sums of shape (numbers, names, 2), sum and count."""
        counts = sums[..., 1]
        means = divide(sums[..., 0], counts)
        weights = divide(counts, counts.sum(axis=1, keepdims=True))
        return cls(means, weights, groups)

    def only(self, numbers: IntArray) -> Side:
        """Returns the names of some numbers."""
        return Side(self.means[numbers], self.weights[numbers], self.groups)

    @property
    def spread(self) -> FloatArray:
        """The variance of the side's mean in variances of a name: 1 / names where names weigh
        alike.
        """
        return np.asarray((self.weights**2).sum(axis=1))


class Deviations(NamedTuple):
    """How far names are from the mean of their group.

    Attributes:
        values: shape (numbers, names), 0 where a number has nothing of a name.
        df: shape (numbers,), degrees of freedom: names less groups.
    """

    values: FloatArray
    df: FloatArray

    @classmethod
    def of(cls, values: FloatArray, groups: IntArray) -> Deviations:
        """Subtracts the means of groups from values of shape (numbers, names), NaN for none."""
        deviations, df = np.zeros_like(values), np.zeros(len(values))
        for group in np.unique(groups):
            is_own = groups == group
            own = values[:, is_own]
            known = ~np.isnan(own)
            count = known.sum(axis=1)
            means = divide(np.where(known, own, 0).sum(axis=1), count)
            deviations[:, is_own] = np.where(known, own - means[:, None], 0)
            df += np.maximum(count - 1.0, 0)
        return cls(deviations, df)

    @property
    def squares(self) -> FloatArray:
        """The sum of their squares, shape (numbers,)."""
        return np.asarray((self.values**2).sum(axis=1))


def group_sources(sums: Sums) -> list[VarianceSource]:
    """Returns the variance of numbers of groups over names: one source, or two.

    There are two with ten attributes or more.

    Args:
        sums: numbers of two groups, along `terms`, or of a group and its partners, along `subjects`
            and `others`.

    Returns:
        Variances are NaN where a side has no two names of one group.
    """
    one, other = name_sides(sums)
    sets = numbers_by_names(sums)
    # With fewer numbers of the same names no variance of one attribute is known well enough.
    is_divided = min(map(len, sets), default=0) >= FEWEST_VARIANCES
    sources = np.full((2 if is_divided else 1, 2, len(sums.keys)), np.nan)
    for numbers in sets:
        sides = one.only(numbers), other.only(numbers)
        sources[..., numbers] = split_name_variance(*sides) if is_divided else [welch(*sides)]
    return [VarianceSource(variance, df) for variance, df in sources]


def unpooled_group_source(sums: Sums) -> VarianceSource:
    """Returns how numbers of groups vary with names, each told from its own names alone; see
    `welch`.
    """
    return welch(*name_sides(sums))


def has_two_sides(sums: Sums) -> bool:
    """Says whether names stand on two sides of numbers, so that variances of both add up."""
    return PAIR_OF_LISTS in sums.along or {NAMES, PARTNERS} <= {*sums.along}


def name_sides(sums: Sums) -> tuple[Side, Side]:
    """Returns the names on both sides of numbers."""
    if PAIR_OF_LISTS in sums.along:
        return list_sides(sums.along[PAIR_OF_LISTS].sums)
    groups = name_groups(sums)
    names = Side.of(sums.along[NAMES].sums, groups[NAMES])
    partners = Side.of(sums.along[PARTNERS].sums, groups[PARTNERS])
    return names, partners


def list_sides(sums: FloatArray) -> tuple[Side, Side]:
    """Returns the terms on both sides of differences of two lists, of shape (numbers, terms, 4)."""
    alike = np.zeros(sums.shape[1], dtype=np.int64)
    return Side.of(sums[..., :2], alike), Side.of(sums[..., 2:], alike)


def lists_source(sums: FloatArray) -> VarianceSource:
    """Returns how much differences of two lists vary with their terms.

    Args:
        sums: shape (numbers, terms, 4), sum and count of the terms of one list, and of the other.
    """
    return welch(*list_sides(sums))


def name_groups(sums: Sums) -> dict[str, IntArray]:
    """Returns the group of each name, by factor.

    Numbers of a group have only its own names along `subjects`.
    """
    names, present = sums.along[NAMES].units, sums.along[NAMES].present
    group_of: dict[str, int] = {}
    for key in group_keys("who"):
        if key not in sums.keys.columns:
            continue
        codes = sums.keys[key].cast(pl.String).rank("dense").fill_null(0).to_list()
        for is_own, code in zip(present, codes, strict=True):
            for place in np.flatnonzero(is_own).tolist():
                group_of[names[place]] = int(code)
    groups = {}
    for factor in (NAMES, PARTNERS):
        own = [group_of.get(name, 0) for name in sums.along[factor].units]
        groups[factor] = np.array(own, dtype=np.int64)
    return groups


def numbers_by_names(sums: Sums) -> list[IntArray]:
    """Returns the numbers that differ in their attributes alone, together."""
    about = []
    for key in KEYS:
        if key.name in sums.keys.columns and key.aspect != "what":
            about.append(key.name)
    if not about:
        return [np.arange(len(sums.keys))]
    names = sums.keys.select(about).with_row_index("number")
    parts = names.group_by(about, maintain_order=True)
    return [rows["number"].to_numpy().astype(np.int64) for _, rows in parts]


def welch(one: Side, other: Side) -> VarianceSource:
    """Returns the variance of differences of two sides over names (Welch, 1947).

    Degrees of freedom are by Satterthwaite (1946).

    Returns:
        V = s² / n of one side plus that of the other; df = V² / sum of (s² / n)² / (n - 1).
    """
    side_variances, side_dfs = [], []
    for side in (one, other):
        apart = Deviations.of(side.means, side.groups)
        squares = squares_without_rounding(apart.squares, side)
        variance = divide(squares, apart.df) * side.spread
        side_variances.append(np.where(apart.df > 0, variance, np.nan))
        side_dfs.append(apart.df)
    variances, dfs = np.stack(side_variances), np.stack(side_dfs)
    variance = np.asarray(variances.sum(axis=0))
    satterthwaite = divide(variance**2, divide(variances**2, dfs).sum(axis=0))
    # Where names are all the same, each side says so with all it has.
    return VarianceSource(variance, np.where(variance == 0, dfs.sum(axis=0), satterthwaite))


def split_name_variance(one: Side, other: Side) -> tuple[VarianceSource, VarianceSource]:
    """Returns the variance over names in one attribute, and the variance that attributes share.

    Variances of one attribute are pooled over both sides, and strengthened by those of the others.

    Args:
        one: the names on one side, of numbers that differ in their attributes alone.
        other: those on the other side.
    """
    attributes = len(one.means)
    squares, df = np.zeros(attributes), np.zeros(attributes)
    common_variance, common_df = np.zeros(attributes), 0.0
    is_known = np.ones(attributes, dtype=np.bool_)
    for side in (one, other):
        apart = Deviations.of(side.means, side.groups)
        has_name = ~np.isnan(side.means)
        # The mean of a name's deviations over attributes is what it has in all of them.
        common = divide(apart.values.sum(axis=0), has_name.sum(axis=0))
        of_common = Deviations.of(common[None], side.groups)
        rest = Deviations.of(np.where(has_name, apart.values - common, np.nan), side.groups)
        squares = squares + squares_without_rounding(rest.squares, side)
        df = df + rest.df
        is_known &= rest.df > 0
        common_variance += divide(of_common.squares, of_common.df) * side.spread
        common_df += float(of_common.df[0])
    # A moderated variance is that of a mean of df + 1 units.
    moderated, _ = moderate_variances(divide(squares, df) / (df + 1), df + 1)
    # Names that are all the same vary by nothing where no other attribute says otherwise.
    variance = np.nan_to_num(moderated.variance) * (df + 1)
    variance = variance * (one.spread + other.spread) * attributes / (attributes - 1)
    return (
        VarianceSource(np.where(is_known, variance, np.nan), moderated.df),
        VarianceSource(np.where(is_known, common_variance, np.nan), np.full(attributes, common_df)),
    )


def squares_without_rounding(squares: FloatArray, side: Side) -> FloatArray:
    """Returns sums of squares, 0 where they are nothing but rounding."""
    largest = np.nan_to_num(np.abs(side.means)).max(axis=1, initial=0)
    return np.where(squares <= RELATIVE_ROUNDING * largest**2 * side.means.shape[1], 0.0, squares)


PERSONS = "persons"
"""The factor of persons. Its columns are no sums of numbers but residuals and their degrees of
freedom; see `person_residuals`.
"""
FEWEST_FREE = 3
"""So many degrees of freedom residuals need at least to say anything of other persons."""
DECIMALS_OF_DF = 9
"""Degrees of freedom are added up from leverages, and whole but for rounding."""


def person_residuals(
    persons: list[str], means: FloatArray, design: FloatArray, squared_weights: FloatArray
) -> Along:
    """Returns how far persons are from an additive model, for each of some contrasts of their
    means.

    A plain variance within groups would take effects of other factors for noise.

    Args:
        persons: their names.
        means: shape (persons,), the mean of each over questions.
        design: shape (persons, parameters), of the additive model of all factors, with an
            intercept.
        squared_weights: shape (contrasts,), the sum of squares of the weights that a contrast gives
            to persons.

    Returns:
        Shape (contrasts, persons, 2): the residual times the root of `squared_weights`, and the
        part of the degrees of freedom that is a person's, 1 less the leverage. So the variance of a
        contrast is the sum of squares of the one by the sum of the other, and residuals of two
        models can be taken from each other.
    """
    hat = design @ np.linalg.pinv(design)
    residuals, free = means - hat @ means, 1 - np.diag(hat)
    scaled = np.sqrt(squared_weights)[:, None] * residuals
    return Along(persons, np.stack([scaled, np.broadcast_to(free, scaled.shape)], axis=-1))


def unknown_persons(persons: list[str], contrasts: int) -> Along:
    """Returns that nothing is known of how contrasts vary with persons, as these do not stand in
    all questions.
    """
    return Along(persons, np.zeros((contrasts, len(persons), 2)))


def persons_source(sums: Sums) -> VarianceSource | None:
    """Returns how much contrasts vary with persons.

    Returns:
        V = s² times the sum of squared weights, s² the variance of residuals. NaN for a contrast
        with fewer than `FEWEST_FREE` degrees of freedom; None where that is so of all, or where
        there are no persons.
    """
    if PERSONS not in sums.along:
        return None
    persons, columns = sums.along[PERSONS]
    df = columns[..., 1].sum(axis=1).round(DECIMALS_OF_DF)
    is_known = df >= FEWEST_FREE
    if not is_known.any():
        return None
    variance = divide((columns[..., 0] ** 2).sum(axis=1), df)
    variance = without_rounding(variance, np.full(len(variance), len(persons)), sums.values)
    return VarianceSource(np.where(is_known, variance, np.nan), np.where(is_known, df, 0.0))
