"""How noisy the numbers of finished cells are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import CellPlan
from biasgrid.stats.planning import Noise
from biasgrid.tables.files import read_table
from biasgrid.tables.statistics import STATISTICS, VARIANCES
from biasgrid.tables.validity import are_headlines

ASSOCIATION = ("subject", "attribute")
SOURCES = ("subject", "association", "subject x frame", "association x frame")


def found_in(layout: Layout, cell: CellPlan, headlines: Mapping[str, str]) -> Iterator[tuple[Noise, str]]:
    """Yields what a finished cell tells of its noise, and of which number: nothing of one that is not finished."""
    paths = layout.statistics(cell.dataset, cell.model), layout.variances(cell.dataset, cell.model)
    if all(path.exists() for path in paths):
        rows = intervals_in(paths[0])
        variances = read_table(paths[1], VARIANCES)
        associations = rows.filter(measure="gamma").drop_nulls(ASSOCIATION)
        if len(associations):
            yield noise_of_associations(associations, variances), "an association"
        elif len(rows):
            some = rows.filter(are_headlines(headlines))
            rows = some if len(some) else rows
            name = rows["measure"][0]
            yield noise_of_means(rows.filter(measure=name)), name


def intervals_in(path: Path) -> pl.DataFrame:
    """Returns the numbers of a cell whose standard error over templates is known."""
    return read_table(path, STATISTICS).filter(over="templates").drop_nulls(["se", "df"])


def noise_of_associations(rows: pl.DataFrame, variances: pl.DataFrame) -> Noise:
    """Returns the noise of a cell's associations: that of its frames, and of pairs of subjects within them.

    A subject's comparison with one partner varies with half of the variance of subjects, which is all the partner's,
    and with what is the pair's own.
    """
    values = dict(variances.group_by("name").agg(pl.col("value").mean()).rows())
    within = sum(max(values.get(name) or 0.0, 0.0) for name in SOURCES) / 2 + max(values.get("pair") or 0.0, 0.0)
    return Noise(values["noise_sd"] ** 2, within, values["prior_df"], *design_of(rows))


def noise_of_means(rows: pl.DataFrame) -> Noise:
    """Returns the noise of means."""
    return noise_of(float(rows["se"].pow(2).median() or 0), *design_of(rows))  # type: ignore[arg-type]


def noise_of(variance: float, frames: int, units: float) -> Noise:
    """Returns the noise of a mean: what frames and units have in it is not told apart, so both count in full."""
    return Noise(variance * frames, variance * units, 0.0, frames, units)


def design_of(rows: pl.DataFrame) -> tuple[int, float]:
    """Returns how many frames and units a number has."""
    return int(rows["frames"].max() or 0), float(rows["n"].median() or 0)  # type: ignore[arg-type]
