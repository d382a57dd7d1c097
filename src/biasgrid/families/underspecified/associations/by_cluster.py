"""Associations by cluster, and what is left of them without one of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.null import Statistic, corrected_statistic
from biasgrid.stats.sums import TEMPLATES, Sums


@dataclass(frozen=True)
class ByCluster:
    """Associations by cluster.

    Attributes:
        sums: shape (subjects, attributes, clusters), of C or of its sign.
        counts: how many comparisons there are.
    """

    sums: FloatArray
    counts: FloatArray

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
        """Returns what is left without a cluster."""
        kept = np.arange(self.clusters) != cluster
        return ByCluster(self.sums[..., kept], self.counts[..., kept])

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
        found = np.zeros((len(subjects), len(attributes), *own.shape[1:]))
        found[rows, places] = own
        return cls(found[..., 0], found[..., 1])

    def corrected(self, name: Statistic) -> float:
        """Returns mu or eta without what noise adds."""
        return corrected_statistic(self.means, self.values, name)
