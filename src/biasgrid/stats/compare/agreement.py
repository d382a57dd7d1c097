"""Agreement of models on the order of a dataset's subjects, and the highest agreement that their
noise allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell, HypothesisFamily
from biasgrid.stats.compare.differences import Pair
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.key_columns import KEY_NAMED

FEWEST_SUBJECTS = 5
NO_AGREEMENT_INTERVAL = (
    "no interval: without one of the subjects, they agree perfectly or do not vary"
)


def ranks_without_each(values: FloatArray) -> FloatArray:
    """Returns the ranks of numbers: of all of them, and without each in turn.

    Equal numbers have their mean rank.

    Args:
        values: shape (numbers,), without NaN.

    Returns:
        Shape (1 + numbers, numbers). The first row has the ranks of all; in row 1 + i the number i
        is left out and NaN.
    """
    smaller = (values[None] < values[:, None]).astype(np.float64)
    equal = (values[None] == values[:, None]).astype(np.float64)
    ranks = smaller.sum(axis=1) + (equal.sum(axis=1) + 1) / 2
    without = ranks[None] - smaller.T - equal.T / 2
    np.fill_diagonal(without, np.nan)
    return np.vstack([ranks, without])


def spearman(values: FloatArray, other_values: FloatArray) -> FloatArray:
    """Returns Spearman's correlation of two lists of numbers, and without each number in turn.

    Args:
        values: shape (numbers,), without NaN.
        other_values: likewise.

    Returns:
        Shape (1 + numbers,), the correlation of all first; NaN if one side does not vary.
    """
    sides = [ranks_without_each(numbers) for numbers in (values, other_values)]
    deviations = [ranks - np.nanmean(ranks, axis=1, keepdims=True) for ranks in sides]
    products = np.nansum(deviations[0] * deviations[1], axis=1)
    squares = [np.nansum(side**2, axis=1) for side in deviations]
    return divide(products, np.sqrt(squares[0] * squares[1]))


def correlation_interval(correlations: FloatArray, alpha: float) -> tuple[float, float]:
    """Returns the interval of a correlation over subjects: jackknife of its artanh.

    Args:
        correlations: from `spearman`.
        alpha: 1 - level of the interval.

    Returns:
        Both ends, NaN if any of the correlations is 1, -1 or NaN.
    """
    with np.errstate(divide="ignore"):
        z = np.arctanh(np.clip(correlations, -1, 1))
    if not np.isfinite(z).all():
        return float("nan"), float("nan")
    variance, subjects = jackknife(z[None, 1:])
    source = VarianceSource(variance, (subjects - 1).astype(np.float64))
    half = half_width([source], alpha)[0]
    return float(np.tanh(z[0] - half)), float(np.tanh(z[0] + half))


def agreement_rows(
    kind: HypothesisFamily,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:
    """Yields rows of `AGREEMENT`, one table per pair of models.

    There are none for kinds that have more keys than one, or a key without `Key.has_agreement`.

    Args:
        kind: the kind.
        numbers: the numbers of all cells.
        cells: all cells.
        pairs: the pairs of models.
        settings: the level.
    """
    if len(kind.keys) != 1 or not KEY_NAMED[kind.keys[0]].has_agreement:
        return
    name = numbers.keys[int(kind.rows[0])].select("measure", "options")
    for pair in pairs:
        cell, other_cell = cells[pair.cell], cells[pair.other_cell]
        values = numbers.values[pair.cell, kind.rows]
        other_values = numbers.values[pair.other_cell, kind.rows]
        has_both = ~np.isnan(values) & ~np.isnan(other_values)
        subjects = int(has_both.sum())
        row: dict[str, object] = {
            "model": cell.model,
            "other_model": other_cell.model,
            "n": subjects,
        }
        reason = pair.reason
        if reason is None and subjects < FEWEST_SUBJECTS:
            reason = f"{subjects} subjects, of which at least {FEWEST_SUBJECTS} are needed"
        if reason is None:
            correlations = spearman(values[has_both], other_values[has_both])
            low, high = correlation_interval(correlations, settings.alpha)
            row["value"] = float(correlations[0])
            row["low"], row["high"] = low, high
            row["ceiling"] = ceiling(cell.reliability, other_cell.reliability)
            reason = NO_AGREEMENT_INTERVAL if np.isnan(low) else None
        yield name.join(pl.DataFrame([row | {"reason": reason}]), how="cross")


def ceiling(reliability: float | None, other_reliability: float | None) -> float | None:
    """Returns the correlation to expect of two models in full agreement, given their noise.

    It is None if a reliability is unknown.
    """
    if reliability is None or other_reliability is None:
        return None
    return float(np.sqrt(reliability * other_reliability))
