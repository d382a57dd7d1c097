"""The settings of the statistics of a cell, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.tables.metric import Unit

RANGES: Mapping[Unit, tuple[float, float]] = {
    "probability": (0, 1),
    "share": (0, 1),
    "difference": (-1, 1),
    "correlation": (-1, 1),
    "similarity": (-1, 1),
    "distance": (0, float("inf")),
    "count": (0, float("inf")),
}
"""Between what the numbers of a unit are; those of others may be any."""
ANY_VALUE = (-float("inf"), float("inf"))


class StatisticsSettings(NamedTuple):
    """How the statistics of a cell are made.

    Attributes:
        clusters: the cluster of each template, by number; see `clusters.clusters_from_texts`.
        units: by measure, what its numbers are; None of those that other templates would not change.
        level: the coverage of intervals.
        permutations: how many are drawn where there are too many to try all.
        seed: seed of what is drawn.
        fdr: how false discoveries are controlled, `bh` or `by`.
    """

    clusters: Sequence[int] = ()
    units: Mapping[str, Unit | None] = {}
    level: float = 0.95
    permutations: int = 1999
    seed: int = 0
    fdr: str = "bh"

    @property
    def alpha(self) -> float:
        """How often intervals miss."""
        return 1 - self.level

    def range_of(self, measure: str) -> tuple[float, float]:
        """Returns between what a measure's numbers are."""
        unit = self.units.get(measure)
        return ANY_VALUE if unit is None else RANGES.get(unit, ANY_VALUE)


class CellStatistics(NamedTuple):
    """The statistics of a cell.

    Attributes:
        statistics: rows of `STATISTICS`, of those measures about which something can be said; those that models are
            compared by have `jackknife_columns` besides.
        variances: rows of `VARIANCES`.
        clusters: rows of `CLUSTERS`.
        by_template: rows of `BY_TEMPLATE`.
        without_clusters: rows of `WITHOUT_CLUSTERS`, which are made of the statistics.
    """

    statistics: pl.DataFrame
    variances: pl.DataFrame = pl.DataFrame()
    clusters: pl.DataFrame = pl.DataFrame()
    by_template: pl.DataFrame = pl.DataFrame()
    without_clusters: pl.DataFrame = pl.DataFrame()


def jackknife_columns(without: FloatArray, *, moderated: bool = False) -> dict[str, pl.Series]:
    """Returns what rows of `STATISTICS` over templates have besides, so that models can be compared by them.

    Args:
        without: shape (rows, clusters), the numbers without each cluster, NaN of clusters that a number has nothing of;
            all NaN where one of them is not defined.
        moderated: whether their variances over clusters are strengthened by those of the others.

    Returns:
        `without` and `moderated`, columns of `WITHOUT_CLUSTERS`.
    """
    lists = pl.Series(without.ravel(), dtype=pl.Float64).fill_nan(None).reshape((-1, without.shape[-1]))
    return {
        "without": lists.cast(pl.List(pl.Float64)),
        "moderated": pl.Series([moderated] * len(without), dtype=pl.Boolean),
    }
