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
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.key_columns import KEY_NAMED

FEWEST_SUBJECTS = 5
NO_AGREEMENT_INTERVAL = (
    "no interval: without one of the subjects, they agree perfectly or do not vary"
)


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
    """Returns Spearman's correlation of numbers, and below it without each number in turn.

    It is NaN if one side does not vary.
    """
    sides = [ranks_without_each(values) for values in (one, other)]
    apart = [ranks - np.nanmean(ranks, axis=1, keepdims=True) for ranks in sides]
    products = np.nansum(apart[0] * apart[1], axis=1)
    squares = [np.nansum(deviations**2, axis=1) for deviations in apart]
    return divide(products, np.sqrt(squares[0] * squares[1]))


def correlation_interval(correlations: FloatArray, alpha: float) -> tuple[float, float]:
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
    """Yields rows of `AGREEMENT` of the measure of each subject; nothing for other kinds.

    Args:
        kind: the kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: the pairs of models.
        settings: the level.
    """
    if len(kind.keys) != 1 or not KEY_NAMED[kind.keys[0]].has_agreement:
        return
    name = numbers.names[int(kind.rows[0])].select("measure", "options")
    for pair in pairs:
        one, other = cells[pair.one], cells[pair.other]
        values = numbers.values[pair.one, kind.rows]
        other_values = numbers.values[pair.other, kind.rows]
        has_both = ~np.isnan(values) & ~np.isnan(other_values)
        count = int(has_both.sum())
        row: dict[str, object] = {"model": one.model, "other_model": other.model, "n": count}
        reason = pair.reason
        if reason is None and count < FEWEST_SUBJECTS:
            reason = f"{count} subjects, of which at least {FEWEST_SUBJECTS} are needed"
        if reason is None:
            correlations = spearman(values[has_both], other_values[has_both])
            low, high = correlation_interval(correlations, settings.alpha)
            row["value"] = float(correlations[0])
            row["low"], row["high"] = low, high
            row["ceiling"] = ceiling(one.reliability, other.reliability)
            reason = NO_AGREEMENT_INTERVAL if np.isnan(low) else None
        yield name.join(pl.DataFrame([row | {"reason": reason}]), how="cross")


def ceiling(one: float | None, other: float | None) -> float | None:
    """Returns the correlation that noise lets two models reach which agree fully; None where it is
    not known.
    """
    return None if one is None or other is None else float(np.sqrt(one * other))
