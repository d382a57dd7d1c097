"""Intervals of what varies with several things at once, and their p."""

import numpy as np
from numpy.testing import assert_allclose

from biasgrid.stats.intervals import VarianceSource, half_width, p_values


def test_at_p_the_interval_just_reaches_0_regardless_of_the_degrees_of_freedom() -> None:
    """Welch's degrees of freedom are no whole numbers, and of some of these scipy's quantiles fail
    in far tails.
    """
    random, count = np.random.default_rng(1), 5_000
    sources = [
        VarianceSource(np.ones(count), random.uniform(1.01, 6, count)),
        VarianceSource(np.full(count, 0.5), random.uniform(2, 40, count)),
    ]
    values = random.uniform(0.01, 5, count)
    assert_allclose(half_width(sources, p_values(values, sources)), values, rtol=1e-9)
