"""Ranks of models, with intervals for all ranks of a set that hold simultaneously."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell, HypothesisFamily
from biasgrid.stats.compare.differences import Differences, Pair, model_differences
from biasgrid.stats.compare.how_asked import differences_in_asking
from biasgrid.stats.multiplicity import holm
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Along, Sums


def rank_intervals(values: FloatArray, larger: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Ranks models by a number, 1 being the largest (Mogstad, Romano, Shaikh and Wilhelm, 2024,
    with Holm's tests).

    Args:
        values: shape (models,).
        larger: shape (models, models), whether the first is significantly larger than the second.

    Returns:
        The ranks and both ends of their simultaneous intervals, shape (models,): 1 more than the
        number of models that are significantly larger, and all models less those that are
        significantly smaller.
    """
    rank = 1 + (values[None] > values[:, None]).sum(axis=1)
    return rank, 1 + larger.sum(axis=0), len(values) - larger.sum(axis=1)


class RankedNumber(NamedTuple):
    """A number by which models are ranked, with a test for each pair of models.

    Attributes:
        row: the place of the number among all numbers.
        sizes: shape (cells,), the numbers or, of signed ones, their distances from equal treatment;
            NaN where a cell has no such number.
        differences: shape (pairs,), above 0 where the one model has the larger size.
        p: shape (pairs,), of equal sizes; NaN where that is not tested.
    """

    row: int
    sizes: FloatArray
    differences: FloatArray
    p: FloatArray


def ranked_number(
    differences: Differences,
    numbers: CellNumbersMatrix,
    pairs: Sequence[Pair],
    fair: float | None,
    settings: StatisticsSettings,
) -> RankedNumber:
    """Returns a number of whole cells, ready for ranks.

    Of a signed number one size is larger than another if the number is larger in direction than the
    other and than the other's mirror image; p is the larger one of both tests, which is a test of
    both at once (Berger, Technometrics 1982). So models with effects of the same size in opposite
    directions are not distinguished.

    Args:
        differences: the differences of the number.
        numbers: the numbers of all cells.
        pairs: all pairs of the models.
        fair: the value of equal treatment of a signed number, None for any other.
        settings: how false discoveries are controlled.
    """
    kind = differences.kind
    (row,) = kind.rows.tolist()
    values = numbers.values[:, row]
    apart, p = differences.values[:, 0], differences.p[:, 0]
    if fair is None:
        return RankedNumber(row, values, apart, p)
    # The mirror images of all cells stand behind these, so that the difference from a mirror image
    # is the sum of two distances from equal treatment.
    mirrored_pairs = [pair._replace(other=pair.other + len(values)) for pair in pairs]
    with_images = with_mirror_images(numbers, kind, fair)
    sums = model_differences(with_images, kind, mirrored_pairs, settings)
    sizes = np.abs(values - fair)
    return RankedNumber(row, sizes, apart * sums.values[:, 0], np.maximum(p, sums.p[:, 0]))


def with_mirror_images(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, fair: float
) -> CellNumbersMatrix:
    """Adds the same cells again, with the numbers of a kind mirrored at a value."""
    values = numbers.values.copy()
    values[:, kind.rows] = 2 * fair - values[:, kind.rows]
    without = [lists.copy() for lists in numbers.without]
    for lists in without:
        lists[kind.rows] = 2 * fair - lists[kind.rows]
    shares: list[dict[int, FloatArray]] = []
    for counts in numbers.shares:
        shares.append({row: mirrored_share(columns) for row, columns in counts.items()})
    over_more: list[list[Sums]] = []
    for parts in numbers.over_more:
        over_more.append([mirrored_units(part) for part in parts])
    return replace(
        numbers,
        values=np.concatenate([numbers.values, values]),
        without=[*numbers.without, *without],
        shares=[*numbers.shares, *shares],
        over_more=[*numbers.over_more, *over_more],
        has_part=np.concatenate([numbers.has_part, numbers.has_part]),
    )


def mirrored_share(columns: FloatArray) -> FloatArray:
    """Returns what a share counts, mirrored at one half: what it does not count."""
    counted, cases = columns[:, 0], columns[:, 1]
    return np.stack([cases - counted, cases], axis=1)


def mirrored_units(part: Sums) -> Sums:
    """Returns sums whose units vary in the opposite direction.

    They serve for the variance over other factors than clusters.
    """
    along = {}
    for factor, (units, sums) in part.along.items():
        # Sums change their sign; the counts beside them stay.
        is_sum = np.arange(sums.shape[2]) % 2 == 0
        along[factor] = Along(units, sums * np.where(is_sum, -1.0, 1.0))
    return replace(part, along=along)


def rank_rows(
    order: RankedNumber,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    sets: Sequence[int],
    settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:
    """Yields rows of `RANKS` of a number of whole cells, set by set; nothing of single models.

    Args:
        order: by what they are ranked.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: all pairs of the models.
        sets: the set of each model, see `comparability.comparable_sets`.
        settings: the level.
    """
    name = numbers.names[order.row].select("measure", "options", "bias_type")
    has_number = numbers.has_number[:, order.row]
    for set_number in sorted({*sets} - {-1}):
        members = [
            place for place, own in enumerate(sets) if own == set_number and has_number[place]
        ]
        if len(members) < 2:
            continue
        larger = significantly_larger(order, pairs, members, settings.alpha)
        rank, low, high = rank_intervals(order.sizes[members], larger)
        asked = differences_in_asking([cells[place].asked for place in members])
        rows = pl.DataFrame(
            {
                "set": set_number,
                "model": [cells[place].model for place in members],
                "value": numbers.values[members, order.row],
                "rank": rank,
                "rank_low": low,
                "rank_high": high,
                "models": len(members),
            }
        )
        rows = rows.with_columns(asked_differently=pl.lit(asked, pl.String))
        yield name.join(rows, how="cross")


def significantly_larger(
    order: RankedNumber, pairs: Sequence[Pair], members: Sequence[int], alpha: float
) -> BoolArray:
    """Tells significantly larger models by Holm's tests of all pairs, shape (members, members)."""
    position = {member: number for number, member in enumerate(members)}
    tested = [
        place for place, pair in enumerate(pairs) if pair.one in position and pair.other in position
    ]
    larger = np.zeros((len(members), len(members)), dtype=np.bool_)
    for place, p in zip(tested, holm(order.p[tested]), strict=True):
        if p <= alpha:
            one, other = position[pairs[place].one], position[pairs[place].other]
            is_one_larger = order.differences[place] > 0
            larger[(one, other) if is_one_larger else (other, one)] = True
    return larger
