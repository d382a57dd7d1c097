"""Associations by cluster, what is left of them without one of these, and how large they are as a
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.variance import jackknife
from biasgrid.stats.null import (
    Statistic,
    corrected_statistic,
    null_mean_of,
    signed_root,
    strength_of,
)
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import FORMATS, TEMPLATES, Sums, leave_one_out, mean

FEWEST_CLUSTERS_WITH_NOISE = 2
"""Of a single cluster nobody knows how far another one would be."""
FEWEST_OF_SIZE = 3
"""Without one of them two are left, which noise is told by."""
TOO_FEW_KNOWN = "fewer than half of the associations have two clusters"


@dataclass(frozen=True)
class ByCluster:
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
    def with_noise(cls, sums: FloatArray, counts: FloatArray) -> ByCluster:
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

    def without(self, cluster: int) -> ByCluster:
        """Returns what is left without a cluster; how much formats differ is known from all of
        them.
        """
        kept = np.arange(self.clusters) != cluster
        return replace(
            ByCluster.with_noise(self.sums[..., kept], self.counts[..., kept]),
            by_format=self.by_format,
        )

    @classmethod
    def of(cls, sums: Sums, subjects: Sequence[str], attributes: Sequence[str]) -> ByCluster:
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
        by_format = crossed(sums.along[FORMATS].sums) if FORMATS in sums.along else None
        return replace(cls.with_noise(table[..., 0], table[..., 1]), by_format=by_format)

    def corrected(self, name: Statistic) -> float:
        """Returns mu or eta corrected for noise, NaN where too few associations are known."""
        if not self.is_representative:
            return float("nan")
        return corrected_statistic(self.means, self.values, name)

    def null_mean(self, name: Statistic) -> float:
        """Returns the mean of mu or eta under noise, NaN where too few associations are known."""
        if not self.is_representative:
            return float("nan")
        return null_mean_of(self.values, name)

    def strength(self) -> float:
        """Returns the size of associations without noise, NaN where too few of them are known."""
        if not self.is_representative:
            return float("nan")
        return strength_of(self.sums, self.counts, self.format_variance)

    @property
    def format_variance(self) -> FloatArray | float:
        """The variance of the associations over prompt formats, shape (subjects, attributes), or
        0.
        """
        return 0.0 if self.by_format is None else jackknife_of_means(self.by_format)

    def strengths_without_formats(self) -> FloatArray:
        """Returns the size of associations without each prompt format, shape (formats,)."""
        assert self.by_format is not None
        cluster_variance = jackknife_of_means(np.stack([self.sums, self.counts], axis=-1))
        strengths = []
        for place in range(self.by_format.shape[2]):
            rest = np.delete(self.by_format, place, axis=2)
            squares = mean(rest.sum(axis=2)) ** 2 - cluster_variance - jackknife_of_means(rest)
            known = squares[~np.isnan(squares)]
            strengths.append(float(signed_root(known.mean())) if len(known) else np.nan)
        return np.array(strengths)


def jackknife_of_means(columns: FloatArray) -> FloatArray:
    """Returns the jackknife variance of means over units, of sums and counts of shape (..., units,
    2).
    """
    return jackknife(leave_one_out(columns, columns.sum(axis=-2), mean))[0]


def size_without_clusters(
    name: str, part: ByCluster, find: Callable[[ByCluster], float]
) -> tuple[str, float, FloatArray]:
    """Returns a name, a size of associations, and what it is without each cluster, shape (1,
    clusters).
    """
    without = np.full((1, part.clusters), np.nan)
    if part.clusters >= FEWEST_OF_SIZE:
        without[0] = [find(part.without(cluster)) for cluster in range(part.clusters)]
    return name, find(part), np.where(np.isnan(without).any(), np.nan, without)


def size_row(
    part: ByCluster, size: tuple[str, float, FloatArray], settings: StatisticsSettings
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
    if of_clusters.shape[1] < FEWEST_OF_SIZE:
        return f"fewer than {FEWEST_OF_SIZE} clusters"
    if np.isnan(of_clusters).any():
        return "not defined"
    if of_formats.shape[1] < FEWEST_OF_SIZE or np.isnan(of_formats).any():
        return f"fewer than {FEWEST_OF_SIZE} prompt formats"
    return None


def left_out_source(without: FloatArray) -> VarianceSource:
    """Returns the jackknife variance of a number without each unit, shape (1,)."""
    variance, units = jackknife(without)
    return VarianceSource(variance, np.asarray(units - 1.0, dtype=np.float64))
