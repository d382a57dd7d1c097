"""The settings of the statistics of a cell, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from biasgrid.tables.claims.numbers import ANY_RANGE, RANGES
from biasgrid.tables.metric import Unit

ANY_VALUE = ANY_RANGE
"""The range of numbers without limits."""


class StatisticsSettings(NamedTuple):
    """How the statistics of a cell are made.

    Attributes:
        clusters: the cluster of each template, by number; see `clusters.clusters_from_texts`.
        units: by measure, what its numbers are; None of those that other templates would not
            change.
        ranges: by measure, between what its numbers are, where that is not what `RANGES` has for
            its unit.
        level: the coverage of intervals.
        permutations: how many are drawn where there are too many to try all.
        seed: seed of what is drawn.
        fdr: how false discoveries are controlled, `bh` or `by`.
        controls: how large the numbers of the cell's controls are, by the control's name; see
            `stats.control`.
    """

    clusters: Sequence[int] = ()
    units: Mapping[str, Unit | None] = {}
    ranges: Mapping[str, tuple[float, float]] = {}
    level: float = 0.95
    permutations: int = 1999
    seed: int = 0
    fdr: str = "bh"
    controls: Mapping[str, Sequence[Mapping[str, Any]]] = {}

    @property
    def alpha(self) -> float:
        """How often intervals miss."""
        return 1 - self.level

    def range_of(self, measure: str) -> tuple[float, float]:
        """Returns the range of a measure: its own, else that of its unit, else no limits."""
        if measure in self.ranges:
            return self.ranges[measure]
        unit = self.units.get(measure)
        return ANY_VALUE if unit is None else RANGES.get(unit, ANY_VALUE)


class CellNumbers(NamedTuple):
    """The numbers of a cell.

    Attributes:
        estimates: what `estimate.estimate` returns, and rows of what is derived from several
            numbers.
        design: rows of `DESIGN`.
    """

    estimates: pl.DataFrame
    design: pl.DataFrame = pl.DataFrame()
