"""Shares of preference, and what is left of C beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biasgrid.families.underspecified.observe import (
    LEAST_MASS,
    compare_scores,
    least_mass,
    stored_step,
    swap_group_preferences,
)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 4))
def test_c_is_its_part_of_shares_and_its_part_of_mass(seed: int, spread: float) -> None:
    """C is the mean over orders of M~ (s(x; question) - s(x; negation)), and the mass part."""
    scores = np.exp(-1 - spread * np.random.default_rng(seed).random((20, 2, 2, 2)))
    mass_part = swap_group_preferences(scores).mass
    mass = scores.sum(axis=-1)
    share = scores[..., 0] / mass
    share_part = (mass.mean(axis=-1) * (share[..., 0] - share[..., 1])).mean(axis=-1)
    assert_allclose(compare_scores(scores)["comparison"], share_part + mass_part, atol=1e-14)


def test_c_of_shares_does_not_depend_on_the_mass() -> None:
    random = np.random.default_rng(1)
    shares = random.random((20, 2, 2, 1))
    shares = np.concatenate([shares, 1 - shares], axis=-1)
    expected = compare_scores(shares)["comparison"]
    for mass in (random.uniform(0.1, 1, (20, 2, 2, 1)), 1e-5):
        assert_allclose(swap_group_preferences(mass * shares).share, expected, atol=1e-12)
    # What is asked with one mass throughout has no part of mass.
    assert_allclose(swap_group_preferences(0.5 * shares).mass, 0, atol=1e-15)


def test_equal_odds_are_mass_alone() -> None:
    """Words that are all the likelier in a question, at the same odds, move C and no share."""
    scores = np.full((1, 2, 2, 2), 0.1) * np.array([1, 3])
    scores[:, :, 0] *= 2
    share, mass_part, question, negation, room, change = swap_group_preferences(scores)
    assert_allclose(share, 0, atol=1e-15)
    assert_allclose(mass_part, compare_scores(scores)["comparison"])
    assert abs(mass_part[0]) > 0.01
    assert_allclose([question, negation], -np.log(3))
    assert_allclose(room, 4 * 0.25 * 0.75)
    assert_allclose(change, np.log(2))


def test_swap_groups_without_mass_in_one_instance_have_no_share() -> None:
    scores = np.full((2, 2, 2, 2), 0.3)
    scores[0, 1, 0] = LEAST_MASS / 3
    for values in swap_group_preferences(scores):
        assert np.isnan(values).tolist() == [True, False]


def test_a_score_of_0_has_a_share_and_no_log_odds() -> None:
    scores = np.full((2, 2, 2, 2), 0.3)
    scores[0, 0, 0, 1] = 0
    found = swap_group_preferences(scores)
    assert not np.isnan(found.share).any()
    assert np.isnan(found.question).tolist() == [True, False]
    assert found.has_odds.tolist() == [False, True]


def test_a_preference_for_a_place_cancels_in_shares() -> None:
    """In each order the odds of who stands first are three times as large."""
    scores = np.full((1, 2, 2, 2), 0.1)
    scores[:, 0, :, 0] = scores[:, 1, :, 1] = 0.3
    assert_allclose(swap_group_preferences(scores).share, 0, atol=1e-15)


@pytest.mark.parametrize(("decimals", "step"), [(3, 0), (4, 1e-4), (5, 1e-5), (6, 1e-6), (9, 0)])
def test_the_least_mass_is_a_hundred_steps_of_what_is_stored(decimals: int, step: float) -> None:
    random = np.random.default_rng(1)
    scores = (
        np.round(random.random((1000, 2, 2, 2)) ** 3, decimals)
        .astype(np.float32)
        .astype(np.float64)
    )
    assert stored_step([scores]) == step
    assert stored_step(np.split(scores, 4)) == step
    assert least_mass([scores]) == max(LEAST_MASS, 100 * step)
    assert least_mass([scores], "float16") == max(1e-5, 100 * step)
    # A few numbers do not tell.
    assert stored_step([scores[:5]]) == 0


def test_choices_of_0_and_1_are_no_rounded_probabilities() -> None:
    assert (
        stored_step([np.random.default_rng(1).integers(0, 2, (1000, 2, 2, 2)).astype(np.float64)])
        == 0
    )
