"""How strong associations are as a whole, without noise of clusters, names and prompt formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.noise.random_factors import (
    NAMES,
    PARTNERS,
    Deviations,
    name_groups,
    other_factor_variance,
    unpooled_group_source,
)
from biasgrid.stats.null import (
    Statistic,
    association_strength,
    corrected_statistic,
    expected_null_mean,
    signed_root,
)
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import PROMPT_FORMATS, TEMPLATES, Along, Sums, leave_one_out, mean

FEWEST_CLUSTERS_WITH_NOISE = 2
"""Of a single cluster nobody knows how far another one would be."""
FEWEST_FOR_INTERVAL = 3
"""Without one of them two are left, which noise is told by."""
TOO_FEW_KNOWN = "fewer than half of the associations have two clusters"


@dataclass(frozen=True)
class AssociationsByCluster:
    """Associations by cluster, those that two clusters or more ask for: of others nothing is known
    of the noise.

    Attributes:
        sums: shape (subjects, attributes, clusters), of C or of its sign; 0 of associations that
            are left out.
        counts: how many comparisons there are, likewise.
        left_out: how many associations a single cluster asks for.
        by_format: shape (subjects, attributes, formats, 2), sums and counts by prompt format; None
            of a single one.
    """

    sums: FloatArray
    counts: FloatArray
    left_out: int = 0
    by_format: FloatArray | None = None

    @classmethod
    def with_noise(cls, sums: FloatArray, counts: FloatArray) -> AssociationsByCluster:
        """Leaves out the associations of a single cluster; for arrays see the attributes."""
        clusters = (counts > 0).sum(axis=-1, keepdims=True)
        has_noise = clusters >= FEWEST_CLUSTERS_WITH_NOISE
        left_out = (clusters > 0) & ~has_noise
        return cls(
            np.where(has_noise, sums, 0), np.where(has_noise, counts, 0), int(left_out.sum())
        )

    @property
    def known(self) -> int:
        """How many associations there are, but for those that are left out."""
        return int((self.counts > 0).any(axis=-1).sum())

    @property
    def is_representative(self) -> bool:
        """Whether at least half of all associations are not left out; sizes of fewer stand for none
        of them.
        """
        return self.known >= max(self.left_out, 1)

    @property
    def values(self) -> FloatArray:
        """The associations in each cluster, NaN where nothing was asked."""
        return divide(self.sums, self.counts)

    @property
    def means(self) -> FloatArray:
        """The associations, shape (subjects, attributes)."""
        return divide(self.sums.sum(axis=-1), self.counts.sum(axis=-1))

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.sums.shape[-1])

    def without(self, cluster: int) -> AssociationsByCluster:
        """Returns what is left without a cluster; how much formats differ is known from all of
        them.
        """
        kept = np.arange(self.clusters) != cluster
        return replace(
            AssociationsByCluster.with_noise(self.sums[..., kept], self.counts[..., kept]),
            by_format=self.by_format,
        )

    @classmethod
    def of(
        cls, sums: Sums, subjects: Sequence[str], attributes: Sequence[str]
    ) -> AssociationsByCluster:
        """Puts associations in the order of subjects and attributes.

        Args:
            sums: gamma or eta of pairs of subject and attribute, from `Sums.clustered`.
            subjects: the names of the subjects.
            attributes: the names of the attributes.
        """
        subject_place = {name: place for place, name in enumerate(subjects)}
        attribute_place = {name: place for place, name in enumerate(attributes)}
        rows = [subject_place[name] for name in sums.keys["subject"].to_list()]
        columns = [attribute_place[name] for name in sums.keys["attribute"].to_list()]

        def crossed(columns_of_sums: FloatArray) -> FloatArray:
            table = np.zeros((len(subjects), len(attributes), *columns_of_sums.shape[1:]))
            table[rows, columns] = columns_of_sums
            return table

        of_clusters = sums.along[TEMPLATES].sums
        is_asked = (of_clusters != 0).any(axis=(0, 2))
        table = crossed(of_clusters[:, is_asked])
        by_format = (
            crossed(sums.along[PROMPT_FORMATS].sums) if PROMPT_FORMATS in sums.along else None
        )
        return replace(cls.with_noise(table[..., 0], table[..., 1]), by_format=by_format)

    def corrected_size(self, name: Statistic) -> float:
        """Returns mu or eta without the part that noise adds, below 0 if noise alone gives more.

        NaN if this is not `is_representative`.
        """
        if not self.is_representative:
            return float("nan")
        return corrected_statistic(self.means, self.values, name)

    def null_mean(self, name: Statistic) -> float:
        """Returns the mean of mu or eta under noise alone.

        NaN if this is not `is_representative`.
        """
        if not self.is_representative:
            return float("nan")
        return expected_null_mean(self.values, name)

    def strength(self) -> float:
        """Returns the size of associations without noise, below 0 if noise alone gives more.

        NaN if this is not `is_representative`.
        """
        if not self.is_representative:
            return float("nan")
        return association_strength(self.sums, self.counts, self.format_variance)

    @property
    def format_variance(self) -> FloatArray | float:
        """The variance of the associations over prompt formats, shape (subjects, attributes), or
        0.
        """
        return 0.0 if self.by_format is None else mean_jackknife_variance(self.by_format)

    def strengths_without_formats(self) -> FloatArray:
        """Returns the size of associations without each prompt format, shape (formats,)."""
        assert self.by_format is not None
        cluster_variance = mean_jackknife_variance(np.stack([self.sums, self.counts], axis=-1))
        strengths = []
        for place in range(self.by_format.shape[2]):
            rest = np.delete(self.by_format, place, axis=2)
            squares = mean(rest.sum(axis=2)) ** 2 - cluster_variance - mean_jackknife_variance(rest)
            known = squares[~np.isnan(squares)]
            strengths.append(float(signed_root(known.mean())) if len(known) else np.nan)
        return np.array(strengths)


def mean_jackknife_variance(columns: FloatArray) -> FloatArray:
    """Returns the jackknife variance of means over units, of sums and counts of shape (..., units,
    2).
    """
    return jackknife(leave_one_out(columns, columns.sum(axis=-2), mean))[0]


def size_without_clusters(
    name: str, part: AssociationsByCluster, find: Callable[[AssociationsByCluster], float]
) -> tuple[str, float, FloatArray]:
    """Returns a name, a size of associations, and what it is without each cluster, shape (1,
    clusters).
    """
    without = np.full((1, part.clusters), np.nan)
    if part.clusters >= FEWEST_FOR_INTERVAL:
        without[0] = [find(part.without(cluster)) for cluster in range(part.clusters)]
    return name, find(part), np.where(np.isnan(without).any(), np.nan, without)


def size_row(
    part: AssociationsByCluster, size: tuple[str, float, FloatArray], settings: StatisticsSettings
) -> dict[str, Any]:
    """Returns a size of associations with its interval: over clusters, and of a strength over
    prompt formats, too.

    Args:
        part: the associations.
        size: from `size_without_clusters`.
        settings: the level.
    """
    name, value, without = size
    if part.by_format is None or not name.endswith("strength"):
        return interval_row(name, value, without, settings)
    row = interval_row(name, value, without, settings, part.strengths_without_formats()[None])
    return {**row, "generalises_to": "clusters x formats"}


def interval_row(
    measure: str,
    value: float,
    without: FloatArray,
    settings: StatisticsSettings,
    formats: FloatArray | None = None,
) -> dict[str, Any]:
    """Returns a size of associations with its jackknife interval, over three clusters at least.

    The lower end is value - t se. A size whose clusters multiply it is skewed: where it is above 0
    with all clusters and without each, the upper end is that of its logarithm, value * exp(t se of
    ln), which lies farther up.

    Args:
        measure: its name.
        value: the size.
        without: shape (1, clusters), what it is without each cluster.
        settings: the level.
        formats: shape (1, formats), what it is without each prompt format, if it generalises over
            these.

    Returns:
        `measure`, `value`, and either `low`, `high` and `method`, or `reason`. Over clusters alone
        there are also `se` and `df`.
    """
    clusters = without.shape[1]
    if np.isnan(value) and clusters > 1:
        return {"measure": measure, "value": None, "reason": TOO_FEW_KNOWN}
    row: dict[str, Any] = {"measure": measure, "value": value}
    sides = [without] if formats is None else [without, formats]
    reason = reason_without_interval(sides)
    if reason is not None:
        return row | {"reason": reason}
    sources = [left_out_source(side) for side in sides]
    if not sources[0].variance[0] > 0:
        return row | {"reason": f"the same without any one of {clusters} clusters"}
    half = float(half_width(sources, settings.alpha)[0])
    high = value + half
    if value > 0 and all((side > 0).all() for side in sides):
        of_logs = [left_out_source(np.log(side)) for side in sides]
        high = value * float(np.exp(half_width(of_logs, settings.alpha)[0]))
    row |= {"low": value - half, "high": high}
    if formats is not None:
        return row | {"method": "combined"}
    se, df = float(np.sqrt(sources[0].variance[0])), float(sources[0].df[0])
    return row | {"se": se, "df": df, "method": "jackknife t"}


def reason_without_interval(sides: Sequence[FloatArray]) -> str | None:
    """Says why a size has no interval; None where it may have one.

    Args:
        sides: what it is without each cluster, shape (1, clusters), and perhaps without each
            prompt format, shape (1, formats).
    """
    of_clusters, of_formats = sides[0], sides[-1]
    if of_clusters.shape[1] < FEWEST_FOR_INTERVAL:
        return f"fewer than {FEWEST_FOR_INTERVAL} clusters"
    if np.isnan(of_clusters).any():
        return "not defined"
    if of_formats.shape[1] < FEWEST_FOR_INTERVAL or np.isnan(of_formats).any():
        return f"fewer than {FEWEST_FOR_INTERVAL} prompt formats"
    return None


def left_out_source(without: FloatArray) -> VarianceSource:
    """Returns the jackknife variance of a number without each unit, shape (1,)."""
    variance, units = jackknife(without)
    return VarianceSource(variance, np.asarray(units - 1.0, dtype=np.float64))


FEWEST_NAMES = 3
"""Without one of them two are left, which tell how much names differ."""
TOO_FEW_GROUPS_KNOWN = (
    "fewer than half of the associations of groups have two clusters, and two names of each group"
)


def group_strength(sums: Sums) -> float:
    """Returns the signed root of the mean of value² less its variance over clusters, names and
    prompt formats.

    What a name has in one cluster alone is in both variances, so that the size is not too large.

    Args:
        sums: associations of groups, clustered.
    """
    return float(root_without_noise(sums.values, group_variances(sums).sum(axis=0)))


def variance_over(factor: str, sums: Sums) -> FloatArray:
    """Returns the variance of associations of groups over a factor, NaN where it is not known.

    Over a single format it is 0.
    """
    if factor == NAMES:
        return unpooled_group_source(sums).variance
    if factor == TEMPLATES:
        variance, _ = jackknife(sums.without)
        return variance
    if PROMPT_FORMATS in sums.along:
        return other_factor_variance(sums, PROMPT_FORMATS).variance
    return np.zeros(len(sums.keys))


def group_variances(sums: Sums, besides: str = "") -> FloatArray:
    """Returns variances over clusters, names and formats but one, shape (factors, numbers)."""
    factors = [factor for factor in (TEMPLATES, NAMES, PROMPT_FORMATS) if factor != besides]
    return np.stack([variance_over(factor, sums) for factor in factors])


def root_without_noise(values: FloatArray, variance: FloatArray) -> FloatArray:
    """Returns the signed root of the mean square without noise, NaN where no variance is known."""
    known = ~np.isnan(variance)
    if not known.any():
        return np.asarray(np.nan)
    squares = values[known] ** 2 - variance[known]
    return signed_root(squares.mean())


def strength_without_units(sums: Sums, factor: str) -> FloatArray:
    """Returns the strength without each cluster or format that any number has something of."""
    units, columns = sums.along[factor]
    other_variance = group_variances(sums, besides=factor).sum(axis=0)
    is_present = sums.along[factor].present.any(axis=0)
    strengths = []
    for place in np.flatnonzero(is_present).tolist():
        other_units = [*units[:place], *units[place + 1 :]]
        without = Along(other_units, np.delete(columns, place, axis=1))
        rest = replace(sums, along={factor: without})
        variance = variance_over(factor, rest) + other_variance
        strengths.append(float(root_without_noise(rest.values, variance)))
    return np.array(strengths)


def strength_without_names(sums: Sums) -> tuple[FloatArray, list[int]]:
    """Returns the strength without each name, shape (names,), and the group of each."""
    names, groups = sums.along[NAMES].units, name_groups(sums)[NAMES]
    other_variance = group_variances(sums, besides=NAMES).sum(axis=0)
    strengths = []
    for place in range(len(names)):
        # A name is the group's or a partner's, so a number has it on one side.
        totals = sums.totals
        along = dict(sums.along)
        for factor in (NAMES, PARTNERS):
            columns = sums.along[factor].sums.copy()
            totals = totals - columns[:, place]
            columns[:, place] = 0
            along[factor] = Along(names, columns)
        variance = other_variance + variance_over(NAMES, replace(sums, along=along))
        strengths.append(float(root_without_noise(sums.finish(totals), variance)))
    return np.array(strengths), groups.tolist()


def strength_row(sums: Sums, settings: StatisticsSettings) -> dict[str, Any]:
    """Returns a row with the strength of groups and its jackknife interval.

    The strength is a signed root of (mean square - noise), negative if the noise is larger. The
    interval is over clusters, names and formats, of which there must be at least three each.

    The variances over clusters and over names both contain the noise that a name has in one
    cluster. The value and the lower end subtract their sum, so they are too small rather than too
    large; the upper end subtracts only the largest variance. If the strength is significant the
    upper end is at least that of the log scale, because clusters that multiply all associations
    skew the distribution of a size.

    Args:
        sums: associations of groups, from `Sums.clustered`, along templates, names of groups
            (`NAMES`, `PARTNERS`) and perhaps prompt formats.
        settings: the level.

    Returns:
        `n`, `left_out`, `clusters`, `value`, and either `low`, `high` and `method`, or `reason`.
    """
    variances = group_variances(sums)
    known = ~np.isnan(variances.sum(axis=0))
    clusters = int(sums.along[TEMPLATES].present.any(axis=0).sum())
    row: dict[str, Any] = {
        "n": int(known.sum()),
        "left_out": int((~known).sum()),
        "clusters": clusters,
        "value": None,
    }
    if 2 * known.sum() < len(known):
        return row | {"reason": TOO_FEW_GROUPS_KNOWN}
    value = row["value"] = group_strength(sums)
    names, groups = strength_without_names(sums)
    if clusters < FEWEST_FOR_INTERVAL or min(map(groups.count, groups)) < FEWEST_NAMES:
        few = f"fewer than {FEWEST_FOR_INTERVAL} clusters, or {FEWEST_NAMES} names of a group"
        return row | {"reason": few}
    left_out = [
        LeftOut.from_one_group(strength_without_units(sums, TEMPLATES)),
        LeftOut(names, np.array(groups)),
    ]
    if PROMPT_FORMATS in sums.along:
        formats = strength_without_units(sums, PROMPT_FORMATS)
        if len(formats) < FEWEST_FOR_INTERVAL:
            return row | {"reason": f"fewer than {FEWEST_FOR_INTERVAL} prompt formats"}
        left_out.append(LeftOut.from_one_group(formats))
    half = half_width([grouped_jackknife_source(units) for units in left_out], settings.alpha)[0]
    if not half > 0:
        return row | {"reason": "the same without any one of its clusters and names"}
    largest_variance = variances.max(axis=0)
    # A size is not below 0, even if less than nothing is left of it without noise.
    high = max(float(root_without_noise(sums.values, largest_variance)) + half, 0.0)
    if value > half:
        high = max(high, log_scale_end(value, left_out, settings.alpha))
    return row | {"low": float(value - half), "high": float(high), "method": "combined"}


class LeftOut(NamedTuple):
    """The strength without each unit of a factor; arrays of shape (units,).

    Attributes:
        strengths: the strength without the unit.
        group_of: a number for the group of the unit. Only units of one group are exchangeable.
    """

    strengths: FloatArray
    group_of: IntArray

    @classmethod
    def from_one_group(cls, strengths: FloatArray) -> LeftOut:
        """Takes all units for exchangeable."""
        return cls(strengths, np.zeros(len(strengths), dtype=np.int64))


def log_scale_end(value: float, left_out: Sequence[LeftOut], alpha: float) -> float:
    """Returns the upper end of a strength's interval on the log scale.

    Minus infinity if a strength without some unit is not above 0, so that it has no logarithm.
    """
    if not all((units.strengths > 0).all() for units in left_out):
        return -np.inf
    logs = [units._replace(strengths=np.log(units.strengths)) for units in left_out]
    log_sources = [grouped_jackknife_source(units) for units in logs]
    return float(value * np.exp(half_width(log_sources, alpha)[0]))


def grouped_jackknife_source(left_out: LeftOut) -> VarianceSource:
    """Returns the jackknife variance of a strength over units in groups, shape (1,)."""
    groups = left_out.group_of
    deviations = Deviations.from_values(left_out.strengths[None], groups)
    counts = np.array([np.count_nonzero(groups == group) for group in groups])
    variance = ((counts - 1) / counts * deviations.values**2).sum(axis=1)
    return VarianceSource(variance, deviations.df)
