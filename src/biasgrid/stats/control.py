"""Negative controls as the null: how far numbers are from 0 where only words differ.

In a model that has read text any two phrases differ, so being told from 0 is no claim about groups; being beyond the
control is.
"""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource

FEWEST_OF_CONTROL = 3
"""Fewer numbers of a control say nothing of their size."""


def control_source(values: FloatArray, variances: FloatArray, free: int, numbers: int) -> VarianceSource | None:
    """Returns what numbers vary with in a control: the size of its own numbers without their noise.

    Args:
        values: shape (controls,), the control's numbers of one kind; NaN where there are none.
        variances: shape (controls,), those of these numbers.
        free: how many of them do not follow from others (of two groups that mirror each other one).
        numbers: of how many numbers of the dataset it is a source of variance.

    Returns:
        The same variance for each number, mean of value² less that of the variances and at least 0, with `free` - 1
        degrees of freedom; None where too little is known.
    """
    known = ~np.isnan(values) & ~np.isnan(variances)
    if np.count_nonzero(known) < FEWEST_OF_CONTROL or free < FEWEST_OF_CONTROL:
        return None
    size = max(float((values[known] ** 2).mean() - variances[known].mean()), 0.0)
    return VarianceSource(np.full(numbers, size), np.full(numbers, free - 1.0))
