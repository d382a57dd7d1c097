"""Which units are in a sample."""

from __future__ import annotations

import numpy as np

from biasgrid.arrays import BoolArray
from biasgrid.families.sampling import Sample
from biasgrid.tables.keys import STEP, mixed


def chosen_units(count: int, sample: Sample | None) -> BoolArray:
    """Says which units are in a sample: those whose numbers, mixed with the seed, are least.

    So a larger sample of one seed holds the smaller ones, and what these were asked is not asked again.

    Args:
        count: how many units there are.
        sample: the sample, None for all of them.

    Returns:
        Shape (count,).
    """
    chosen = np.ones(count, dtype=np.bool_)
    if sample is not None and sample.units < count:
        numbers = mixed(mixed(np.full(count, sample.seed, np.uint64)) + np.arange(count, dtype=np.uint64) * STEP)
        chosen[np.argsort(numbers, kind="stable")[sample.units :]] = False
    return chosen
