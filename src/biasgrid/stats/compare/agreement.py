"""Agreement of models on the order of a dataset's subjects, and the highest that their noise
allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell, HypothesisFamily
from biasgrid.stats.compare.differences import Pair
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.variance import jackknife
from biasgrid.stats.settings import StatisticsSettings

FEWEST_SUBJECTS = 5
NO_AGREEMENT_INTERVAL = (
    "no interval: without one of the subjects, they agree perfectly or do not vary"
)
OF_SUBJECTS = ("subject",)
"""The keys of numbers that order subjects."""


def ranks_without_each(values: FloatArray) -> FloatArray:
    """Returns the ranks of numbers, those that are equal sharing theirs: of all, and below without
    each in turn.

    Args:
        values: shape (numbers,).

    Returns:
        Shape (1 + numbers, numbers), NaN for what is left out.
    """
    smaller = (values[None] < values[:, None]).astype(np.float64)
    equal = (values[None] == values[:, None]).astype(np.float64)
    ranks = smaller.sum(axis=1) + (equal.sum(axis=1) + 1) / 2
    without = ranks[None] - smaller.T - equal.T / 2
    np.fill_diagonal(without, np.nan)
    return np.vstack([ranks, without])


def spearman(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns Spearman's correlation of numbers, and below it without each in turn; NaN where one
    does not vary.
    """
    sides = [ranks_without_each(values) for values in (one, other)]
    apart = [ranks - np.nanmean(ranks, axis=1, keepdims=True) for ranks in sides]
    products = np.nansum(apart[0] * apart[1], axis=1)
    norm = np.sqrt(np.nansum(apart[0] ** 2, axis=1) * np.nansum(apart[1] ** 2, axis=1))
    return divide(products, norm)


def interval_of(correlations: FloatArray, alpha: float) -> tuple[float, float]:
    """Returns the interval of a correlation over subjects: jackknife of its artanh.

    Args:
        correlations: from `spearman`.
        alpha: how often intervals miss.

    Returns:
        Both ends, NaN where one of the correlations is 1 or -1, or is not defined.
    """
    with np.errstate(divide="ignore"):
        z = np.arctanh(np.clip(correlations, -1, 1))
    if not np.isfinite(z).all():
        return float("nan"), float("nan")
    variance, subjects = jackknife(z[None, 1:])
    half = half_width([VarianceSource(variance, (subjects - 1).astype(np.float64))], alpha)[0]
    return float(np.tanh(z[0] - half)), float(np.tanh(z[0] + half))


def agreement_of(
    kind: HypothesisFamily,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:
    """Yields rows of `AGREEMENT` of the measure of each subject; nothing for other kinds.

    Args:
        kind: the kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: the pairs of models.
        settings: the level.
    """
    if kind.keys != OF_SUBJECTS:
        return
    name = numbers.names[int(kind.rows[0])].select("measure", "options")
    for pair in pairs:
        sides = [numbers.values[place, kind.rows] for place in (pair.one, pair.other)]
        both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
        count = int(both.sum())
        models = [cells[place] for place in (pair.one, pair.other)]
        row = {"model": models[0].model, "other_model": models[1].model, "n": count}
        too_few = f"{count} subjects, of which at least {FEWEST_SUBJECTS} are needed"
        reason = pair.reason or (too_few if count < FEWEST_SUBJECTS else None)
        if reason is None:
            found = spearman(sides[0][both], sides[1][both])
            low, high = interval_of(found, settings.alpha)
            limit = ceiling(models[0].reliability, models[1].reliability)
            row |= {"value": float(found[0]), "low": low, "high": high, "ceiling": limit}
            reason = NO_AGREEMENT_INTERVAL if np.isnan(low) else None
        yield name.join(pl.DataFrame([row | {"reason": reason}]), how="cross")


def ceiling(one: float | None, other: float | None) -> float | None:
    """Returns the correlation that noise lets two models reach which agree fully; None where it is
    not known.
    """
    return None if one is None or other is None else float(np.sqrt(one * other))
