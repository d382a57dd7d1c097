"""Variances over random factors: clusters of templates, items, names, persons, formats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource, fewest_sign_test_units, p_values
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
"""The interval of differences of shares; see `shares.estimate_share_differences`."""
SHARE_OF_TWO = "share of two"
"""The interval of shares of choices between two options, tested against one half.

Columns of sums: cases that choose the first, all cases, and cases that choose the second; see
`shares.estimate_choice_shares`.
"""
MEAN_SHARE_OF_TWO = "mean share of two"
"""The interval of means of such shares over units, each of which has the same weight.

Columns of sums: a unit's share of the first, 1, its share of the second, and its number of cases;
see `MeanShareColumns`.
"""
WITH_ADDED = (SHARES, SHARE_OF_TWO, MEAN_SHARE_OF_TWO)
"""Intervals that may have two added units, which contradict each other."""
FEWEST_CASES = 3
"""With fewer cases per unit on average, shares of units are nearly single choices, whose means are
not t distributed.
"""


@dataclass(frozen=True)
class FactorVariance:
    """How numbers vary with the units of their first factor; arrays of shape (numbers,).

    Attributes:
        without: shape (numbers, units), the numbers without each unit; see `leave_one_out`.
        source: their variance; moderated by the variances of the other numbers if `prior` is one.
        units: in how many units each number has anything.
        is_constant: whether a number is the same without any one of its units, so that its
            variance is 0 and says nothing. Never for a moderated number that has a prior.
        prior: what the variances of the numbers have in common; `NO_PRIOR` if nothing was borrowed.
        gain: the variance due to units that multiply all numbers; None if there is no such gain.
        added_units: the shares with two added units; None for other kinds of numbers.
    """

    without: FloatArray
    source: VarianceSource
    units: IntArray
    is_constant: BoolArray
    prior: Prior = NO_PRIOR
    gain: VarianceSource | None = None
    added_units: AddedUnits | None = None

    @property
    def sources(self) -> list[VarianceSource]:
        """The variances of the numbers themselves and of the gain, if there is one."""
        return [self.source] if self.gain is None else [self.source, self.gain]

    def lack_signs(self, alpha: float) -> BoolArray:
        """Returns, shape (numbers,), which numbers have fewer units than a test by signs needs.

        Only numbers that are held to such a test can lack units for it, see
        `AddedUnits.needs_signs`. They have no p, and `reasons.no_test_reason` gives the reason.
        """
        if self.added_units is None:
            return np.zeros(len(self.units), dtype=np.bool_)
        return self.added_units.needs_signs & (self.units < fewest_sign_test_units(alpha))


class AddedUnits(NamedTuple):
    """Shares, of which some have two added units; arrays of shape (numbers,).

    Attributes:
        centre: the centre of the interval: the share with the added units, or the share itself.
        p_floor: a p below this is raised to it: it is the p of an exact test by signs, or of the
            test that counts a tie for neither side. 0 or NaN if there is no floor.
        needs_signs: whether a number is tested only if it has as many units as an exact test by
            signs needs (`fewest_sign_test_units`): with fewer, chance explains any signs.
        is_added: whether two units are added to a number.
    """

    centre: FloatArray
    p_floor: FloatArray
    needs_signs: BoolArray
    is_added: BoolArray


def first_factor_variance(sums: Sums, *, may_grow: bool = True) -> FactorVariance:
    """Returns the variance of numbers over their first factor.

    Args:
        sums: the numbers of a kind. If the factor is templates, they are from `Sums.clustered`:
            redundant templates would count as independent.
        may_grow: whether the noise of moderated numbers may grow with the numbers. Not for shares:
            1 is no noisier than 0.
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
        moderated = moderate_numbers(sums, variance, units, may_grow=may_grow)
        # A number that borrows a variance from others is not constant any more.
        is_constant &= np.isnan(moderated.source.variance)
        return FactorVariance(
            without, moderated.source, units, is_constant, moderated.prior, moderated.gain
        )
    source = VarianceSource(variance, (units - 1).astype(np.float64))
    return FactorVariance(without, source, units, is_constant)


def share_difference_variance(sums: Sums) -> FactorVariance:
    """Returns the variance of differences of shares, all with two added units."""
    along = sums.along[sums.factor]
    differences = estimate_share_differences(along.sums)
    no_numbers = np.zeros(len(along.sums), dtype=np.bool_)
    added = AddedUnits(
        centre=differences.centre,
        p_floor=differences.sign_flip_p,
        # Without an exact test, as of groups that are in different clusters, t is all there is.
        needs_signs=differences.sign_flip_p > 0,
        is_added=~no_numbers,
    )
    units = along.present.sum(axis=1)
    return FactorVariance(sums.without, differences.source, units, no_numbers, added_units=added)


def choice_share_variance(sums: Sums) -> FactorVariance:
    """Returns the variance of shares of choices between two, all with two added units."""
    along = sums.along[sums.factor]
    shares = estimate_choice_shares(along.sums)
    no_numbers = np.zeros(len(along.sums), dtype=np.bool_)
    added = AddedUnits(shares.centre, shares.p_floor, needs_signs=~no_numbers, is_added=~no_numbers)
    units = along.present.sum(axis=1)
    return FactorVariance(sums.without, shares.source, units, no_numbers, added_units=added)


class MeanShareColumns(NamedTuple):
    """Columns of sums of `MEAN_SHARE_OF_TWO`; arrays of shape (numbers, units).

    Attributes:
        first_share: a unit's share of cases that choose the first option.
        weight: 1, or 0 if a number has nothing of the unit.
        second_share: a unit's share of cases that choose the second option.
        cases: the number of cases of a unit.
    """

    first_share: FloatArray
    weight: FloatArray
    second_share: FloatArray
    cases: FloatArray

    @classmethod
    def from_sums(cls, sums: Sums) -> MeanShareColumns:
        """Names the columns of sums over the first factor."""
        return cls(*np.moveaxis(sums.along[sums.factor].sums, -1, 0))


def mean_choice_share_variance(sums: Sums) -> FactorVariance:
    """Returns the variance over units of means of their shares of choices between two.

    It is that of t over units. Numbers with fewer than `FEWEST_CASES` cases per unit on average
    have two added units instead. As in `shares.estimate_choice_shares` a tie is no evidence for
    the second option, so p is at least the one that counts half of the ties for each.
    """
    along = sums.along[sums.factor]
    units = along.present.sum(axis=1)
    with_added = estimate_choice_shares(along.sums)
    without, values, df = sums.without, sums.values, units - 1.0
    variance, _ = jackknife(without)
    columns = MeanShareColumns.from_sums(sums)
    is_added = columns.cases.sum(axis=1) < FEWEST_CASES * units
    source = VarianceSource(
        np.where(is_added, with_added.source.variance, variance),
        np.where(is_added, with_added.source.df, df),
    )
    floor_of_t = p_floor_with_ties(sums, columns, df)
    added = AddedUnits(
        centre=np.where(is_added, with_added.centre, values),
        p_floor=np.where(is_added, with_added.p_floor, floor_of_t),
        # With three to five units a t test could reject where no signs can; it must not, either.
        needs_signs=np.ones(len(values), dtype=np.bool_),
        is_added=is_added,
    )
    is_constant = (variance == 0) & (units > 1) & ~is_added
    return FactorVariance(without, source, units, is_constant, added_units=added)


def p_floor_with_ties(sums: Sums, columns: MeanShareColumns, df: FloatArray) -> FloatArray:
    """Returns the p of mean shares of two if half of the ties count for each option.

    Args:
        sums: mean shares.
        columns: their columns over the first factor.
        df: shape (numbers,), degrees of freedom of their variances.

    Returns:
        Shape (numbers,): 1 if ties alone put a share on its side of `Sums.fair`, NaN if the shares
        with half of the ties are equal in all units.
    """
    halved = (columns.first_share + columns.weight - columns.second_share) / 2
    halved_sums = np.stack([halved, columns.weight], axis=-1)
    totals = halved_sums.sum(axis=1)
    variance, _ = jackknife(leave_one_out(halved_sums, totals, mean))
    distance = mean(totals) - sums.fair
    # Rounding leaves 1e-17 of a zero, whose sign is no evidence.
    distance = np.where(np.abs(distance) <= ROUNDING, 0.0, distance)
    p = p_values(distance, [VarianceSource(variance, df)])
    return p_with_ties(sums.values - sums.fair, distance, p)


class ModeratedNumbers(NamedTuple):
    """Moderated variances of numbers.

    Attributes:
        source: the variance of each number, without the gain.
        prior: what the variances have in common.
        gain: the variance due to clusters that multiply all numbers, 0 for numbers of blocks
            without a gain; None if no number has one.
    """

    source: VarianceSource
    prior: Prior
    gain: VarianceSource | None = None


def moderate_numbers(
    sums: Sums, variance: FloatArray, units: IntArray, *, may_grow: bool
) -> ModeratedNumbers:
    """Moderates the variances of numbers, and looks for a gain and a trend in them.

    Args:
        sums: the numbers of a kind.
        variance: shape (numbers,), their jackknife variances.
        units: shape (numbers,), the number of clusters of each.
        may_grow: whether to look for clusters that multiply all numbers, and for noise that grows
            with them.
    """
    cluster_counts = units.astype(np.float64)
    along, values = sums.along[sums.factor], sums.values
    by_cluster = np.where(along.present, sums.finish(along.sums), np.nan)
    crossing = read_crossing(sums.keys, by_cluster)
    is_mean = sums.finish.name in (MEAN.name, DIFFERENCE.name)
    has_enough = np.count_nonzero(crossing.counted) >= FEWEST_VARIANCES
    if not (may_grow and is_mean and has_enough):
        source, prior = moderate_variances(variance, cluster_counts, crossing.counted)
        return ModeratedNumbers(source, prior)
    gain = estimate_gain(along.sums, sums.finish, crossing)
    has_gain = gain.is_significant
    if has_gain.any():
        # The gain is a source of its own, so it goes out of the variances of single numbers.
        residual = divide(gain.residual_cluster_variance, cluster_counts)
        variance = without_rounding(np.where(has_gain, residual, variance), units, values)
    trend = fit_trend(
        cluster_variance=cluster_counts * variance,
        df=cluster_counts - 1,
        values=values,
        residual_cluster_variance=gain.residual_cluster_variance,
        counted=crossing.counted,
    )
    source, prior = moderate_variances(variance, cluster_counts, crossing.counted, trend)
    return ModeratedNumbers(source, prior, gain.source if has_gain.any() else None)


def other_factor_variance(sums: Sums, factor: str) -> VarianceSource:
    """Returns the jackknife variance of numbers over a factor other than the first.

    Units of other factors may share what the sums count, so the totals are those of the first
    factor. The variance is NaN for a number with a single unit.
    """
    along = sums.along[factor]
    without = leave_one_out(along.sums, sums.totals, sums.finish.function)
    variance, _ = jackknife(without)
    return VarianceSource(variance, along.present.sum(axis=1) - 1.0)


def format_sources(sums: Sums, *, may_grow: bool) -> list[VarianceSource]:
    """Returns the variances of numbers over prompt formats, computed as over a first factor.

    Args:
        sums: the numbers, from `Sums.clustered`.
        may_grow: see `first_factor_variance`.

    Returns:
        Empty with a single format. Else the variance of the numbers, 0 for a number that is the
        same in all formats, and perhaps the variance of a gain over formats.
    """
    if PROMPT_FORMATS not in sums.along:
        return []
    if sums.interval in WITH_ADDED:
        return [other_factor_variance(sums, PROMPT_FORMATS)]
    of_formats = replace(sums, along={PROMPT_FORMATS: sums.along[PROMPT_FORMATS]})
    over_formats = first_factor_variance(of_formats, may_grow=may_grow)
    source, *gain = over_formats.sources
    # A number that is the same in all formats has no variance of its own (NaN), but adds 0 here.
    is_constant = np.isnan(source.variance) & (over_formats.units > 1)
    variance = np.where(is_constant, 0.0, source.variance)
    return [source._replace(variance=variance), *gain]


NAMES, PARTNERS = "subjects", "others"
"""The factors of numbers of groups of names: those of the group, and those of others that they are
compared with.
"""


class Side(NamedTuple):
    """The names on one side of a comparison.

    Attributes:
        means: shape (numbers, names), the mean of each name; NaN if a number has nothing of it.
        weights: shape (numbers, names), the weight of a name in the side's mean; they sum to 1.
        groups: shape (names,), the group of each name. Only names of one group are exchangeable.
    """

    means: FloatArray
    weights: FloatArray
    groups: IntArray

    @classmethod
    def from_sums(cls, sums: FloatArray, groups: IntArray) -> Side:
        """Computes means and weights from sums of shape (numbers, names, 2): sum and count."""
        counts = sums[..., 1]
        means = divide(sums[..., 0], counts)
        weights = divide(counts, counts.sum(axis=1, keepdims=True))
        return cls(means, weights, groups)

    def only(self, numbers: IntArray) -> Side:
        """Returns the side of some of the numbers, by their positions."""
        return Side(self.means[numbers], self.weights[numbers], self.groups)

    @property
    def spread(self) -> FloatArray:
        """By what the variance of a name is multiplied in the side's mean, shape (numbers,).

        1 / names if all names have the same weight.
        """
        return np.asarray((self.weights**2).sum(axis=1))


class Deviations(NamedTuple):
    """Deviations of names from the mean of their group.

    Attributes:
        values: shape (numbers, names); 0 if a number has nothing of a name.
        df: shape (numbers,), degrees of freedom: names minus groups.
    """

    values: FloatArray
    df: FloatArray

    @classmethod
    def from_values(cls, values: FloatArray, groups: IntArray) -> Deviations:
        """Subtracts the means of groups from values.

        Args:
            values: shape (numbers, names), NaN if a number has nothing of a name.
            groups: shape (names,), the group of each name.
        """
        deviations, df = np.zeros_like(values), np.zeros(len(values))
        for group in np.unique(groups):
            is_own = groups == group
            own = values[:, is_own]
            known = ~np.isnan(own)
            name_count = known.sum(axis=1)
            means = divide(np.where(known, own, 0).sum(axis=1), name_count)
            deviations[:, is_own] = np.where(known, own - means[:, None], 0)
            df += np.maximum(name_count - 1.0, 0)
        return cls(deviations, df)

    @property
    def squares(self) -> FloatArray:
        """The sum of their squares, shape (numbers,)."""
        return np.asarray((self.values**2).sum(axis=1))


def group_sources(sums: Sums) -> list[VarianceSource]:
    """Returns the variance over names of numbers that compare groups.

    With at least `FEWEST_VARIANCES` numbers of the same names, such as ten attributes, a name's
    deviation is split into a part in one attribute alone, moderated over attributes, and a part in
    all of them.

    Args:
        sums: numbers that compare two lists of terms (factor `PAIR_OF_LISTS`), or a group with its
            partners (factors `NAMES` and `PARTNERS`); see `has_two_sides`.

    Returns:
        One variance, or the two of the parts. NaN if a side has no two names of one group.
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
    """Returns the variance over names of numbers of groups, each from its own deviations.

    Unlike in `group_sources` nothing is borrowed from other numbers, however many there are.
    """
    return welch(*name_sides(sums))


def has_two_sides(sums: Sums) -> bool:
    """Whether numbers compare two samples of names, whose variances add up."""
    return PAIR_OF_LISTS in sums.along or {NAMES, PARTNERS} <= {*sums.along}


def name_sides(sums: Sums) -> tuple[Side, Side]:
    """Returns the names on both sides of numbers; see `has_two_sides`, which must hold."""
    if PAIR_OF_LISTS in sums.along:
        return list_sides(sums.along[PAIR_OF_LISTS].sums)
    groups = name_groups(sums)
    names = Side.from_sums(sums.along[NAMES].sums, groups[NAMES])
    partners = Side.from_sums(sums.along[PARTNERS].sums, groups[PARTNERS])
    return names, partners


def list_sides(sums: FloatArray) -> tuple[Side, Side]:
    """Returns the terms on both sides of differences of two lists.

    Args:
        sums: shape (numbers, terms, 4), see `list_source`.
    """
    one_group = np.zeros(sums.shape[1], dtype=np.int64)
    return Side.from_sums(sums[..., :2], one_group), Side.from_sums(sums[..., 2:], one_group)


def list_source(sums: FloatArray) -> VarianceSource:
    """Returns the variance over terms of differences of two lists.

    Args:
        sums: shape (numbers, terms, 4), the sum and count of each term in the first list, and in
            the second list; a term that is not in a list has 0 there.
    """
    return welch(*list_sides(sums))


def name_groups(sums: Sums) -> dict[str, IntArray]:
    """Returns the group of each name, for `NAMES` and `PARTNERS`.

    The groups are read from the numbers: a number of a group has sums only for its own names along
    `NAMES`. Names without any number, and partners that are no names of a group, are in group 0.

    Returns:
        By factor, shape (names,): codes that are the same for names of one group.
    """
    names, present = sums.along[NAMES].units, sums.along[NAMES].present
    group_codes: dict[str, int] = {}
    for key in group_keys("who"):
        if key not in sums.keys.columns:
            continue
        codes = sums.keys[key].cast(pl.String).rank("dense").fill_null(0).to_list()
        for is_own, code in zip(present, codes, strict=True):
            for position in np.flatnonzero(is_own).tolist():
                group_codes[names[position]] = int(code)
    groups = {}
    for factor in (NAMES, PARTNERS):
        codes = [group_codes.get(name, 0) for name in sums.along[factor].units]
        groups[factor] = np.array(codes, dtype=np.int64)
    return groups


def numbers_by_names(sums: Sums) -> list[IntArray]:
    """Returns sets of numbers that are about the same names and differ only in their attributes.

    Returns:
        The positions of the numbers of each set. Each number is in one set.
    """
    name_keys = []
    for key in KEYS:
        if key.name in sums.keys.columns and key.aspect != "what":
            name_keys.append(key.name)
    if not name_keys:
        return [np.arange(len(sums.keys))]
    rows = sums.keys.select(name_keys).with_row_index("position")
    sets = rows.group_by(name_keys, maintain_order=True)
    return [same_names["position"].to_numpy().astype(np.int64) for _, same_names in sets]


def welch(one: Side, other: Side) -> VarianceSource:
    """Returns the variance of differences of two sides over names (Welch, 1947).

    Returns:
        V, the sum over both sides of s² / n, with the degrees of freedom of Satterthwaite (1946),
        V² / sum of (s² / n)² / (n - 1). NaN for a number of which a side has no two names of one
        group.
    """
    side_variances, side_dfs = [], []
    for side in (one, other):
        deviations = Deviations.from_values(side.means, side.groups)
        squares = squares_without_rounding(deviations.squares, side)
        variance = divide(squares, deviations.df) * side.spread
        side_variances.append(np.where(deviations.df > 0, variance, np.nan))
        side_dfs.append(deviations.df)
    variances, dfs = np.stack(side_variances), np.stack(side_dfs)
    variance = np.asarray(variances.sum(axis=0))
    satterthwaite = divide(variance**2, divide(variances**2, dfs).sum(axis=0))
    # If all names are equal V is 0, and Satterthwaite's formula is 0 / 0.
    return VarianceSource(variance, np.where(variance == 0, dfs.sum(axis=0), satterthwaite))


def split_name_variance(one: Side, other: Side) -> tuple[VarianceSource, VarianceSource]:
    """Splits the variance over names into a part of one attribute and a part of all attributes.

    Args:
        one: the names on one side of numbers that differ only in their attributes, at least two.
        other: the names on the other side.

    Returns:
        The variance in one attribute alone, pooled over both sides and moderated over attributes;
        and the variance that all attributes of a name share. Both are NaN for a number of which a
        side has no two names of one group.
    """
    attributes = len(one.means)
    squares, df = np.zeros(attributes), np.zeros(attributes)
    common_variance, common_df = np.zeros(attributes), 0.0
    is_known = np.ones(attributes, dtype=np.bool_)
    for side in (one, other):
        deviations = Deviations.from_values(side.means, side.groups)
        has_name = ~np.isnan(side.means)
        # The mean of a name's deviations over attributes is what all of them share.
        name_means = divide(deviations.values.sum(axis=0), has_name.sum(axis=0))
        common = Deviations.from_values(name_means[None], side.groups)
        rest_values = np.where(has_name, deviations.values - name_means, np.nan)
        rest = Deviations.from_values(rest_values, side.groups)
        squares = squares + squares_without_rounding(rest.squares, side)
        df = df + rest.df
        is_known &= rest.df > 0
        common_variance += divide(common.squares, common.df) * side.spread
        common_df += float(common.df[0])
    # `moderate_variances` takes variances of means of df + 1 units.
    moderated, _ = moderate_variances(divide(squares, df) / (df + 1), df + 1)
    # Names that are equal in all attributes have no prior either: their variance is 0, not NaN.
    variance = np.nan_to_num(moderated.variance) * (df + 1)
    # The mean over attributes took 1 / attributes of the variance out of the deviations.
    variance = variance * (one.spread + other.spread) * attributes / (attributes - 1)
    common_dfs = np.full(attributes, common_df)
    return (
        VarianceSource(np.where(is_known, variance, np.nan), moderated.df),
        VarianceSource(np.where(is_known, common_variance, np.nan), common_dfs),
    )


def squares_without_rounding(squares: FloatArray, side: Side) -> FloatArray:
    """Returns sums of squares of deviations, 0 if they are only rounding of the side's means."""
    largest = np.nan_to_num(np.abs(side.means)).max(axis=1, initial=0)
    return np.where(squares <= RELATIVE_ROUNDING * largest**2 * side.means.shape[1], 0.0, squares)


PERSONS = "persons"
"""The factor of persons. Its columns are residuals and their degrees of freedom, of which no number
can be made; see `person_residuals`.
"""
FEWEST_FREE = 3
"""With fewer degrees of freedom residuals say nothing about other persons."""
DF_DECIMALS = 9
"""Degrees of freedom are sums of leverages: whole numbers, but for rounding."""


def person_residuals(
    persons: list[str], means: FloatArray, design: FloatArray, squared_weights: FloatArray
) -> Along:
    """Returns the residuals of persons in an additive model, for each of some contrasts.

    A plain variance within groups would take effects of other factors for noise.

    Args:
        persons: the names of the persons.
        means: shape (persons,), the mean of each person over questions.
        design: shape (persons, parameters), the design of an additive model of all factors, with
            an intercept.
        squared_weights: shape (contrasts,), for each contrast the sum of the squares of the weights
            of persons.

    Returns:
        Shape (contrasts, persons, 2): the residual times the root of `squared_weights`, and the
        person's part of the degrees of freedom, 1 - leverage. The variance of a contrast is the sum
        of squared first columns / the sum of second columns. Residuals of two models can be
        subtracted, which gives the variance of their difference.
    """
    hat = design @ np.linalg.pinv(design)
    residuals, df = means - hat @ means, 1 - np.diag(hat)
    scaled = np.sqrt(squared_weights)[:, None] * residuals
    return Along(persons, np.stack([scaled, np.broadcast_to(df, scaled.shape)], axis=-1))


def unknown_persons(persons: list[str], contrasts: int) -> Along:
    """Returns residuals without degrees of freedom: persons of which nothing can be estimated.

    For persons that are not in all questions, so that they have no comparable means.
    """
    return Along(persons, np.zeros((contrasts, len(persons), 2)))


def persons_source(sums: Sums) -> VarianceSource | None:
    """Returns the variance of contrasts over persons.

    Returns:
        s² times the sum of squared weights, s² being the variance of residuals. NaN for a contrast
        with fewer than `FEWEST_FREE` degrees of freedom; None if all contrasts have fewer, or if
        there are no persons: numbers then hold for the given persons.
    """
    if PERSONS not in sums.along:
        return None
    persons, columns = sums.along[PERSONS]
    df = columns[..., 1].sum(axis=1).round(DF_DECIMALS)
    is_known = df >= FEWEST_FREE
    if not is_known.any():
        return None
    variance = divide((columns[..., 0] ** 2).sum(axis=1), df)
    variance = without_rounding(variance, np.full(len(variance), len(persons)), sums.values)
    return VarianceSource(np.where(is_known, variance, np.nan), np.where(is_known, df, 0.0))
