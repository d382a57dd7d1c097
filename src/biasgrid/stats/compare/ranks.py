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
        larger: shape (models, models), whether the model of the row is significantly larger than
            the model of the column.

    Returns:
        The ranks and both ends of their simultaneous intervals, each of shape (models,). The lower
        end is 1 + the number of significantly larger models, the upper end the number of models -
        the number of significantly smaller ones. Equal values share the smallest of their ranks.
    """
    rank = 1 + (values[None] > values[:, None]).sum(axis=1)
    return rank, 1 + larger.sum(axis=0), len(values) - larger.sum(axis=1)


class RankedNumber(NamedTuple):
    """A number by which models are ranked, with a test for each pair of models.

    Attributes:
        row: the position of the number among all numbers.
        sizes: shape (cells,), the numbers or, for signed ones, their distances from equal
            treatment; NaN if a cell has no such number.
        directions: shape (pairs,), of which only the sign counts: above 0 if `Pair.cell` has the
            larger size; NaN if either size is unknown.
        p: shape (pairs,), p-values of equal sizes; NaN if that is not tested.
    """

    row: int
    sizes: FloatArray
    directions: FloatArray
    p: FloatArray


def ranked_number(
    differences: Differences,
    numbers: CellNumbersMatrix,
    pairs: Sequence[Pair],
    fair: float | None,
    settings: StatisticsSettings,
) -> RankedNumber:
    """Returns a number of whole cells with the tests by which models are ranked.

    For a signed number, one size is larger than another if the number is further in its direction
    than both the other and the other's mirror image. p is the larger p of both tests, which tests
    both at once (Berger, Technometrics 1982). So models with effects of the same size in opposite
    directions are not distinguished.

    Args:
        differences: the differences of one number, of a kind that is not of parts.
        numbers: the numbers of all cells.
        pairs: the pairs of models, in the order of `differences`.
        fair: the value of equal treatment of a signed number, None for any other.
        settings: level, and how false discoveries are controlled.
    """
    kind = differences.kind
    (row,) = kind.rows.tolist()
    values = numbers.values[:, row]
    pair_differences, p = differences.values[:, 0], differences.p[:, 0]
    if fair is None:
        return RankedNumber(row, values, pair_differences, p)
    # The difference from a mirror image is the sum of two signed distances from equal treatment.
    mirrored_pairs = [mirrored_pair(pair, len(values)) for pair in pairs]
    with_images = with_mirror_images(numbers, kind, fair)
    sums = model_differences(with_images, kind, mirrored_pairs, settings)
    sizes = np.abs(values - fair)
    # (x - fair)² - (y - fair)² = (x - y) * (x + y - 2 fair), which is above 0 if x is further off.
    directions = pair_differences * sums.values[:, 0]
    # Unlike np.fmax it passes NaN on: a pair is tested only if both its tests are.
    larger_p = np.maximum(p, sums.p[:, 0])
    return RankedNumber(row, sizes, directions, larger_p)


def mirrored_pair(pair: Pair, cell_count: int) -> Pair:
    """Returns a pair whose other cell is the mirror image that `with_mirror_images` makes of it."""
    return pair._replace(other_cell=cell_count + pair.other_cell)


def with_mirror_images(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, fair: float
) -> CellNumbersMatrix:
    """Appends all cells once more, with the numbers of a kind mirrored at a value.

    The images are in the order of the cells; see `mirrored_pair`.
    """
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
    """Mirrors a share at one half: counts the cases that it does not count.

    Args:
        columns: shape (clusters, 2), counted answers and cases.
    """
    count, cases = columns[:, 0], columns[:, 1]
    return np.stack([cases - count, cases], axis=1)


def mirrored_units(part: Sums) -> Sums:
    """Returns sums whose units vary in the opposite direction.

    Their means are mirrored at 0, not at the fair value. Only their variance is used.
    """
    along = {}
    for factor, (units, sums) in part.along.items():
        # Columns are sum, count, sum, count, ...: counts keep their sign.
        is_sum = np.arange(sums.shape[2]) % 2 == 0
        along[factor] = Along(units, sums * np.where(is_sum, -1.0, 1.0))
    return replace(part, along=along)


def rank_rows(
    ranked: RankedNumber,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    sets: Sequence[int],
    settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:
    """Yields rows of `RANKS` for a number of whole cells, one table per set of models.

    Sets with fewer than two models that have the number are left out.

    Args:
        ranked: the number, from `ranked_number`.
        numbers: the numbers of all cells.
        cells: all cells.
        pairs: the pairs of models, in the order of `ranked`.
        sets: the set of each cell, see `comparability.comparable_sets`.
        settings: the level.
    """
    name = numbers.keys[ranked.row].select("measure", "options", "bias_type")
    has_number = numbers.has_number[:, ranked.row]
    for set_number in sorted({*sets} - {-1}):
        members = [
            place for place, own in enumerate(sets) if own == set_number and has_number[place]
        ]
        if len(members) < 2:
            continue
        larger = significantly_larger(ranked, pairs, members, settings.alpha)
        rank, low, high = rank_intervals(ranked.sizes[members], larger)
        asked_differently = differences_in_asking([cells[place].how_asked for place in members])
        rows = pl.DataFrame(
            {
                "set": set_number,
                "model": [cells[place].model for place in members],
                "value": numbers.values[members, ranked.row],
                "rank": rank,
                "rank_low": low,
                "rank_high": high,
                "models": len(members),
            }
        )
        rows = rows.with_columns(asked_differently=pl.lit(asked_differently, pl.String))
        yield name.join(rows, how="cross")


def significantly_larger(
    ranked: RankedNumber, pairs: Sequence[Pair], members: Sequence[int], alpha: float
) -> BoolArray:
    """Whether each model is significantly larger than each other, by Holm's tests of all pairs.

    Args:
        ranked: the number, with its tests.
        pairs: the pairs of models, in the order of `ranked`.
        members: the positions of the models of a set among all cells.
        alpha: the level of the tests.

    Returns:
        Shape (members, members): whether the member of the row is larger than that of the column.
    """
    index = {member: position for position, member in enumerate(members)}
    tested_pairs = [
        place for place, pair in enumerate(pairs) if pair.cell in index and pair.other_cell in index
    ]
    larger = np.zeros((len(members), len(members)), dtype=np.bool_)
    for place, p in zip(tested_pairs, holm(ranked.p[tested_pairs]), strict=True):
        if p <= alpha:
            member, other_member = index[pairs[place].cell], index[pairs[place].other_cell]
            is_member_larger = ranked.directions[place] > 0
            larger[(member, other_member) if is_member_larger else (other_member, member)] = True
    return larger
