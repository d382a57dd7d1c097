"""The control as the null: what stands out is larger than what invented words do
(docs/controls.md).
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from association_worlds import Array, additive, estimates

from biasgrid.stats.control import beyond_control, control_sizes
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.stats.settings import StatisticsSettings

SHAPE, CLUSTERS = (6, 12), 5
"""Subjects and attributes of dataset and control: 60 free numbers."""


def estimates_of(theta: Array, random: np.random.Generator) -> pl.DataFrame:
    return estimates(additive(random, theta, CLUSTERS).values)


def beside(dataset: Array, control: Array, seed: int) -> pl.DataFrame:
    """Estimates of associations of a dataset beside those of its control."""
    random = np.random.default_rng(seed)
    sizes = control_sizes(estimates_of(control, random))
    return beyond_control(estimates_of(dataset, random), {"placebo": sizes}, StatisticsSettings())


def theta_of(size: float, random: np.random.Generator) -> Array:
    return size * random.normal(size=SHAPE)


def claims(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter("is_claim")


def any_beyond(
    size: float, runs: int, of_dataset: tuple[int, int] = SHAPE, of_control: tuple[int, int] = SHAPE
) -> float:
    """In how many worlds anything stands out of a control that is of the same law.

    Args:
        size: of the associations of both.
        runs: how many worlds.
        of_dataset: how many subjects and attributes the dataset has.
        of_control: how many its control has.
    """
    found = 0
    for seed in range(runs):
        random = np.random.default_rng([seed, 1])
        theta = (size * random.normal(size=shape) for shape in (of_dataset, of_control))
        rows = beside(*theta, seed)
        found += bool((claims(rows)["q"] <= SIGNIFICANT).any())
    return found / runs


def power(times: float, runs: int) -> float:
    """How many associations are found that are so many times as large as the control's."""
    found = []
    for seed in range(runs):
        random = np.random.default_rng([seed, 2])
        signs = np.where(np.arange(SHAPE[0])[:, None] % 2, 1.0, -1.0) * np.ones(SHAPE)
        rows = beside(times * signs, theta_of(1, random), seed)
        found.append((claims(rows)["q"] <= SIGNIFICANT).mean())
    return float(np.mean(found))


@pytest.mark.slow
def test_no_number_exceeds_a_control_with_the_same_distribution() -> None:
    assert any_beyond(2.0, runs=40) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 40)


def test_what_is_three_times_as_large_as_its_control_is_found() -> None:
    assert power(3.0, runs=10) >= 0.8


def test_a_control_without_any_size_changes_next_to_nothing() -> None:
    random = np.random.default_rng(5)
    theta = theta_of(2.0, random)
    rows = beside(theta, np.zeros(SHAPE), 5)
    against_zero = rows.filter(~pl.col("is_claim"))
    found = [int((each["q"] <= SIGNIFICANT).sum()) for each in (claims(rows), against_zero)]
    assert found[0] >= 0.9 * found[1] > 10


def test_tests_against_0_are_listed_next_to_tests_against_the_control() -> None:
    random = np.random.default_rng(6)
    rows = beside(theta_of(2.0, random), theta_of(2.0, random), 6)
    known, against_zero = claims(rows), rows.filter(~pl.col("is_claim"))
    assert known["control"].unique().to_list() == ["placebo"]
    assert against_zero["control"].null_count() == len(against_zero) == len(known)
    assert (known["p"] >= against_zero["p"] - 1e-12).all()
    assert ((known["high"] - known["low"]) > (against_zero["high"] - against_zero["low"])).all()
    assert known["value"].equals(against_zero["value"])
    assert (known["se"] - against_zero["se"]).abs().max() == 0
    # An interval holds 0 just where its p is above 0.05.
    assert ((known["low"] <= 0) & (known["high"] >= 0)).equals(known["p"] > 0.05)


def test_of_several_controls_the_largest_counts() -> None:
    random = np.random.default_rng(7)
    sizes = {
        name: control_sizes(estimates_of(theta_of(size, random), random))
        for name, size in (("a", 1.0), ("b", 3.0))
    }
    rows = beyond_control(estimates_of(theta_of(1.0, random), random), sizes, StatisticsSettings())
    assert claims(rows)["control"].unique().to_list() == ["b"]


def test_what_its_control_has_no_numbers_of_is_against_0() -> None:
    random = np.random.default_rng(9)
    known = estimates_of(theta_of(1.0, random), random)
    sizes = [row | {"measure": "another"} for row in control_sizes(known)]
    for controls in ({"placebo": sizes}, {"placebo": []}, {}):
        rows = beyond_control(known, controls, StatisticsSettings())
        assert rows.drop("control").equals(known)
        assert rows["control"].null_count() == len(rows)


def test_sizes_of_controls_are_free_of_noise() -> None:
    random = np.random.default_rng(8)
    found = control_sizes(estimates_of(theta_of(0.0, random), random))
    assert [row["variance"] < 0.02 for row in found] == [True]
    # The associations of an attribute sum to 0: five of six are free.
    assert [row["df"] for row in found] == [5 * 12 - 1]


def test_numbers_that_are_not_tested_say_nothing_of_the_size_of_a_control() -> None:
    random = np.random.default_rng(8)
    two_clusters = estimates(additive(random, theta_of(1.0, random), 2).values)
    assert two_clusters["q"].null_count() == len(two_clusters)
    assert two_clusters["variances"].null_count() == 0
    assert control_sizes(two_clusters) == []


@pytest.mark.long
@pytest.mark.parametrize("size", [0.5, 2.0])
def test_few_numbers_exceed_controls_in_many_worlds(size: float) -> None:
    assert any_beyond(size, runs=400) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.long
def test_what_is_large_is_found_in_many_worlds() -> None:
    assert power(3.0, runs=200) >= 0.8


@pytest.mark.long
@pytest.mark.parametrize(("of_control", "most"), [((3, 3), 0.14), ((6, 4), 0.1)])
def test_small_controls_are_exceeded_somewhat_more_often(
    of_control: tuple[int, int], most: float
) -> None:
    # Sizes about as large as noise, of which so few numbers say little.
    assert any_beyond(0.6, 400, of_dataset=(11, 20), of_control=of_control) <= most
