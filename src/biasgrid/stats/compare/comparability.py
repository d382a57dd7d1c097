"""Which models may be compared with which, and why others may not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasgrid.base.arrays import BoolArray
from biasgrid.base.faults import first_few
from biasgrid.stats.compare.cells import Cell
from biasgrid.stats.compare.numbers import PARTS, Numbers


def why_not(numbers: Numbers, cells: Sequence[Cell], one: int, other: int, *, scored_alike: bool) -> str | None:
    """Says why two cells may not be compared, None where they may.

    Args:
        numbers: the numbers of the cells.
        cells: the cells.
        one: the place of a cell.
        other: that of another one.
        scored_alike: whether the answers of both must have been scored in one way.
    """
    silent = [cells[place].model for place in (one, other) if cells[place].numbers.is_empty()]
    if silent:
        return f"nothing is measurable of {' and '.join(dict.fromkeys(silent))}"
    ways = [cells[place].scoring or "none" for place in (one, other)]
    if scored_alike and ways[0] != ways[1]:
        return f"scored in different ways: {ways[0]} and {ways[1]}"
    if (numbers.asked[one] != numbers.asked[other]).any():
        return unlike_lists(numbers, cells, (one, other))
    return None


def unlike_lists(numbers: Numbers, cells: Sequence[Cell], pair: tuple[int, int]) -> str:
    """Words that two models were asked about unlike lists, with what is in one alone."""
    parts = []
    for one, other in (pair, pair[::-1]):
        own, others = (numbers.names.filter(numbers.there[place]) for place in (one, other))
        alone = [
            name
            for key in PARTS
            for name in sorted({*own[key].cast(str).drop_nulls()} - {*others[key].cast(str).drop_nulls()})
        ]
        if alone:
            parts.append(f"{first_few(alone)} of {cells[one].model} alone")
    return f"asked about unlike lists: {'; '.join(parts) or 'other pairs of the same names'}"


def sets_of(comparable: BoolArray) -> list[int]:
    """Returns the set of each model, models of one set being comparable; sets are numbered by their first models.

    Args:
        comparable: shape (models, models); a model that is not comparable with itself is in none, -1.
    """
    firsts = [int(np.flatnonzero(row)[0]) if row[place] else -1 for place, row in enumerate(comparable)]
    numbers = {first: number for number, first in enumerate(dict.fromkeys(first for first in firsts if first >= 0))}
    return [numbers.get(first, -1) for first in firsts]
