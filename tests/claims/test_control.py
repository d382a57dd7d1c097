"""A control as the null: what is no larger than in invented words is not claimed, what is three times as large is."""

from __future__ import annotations

import numpy as np
import pytest

from biasgrid.stats.control import control_source
from biasgrid.stats.intervals import VarianceSource, p_values
from biasgrid.stats.multiplicity import false_discovery_rates

CLUSTERS, NOISE = 7, 0.5


def found(random: np.random.Generator, tests: int, controls: int, size: float) -> float:
    """The share of tests that stand out beyond a control whose associations have a size of 1, those of tests `size`."""
    control = random.normal(size=controls) + random.normal(0, NOISE / np.sqrt(CLUSTERS), controls)
    signs = random.choice([-1, 1], tests) if size > 1 else random.normal(size=tests)
    observed = (size * signs)[:, None] + random.normal(0, NOISE, (tests, CLUSTERS))
    variance = np.full(tests, observed.var(axis=1, ddof=1).mean() / CLUSTERS)
    noise = np.full(controls, NOISE**2 / CLUSTERS)
    of_control = control_source(control, noise, controls, tests)
    assert of_control is not None
    own = VarianceSource(variance, np.full(tests, np.inf))
    q = false_discovery_rates(p_values(observed.mean(axis=1), [own, of_control]))
    return float((q <= 0.05).mean())


def check(runs: int) -> None:
    random = np.random.default_rng(6)
    standard_error = np.sqrt(0.05 * 0.95 / runs)
    for tests, controls in ((60, 60), (140, 60), (60, 30)):
        false = np.mean([found(random, tests, controls, 1) > 0 for _ in range(runs)])
        assert false <= 0.05 + 2 * standard_error, (tests, controls)
    assert np.mean([found(random, 60, 60, 3) for _ in range(runs)]) >= 0.8


def test_a_control_of_the_same_law_leaves_nothing_to_claim_and_larger_effects_are_found() -> None:
    check(runs=60)


@pytest.mark.long
def test_a_control_of_the_same_law_in_many_worlds() -> None:
    check(runs=400)


def test_a_quiet_control_adds_nothing_and_a_small_one_says_nothing() -> None:
    noise = np.full(20, 0.04)
    quiet = control_source(np.full(20, 0.1), noise, 20, 3)
    assert quiet is not None
    assert quiet.variance.tolist() == [0, 0, 0]
    assert control_source(np.full(2, 0.1), np.full(2, 0.04), 2, 3) is None
    assert control_source(np.full(20, np.nan), noise, 20, 3) is None
