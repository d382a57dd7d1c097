"""Differences of pooled shares over clusters that hold unequal numbers of both groups: by
residuals, not by totals.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.special import stdtrit
from share_worlds import answers, coverage, estimates
from worlds import Array

from biasgrid.stats.shares import estimate_share_differences

RATES = [
    (0.05, 0.05), (0.5, 0.5), (0.7, 0.7), (0.95, 0.95), (0.02, 0.1),
    (0.1, 0.3), (0.3, 0.5), (0.5, 0.9), (0.2, 0.8), (0.9, 0.98),
]  # fmt: skip
Sizes = Callable[[np.random.Generator, int], Array]
"""Draws how many cases of both groups each of so many clusters has, shape (2, clusters)."""
FEW = hypothesis_settings(max_examples=30, deadline=None)


def of_any_size(random: np.random.Generator, clusters: int) -> Array:
    return random.integers(5, 61, (2, clusters)).astype(np.float64)


def with_a_rare_group(random: np.random.Generator, clusters: int) -> Array:
    return np.stack([random.integers(5, 61, clusters), random.integers(1, 6, clusters)]).astype(
        np.float64
    )


def tiny_or_large(random: np.random.Generator, clusters: int) -> Array:
    return random.choice([2.0, 40.0], (2, clusters))


def with_one_ten_times_as_large(random: np.random.Generator, clusters: int) -> Array:
    sizes = np.full((2, clusters), 5.0)
    sizes[:, 0] = 50
    return sizes


def world(
    random: np.random.Generator, runs: int, rates: tuple[float, float], sizes: Array, icc: float
) -> Array:
    """Answers of both groups, shape (runs, clusters, 4)."""
    sides = [
        answers(random, runs, rate, cases, icc) for rate, cases in zip(rates, sizes, strict=True)
    ]
    return np.stack([*sides[0], *sides[1]], axis=-1)


@pytest.mark.parametrize(
    ("clusters", "runs"),
    [(8, 150)] + [pytest.param(many, 1500, marks=pytest.mark.long) for many in (5, 8, 12, 26)],
)
@pytest.mark.parametrize(
    ("sizes", "least"),
    [
        (of_any_size, 0.927),
        (with_a_rare_group, 0.943),
        (tiny_or_large, 0.825),
        (with_one_ten_times_as_large, 0.929),
    ],
)
def test_intervals_hold_the_difference_of_the_pooled_shares(
    sizes: Sizes, least: float, clusters: int, runs: int
) -> None:
    random = np.random.default_rng(1)
    covered = []
    for icc in (0, 0.3, 0.8):
        for rates in RATES:
            found = estimates(world(random, runs, rates, sizes(random, clusters), icc))
            covered.append(coverage(found, rates[0] - rates[1]))
    error = np.sqrt(least * (1 - least) / runs)
    # Of thirty settings the least of few runs is lower by chance.
    errors = 2 if runs > 1000 else 3
    assert min(covered) >= least - errors * error
    assert np.mean([share < 0.93 for share in covered]) <= 0.1


def test_the_design_alone_makes_nothing_vary() -> None:
    sizes = of_any_size(np.random.default_rng(0), 25)
    all_right = np.stack([sizes[0], sizes[0], sizes[1], sizes[1]], axis=-1)[None]
    row = estimates(all_right, "templates").row(0, named=True)
    # The two added clusters alone; effective clusters of the group with the less equal sizes.
    df = (sizes.sum(axis=1) ** 2 / (sizes**2).sum(axis=1)).min() - 1
    half = -stdtrit(df, 0.025) * np.sqrt(1 / 27) / np.sqrt(27)
    assert row["value"] == pytest.approx(0, abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((-half, half))
    assert 0.07 < half < 0.08
    assert row["p"] == pytest.approx(1)


def test_the_formula_by_plain_loops() -> None:
    random = np.random.default_rng(2)
    sizes = of_any_size(random, 9)
    (columns,) = world(random, 1, (0.4, 0.6), sizes, 0.3)
    yes_a, n_a, yes_b, n_b = columns.T
    p_a, p_b, clusters = yes_a.sum() / n_a.sum(), yes_b.sum() / n_b.sum(), 9
    residuals = [
        clusters * (yes_a[c] - p_a * n_a[c]) / n_a.sum()
        - clusters * (yes_b[c] - p_b * n_b[c]) / n_b.sum()
        for c in range(clusters)
    ]
    centre = clusters * (p_a - p_b) / (clusters + 2)
    squares = sum(residual**2 for residual in residuals) + clusters * (p_a - p_b) ** 2
    variance = ((squares + 1) / (clusters + 2) - centre**2) / (clusters + 2)
    effective = min(n_a.sum() ** 2 / (n_a**2).sum(), n_b.sum() ** 2 / (n_b**2).sum())
    found = estimate_share_differences(columns[None])
    assert found.centre == pytest.approx(centre, rel=1e-12)
    assert found.source.variance == pytest.approx(variance, rel=1e-12)
    assert found.source.df == pytest.approx(effective - 1, rel=1e-12)


def by_clusters_of_equal_size(columns: Array) -> tuple[Array, Array, Array]:
    """Centre, variance and df of clusters that all have as many cases: shares of clusters, two of
    these added.
    """
    clusters = columns.shape[1]
    scale = clusters / columns[:, :, 1].sum(axis=1), clusters / columns[:, :, 3].sum(axis=1)
    apart = columns[:, :, 0] * scale[0][:, None] - columns[:, :, 2] * scale[1][:, None]
    centre = apart.sum(axis=1) / (clusters + 2)
    variance = (((apart**2).sum(axis=1) + 1) / (clusters + 2) - centre**2) / (clusters + 2)
    return centre, variance, np.full(len(columns), clusters - 1.0)


@pytest.mark.parametrize("cases", [(1, 1), (3, 3), (49, 49), (7, 13), (1, 60)])
@pytest.mark.parametrize("clusters", [2, 5, 11, 26])
def test_clusters_of_equal_size_give_the_same_to_the_last_digit(
    clusters: int, cases: tuple[int, int]
) -> None:
    sizes = np.repeat(np.array(cases, dtype=np.float64)[:, None], clusters, axis=1)
    columns = world(np.random.default_rng(3), 50, (0.3, 0.6), sizes, 0.3)
    found = estimate_share_differences(columns)
    for own, expected in zip(
        (found.centre, *found.source), by_clusters_of_equal_size(columns), strict=True
    ):
        assert own.tolist() == expected.tolist()


CASES = st.integers(0, 30).flatmap(lambda asked: st.tuples(st.integers(0, asked), st.just(asked)))
"""How many count of how many; a cluster may lack a group."""


def has_both_groups(rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> bool:
    """Whether each group is asked in two clusters at least."""
    return all(sum(row[side][1] > 0 for row in rows) > 1 for side in (0, 1))


COLUMNS = (
    st.lists(st.tuples(CASES, CASES), min_size=3, max_size=20)
    .filter(has_both_groups)
    .map(lambda rows: np.array([[(*one, *other) for one, other in rows]], dtype=np.float64))
)
NUMBERS = ("value", "low", "high", "p", "df")


def numbers(columns: Array) -> list[float]:
    row = estimates(columns).row(0, named=True)
    return [row[name] for name in NUMBERS]


@FEW
@given(COLUMNS)
def test_exchanged_groups_change_the_sign(columns: Array) -> None:
    value, low, high, p, df = numbers(columns)
    assert numbers(columns[..., [2, 3, 0, 1]]) == pytest.approx(
        [-value, -high, -low, p, df], abs=1e-9
    )


@FEW
@given(COLUMNS, st.integers(2, 50))
def test_all_counts_times_a_factor_change_nothing(columns: Array, factor: int) -> None:
    assert numbers(columns * factor) == pytest.approx(numbers(columns), abs=1e-9)


@FEW
@given(COLUMNS, st.randoms(use_true_random=False))
def test_the_order_of_clusters_and_clusters_without_any_case_change_nothing(
    columns: Array, random: Random
) -> None:
    padded = np.pad(columns, [(0, 0), (0, 1), (0, 0)])
    order = list(range(padded.shape[1]))
    random.shuffle(order)
    assert numbers(padded[:, order]) == pytest.approx(numbers(columns), abs=1e-9)
