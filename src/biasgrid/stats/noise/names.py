"""How much numbers of groups vary with the names or terms that stand for these.

A number of a group is that of its names against others: of two groups one less the other. How much
other names would change it is told from how much names of one group differ. With many attributes
that is divided in two: what a name has in an attribute alone, told from all attributes together,
and what it has in all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.variance import FEWEST_VARIANCES, ROUNDING_OF_VALUE, moderate_variances
from biasgrid.stats.sums import PAIR_OF_LISTS, Sums
from biasgrid.tables.key_columns import KEYS, group_keys

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


def sources_of_groups(sums: Sums) -> list[VarianceSource]:
    """Returns the variance of numbers of groups over names: one source, or two.

    There are two with ten attributes or more.

    Args:
        sums: numbers of two groups, along `terms`, or of a group and its partners, along `subjects`
            and `others`.

    Returns:
        Variances are NaN where a side has no two names of one group.
    """
    one, other = sides_of(sums)
    sets = numbers_of_same_names(sums)
    # With fewer numbers of the same names no variance of one attribute is known well enough.
    is_divided = min(map(len, sets), default=0) >= FEWEST_VARIANCES
    sources = np.full((2 if is_divided else 1, 2, len(sums.keys)), np.nan)
    for numbers in sets:
        sides = one.only(numbers), other.only(numbers)
        sources[..., numbers] = names_and_common(*sides) if is_divided else [welch(*sides)]
    return [VarianceSource(variance, df) for variance, df in sources]


def names_of_groups(sums: Sums) -> VarianceSource:
    """Returns how numbers of groups vary with names, each told from its own names alone; see
    `welch`.
    """
    return welch(*sides_of(sums))


def has_two_sides(sums: Sums) -> bool:
    """Says whether names stand on two sides of numbers, so that variances of both add up."""
    return PAIR_OF_LISTS in sums.along or {NAMES, PARTNERS} <= {*sums.along}


def sides_of(sums: Sums) -> tuple[Side, Side]:
    """Returns the names on both sides of numbers."""
    if PAIR_OF_LISTS in sums.along:
        return sides_of_lists(sums.along[PAIR_OF_LISTS].sums)
    groups = groups_of_names(sums)
    names = Side.of(sums.along[NAMES].sums, groups[NAMES])
    partners = Side.of(sums.along[PARTNERS].sums, groups[PARTNERS])
    return names, partners


def sides_of_lists(sums: FloatArray) -> tuple[Side, Side]:
    """Returns the terms on both sides of differences of two lists, of shape (numbers, terms, 4)."""
    alike = np.zeros(sums.shape[1], dtype=np.int64)
    return Side.of(sums[..., :2], alike), Side.of(sums[..., 2:], alike)


def lists_source(sums: FloatArray) -> VarianceSource:
    """Returns how much differences of two lists vary with their terms.

    Args:
        sums: shape (numbers, terms, 4), sum and count of the terms of one list, and of the other.
    """
    return welch(*sides_of_lists(sums))


def groups_of_names(sums: Sums) -> dict[str, IntArray]:
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


def numbers_of_same_names(sums: Sums) -> list[IntArray]:
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
        squares = without_rounding(apart.squares, side)
        variance = divide(squares, apart.df) * side.spread
        side_variances.append(np.where(apart.df > 0, variance, np.nan))
        side_dfs.append(apart.df)
    variances, dfs = np.stack(side_variances), np.stack(side_dfs)
    variance = np.asarray(variances.sum(axis=0))
    satterthwaite = divide(variance**2, divide(variances**2, dfs).sum(axis=0))
    # Where names are all the same, each side says so with all it has.
    return VarianceSource(variance, np.where(variance == 0, dfs.sum(axis=0), satterthwaite))


def names_and_common(one: Side, other: Side) -> tuple[VarianceSource, VarianceSource]:
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
        squares = squares + without_rounding(rest.squares, side)
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


def without_rounding(squares: FloatArray, side: Side) -> FloatArray:
    """Returns sums of squares, 0 where they are nothing but rounding."""
    largest = np.nan_to_num(np.abs(side.means)).max(axis=1, initial=0)
    return np.where(squares <= ROUNDING_OF_VALUE * largest**2 * side.means.shape[1], 0.0, squares)
