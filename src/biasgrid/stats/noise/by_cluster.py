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
        """Leaves out the associations that a single cluster asks for; for arrays, see the
        attributes.
        """
        clusters = (counts > 0).sum(axis=-1, keepdims=True)
        known = clusters >= FEWEST_CLUSTERS_WITH_NOISE
        return cls(
            np.where(known, sums, 0),
            np.where(known, counts, 0),
            int(((clusters > 0) & ~known).sum()),
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
        columns = sums.along[TEMPLATES].sums
        own = columns[:, (columns != 0).any(axis=(0, 2))]
        rows, places = (
            np.array([names.index(name) for name in sums.keys[key].to_list()])
            for key, names in (("subject", list(subjects)), ("attribute", list(attributes)))
        )

        def in_order(columns: FloatArray) -> FloatArray:
            found = np.zeros((len(subjects), len(attributes), *columns.shape[1:]))
            found[rows, places] = columns
            return found

        found = in_order(own)
        by_format = in_order(sums.along[FORMATS].sums) if FORMATS in sums.along else None
        return replace(cls.with_noise(found[..., 0], found[..., 1]), by_format=by_format)

    def corrected(self, name: Statistic) -> float:
        """Returns mu or eta without what noise adds, NaN where too few associations are known."""
        return (
            corrected_statistic(self.means, self.values, name)
            if self.is_representative
            else float("nan")
        )

    def null_mean(self, name: Statistic) -> float:
        """Returns what noise alone makes of mu or eta, NaN where too few associations are known."""
        return null_mean_of(self.values, name) if self.is_representative else float("nan")

    def strength(self) -> float:
        """Returns the size of associations without noise, NaN where too few of them are known."""
        return (
            strength_of(self.sums, self.counts, self.format_variance)
            if self.is_representative
            else float("nan")
        )

    @property
    def format_variance(self) -> FloatArray | float:
        """The variance of the associations over prompt formats, shape (subjects, attributes), or
        0.
        """
        return 0.0 if self.by_format is None else jackknife_of_means(self.by_format)

    def strengths_without_formats(self) -> FloatArray:
        """Returns the size of associations without each prompt format, shape (formats,)."""
        assert self.by_format is not None
        of_clusters = jackknife_of_means(np.stack([self.sums, self.counts], axis=-1))
        found = []
        for place in range(self.by_format.shape[2]):
            left = np.delete(self.by_format, place, axis=2)
            squares = mean(left.sum(axis=2)) ** 2 - of_clusters - jackknife_of_means(left)
            known = squares[~np.isnan(squares)]
            found.append(float(signed_root(known.mean())) if len(known) else np.nan)
        return np.array(found)


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
    """Returns a size of the associations with its interval: jackknife over clusters, of three at
    least.

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
    """
    clusters = without.shape[1]
    if np.isnan(value) and clusters > 1:
        return {"measure": measure, "value": None, "reason": TOO_FEW_KNOWN}
    if np.isnan(without).any():
        few = f"fewer than {FEWEST_OF_SIZE} clusters"
        return {
            "measure": measure,
            "value": value,
            "reason": few if clusters < FEWEST_OF_SIZE else "not defined",
        }
    sides = [without] if formats is None else [without, formats]
    if sides[-1].shape[1] < FEWEST_OF_SIZE or np.isnan(sides[-1]).any():
        return {
            "measure": measure,
            "value": value,
            "reason": f"fewer than {FEWEST_OF_SIZE} prompt formats",
        }
    sources = [left_out_source(side) for side in sides]
    if not sources[0].variance[0] > 0:
        return {
            "measure": measure,
            "value": value,
            "reason": f"the same without any one of {clusters} clusters",
        }
    half = float(half_width(sources, settings.alpha)[0])
    high = value + half
    if value > 0 and all((side > 0).all() for side in sides):
        of_logs = [left_out_source(np.log(side)) for side in sides]
        high = value * float(np.exp(half_width(of_logs, settings.alpha)[0]))
    ends = {"low": value - half, "high": high}
    if formats is not None:
        return {"measure": measure, "value": value, **ends, "method": "combined"}
    ends |= {"se": float(np.sqrt(sources[0].variance[0])), "df": float(sources[0].df[0])}
    return {"measure": measure, "value": value, **ends, "method": "jackknife t"}


def left_out_source(without: FloatArray) -> VarianceSource:
    """Returns the jackknife variance of a number without each unit, shape (1,)."""
    variance, units = jackknife(without)
    return VarianceSource(variance, np.asarray(units - 1.0, dtype=np.float64))
