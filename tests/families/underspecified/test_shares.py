"""Shares of preference, and what is left of C beside them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biasgrid.families.underspecified.observe import LEAST_MASS, compare_scores, preference_shares


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 4))
def test_c_is_its_part_of_shares_and_its_part_of_mass(seed: int, spread: float) -> None:
    """C is the mean over orders of M~ (s(x; question) - s(x; negation)), and the mass part."""
    scores = np.exp(-1 - spread * np.random.default_rng(seed).random((20, 2, 2, 2)))
    _, mass_part = preference_shares(scores)
    mass = scores.sum(axis=-1)
    share = scores[..., 0] / mass
    share_part = (mass.mean(axis=-1) * (share[..., 0] - share[..., 1])).mean(axis=-1)
    assert_allclose(compare_scores(scores)["comparison"], share_part + mass_part, atol=1e-14)


def test_c_of_shares_is_c_whatever_the_mass_is() -> None:
    random = np.random.default_rng(1)
    shares = random.random((20, 2, 2, 1))
    shares = np.concatenate([shares, 1 - shares], axis=-1)
    expected = compare_scores(shares)["comparison"]
    for mass in (random.uniform(0.1, 1, (20, 2, 2, 1)), 1e-5):
        assert_allclose(preference_shares(mass * shares)[0], expected, atol=1e-12)
    # What is asked with one mass throughout has no part of mass.
    assert_allclose(preference_shares(0.5 * shares)[1], 0, atol=1e-15)


def test_equal_odds_are_mass_alone() -> None:
    """Words that are all the likelier in a question, at the same odds, move C and no share."""
    scores = np.full((1, 2, 2, 2), 0.1) * np.array([1, 3])
    scores[:, :, 0] *= 2
    share, mass_part = preference_shares(scores)
    assert_allclose(share, 0, atol=1e-15)
    assert_allclose(mass_part, compare_scores(scores)["comparison"])
    assert abs(mass_part[0]) > 0.01


def test_swap_groups_without_mass_in_one_instance_have_no_share() -> None:
    scores = np.full((2, 2, 2, 2), 0.3)
    scores[0, 1, 0] = LEAST_MASS / 3
    for values in preference_shares(scores):
        assert np.isnan(values).tolist() == [True, False]
