"""What the statistics of a cell are given, and what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from biasgrid.tables.measure import Unit

RANGES: Mapping[Unit, tuple[float, float]] = {
    "probability": (0, 1),
    "share": (0, 1),
    "difference": (-1, 1),
    "correlation": (-1, 1),
    "distance": (0, float("inf")),
    "count": (0, float("inf")),
}
"""Between what the numbers of a unit are; those of others may be any."""
EVERYTHING = (-float("inf"), float("inf"))


class Settings(NamedTuple):
    """How the statistics of a cell are made.

    Attributes:
        frames: the frame of each template, by number; see `frames.frames_of`.
        units: by measure, what its numbers are; None of those that other templates would not change.
        level: the coverage of intervals.
        relabellings: how many are drawn where there are too many to try all.
        seed: seed of what is drawn.
        fdr: how discoveries are controlled, `bh` or `by`.
    """

    frames: Sequence[int] = ()
    units: Mapping[str, Unit | None] = {}
    level: float = 0.95
    relabellings: int = 1999
    seed: int = 0
    fdr: str = "bh"

    @property
    def alpha(self) -> float:
        """How often intervals miss."""
        return 1 - self.level

    def range_of(self, measure: str) -> tuple[float, float]:
        """Returns between what a measure's numbers are."""
        unit = self.units.get(measure)
        return EVERYTHING if unit is None else RANGES.get(unit, EVERYTHING)


class Found(NamedTuple):
    """What the statistics of a cell find.

    Attributes:
        statistics: rows of `STATISTICS`, of those measures about which something can be said.
        variances: rows of `VARIANCES`.
        frames: rows of `FRAMES`.
        by_template: rows of `BY_TEMPLATE`.
    """

    statistics: pl.DataFrame
    variances: pl.DataFrame = pl.DataFrame()
    frames: pl.DataFrame = pl.DataFrame()
    by_template: pl.DataFrame = pl.DataFrame()
