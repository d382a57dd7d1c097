"""Ranks of models, with intervals for all ranks of a set that hold simultaneously."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell
from biasgrid.stats.compare.differences import Differences, Pair
from biasgrid.stats.compare.how_asked import differences_in_asking
from biasgrid.stats.multiplicity import holm
from biasgrid.stats.settings import StatisticsSettings


def rank_intervals(values: FloatArray, larger: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Ranks models by a number, 1 being the largest (Mogstad, Romano, Shaikh and Wilhelm, 2024, with Holm's tests).

    Args:
        values: shape (models,).
        larger: shape (models, models), whether the first is significantly larger than the second.

    Returns:
        The ranks and both ends of their simultaneous intervals, shape (models,): 1 more than the number of models
        that are significantly larger, and all models less those that are significantly smaller.
    """
    rank = 1 + (values[None] > values[:, None]).sum(axis=1)
    return rank, 1 + larger.sum(axis=0), len(values) - larger.sum(axis=1)


def ranks_of(
    found: Differences, numbers: CellNumbersMatrix, cells: Sequence[ComparedCell], pairs: Sequence[Pair],
    sets: Sequence[int], settings: StatisticsSettings,
) -> Iterator[pl.DataFrame]:  # fmt: skip
    """Yields rows of `RANKS` of a number of whole cells, set by set; nothing for parts and of single models.

    Args:
        found: the differences of a kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: all pairs of the models.
        sets: the set of each model, see `comparability.sets_of`.
        settings: the level.
    """
    if found.kind.is_of_parts:
        return
    (row,) = found.kind.rows
    name = numbers.names[int(row)].select("measure", "options", "bias_type")
    for number in sorted({*sets} - {-1}):
        members = [place for place, own in enumerate(sets) if own == number and numbers.has_number[place, row]]
        if len(members) < 2:
            continue
        values = numbers.values[members, row]
        rank, low, high = rank_intervals(values, significantly_larger(found, pairs, members, settings.alpha))
        asked = differences_in_asking([cells[place].asked for place in members])
        facts = {"set": number, "model": [cells[place].model for place in members], "value": values}
        ranks = {"rank": rank, "rank_low": low, "rank_high": high, "models": len(members)}
        rows = pl.DataFrame(facts | ranks).with_columns(asked_differently=pl.lit(asked, pl.String))
        yield name.join(rows, how="cross")


def significantly_larger(found: Differences, pairs: Sequence[Pair], members: Sequence[int], alpha: float) -> BoolArray:
    """Says which models are significantly larger than which (Holm's tests of all pairs); shape (members, members)."""
    place = {member: position for position, member in enumerate(members)}
    chosen = [number for number, pair in enumerate(pairs) if pair.one in place and pair.other in place]
    larger = np.zeros((len(members), len(members)), dtype=np.bool_)
    for number, p in zip(chosen, holm(found.p[chosen, 0]), strict=True):
        if p <= alpha:
            sides = place[pairs[number].one], place[pairs[number].other]
            larger[sides if found.values[number, 0] > 0 else sides[::-1]] = True
    return larger
