"""Orders of which every beginning is balanced."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.base.arrays import IntArray
from biasgrid.families.orders import CrossedOrder, Order, Ring, cross_lists, pairs_across, pairs_within, share_out

SEEDS = st.integers(0, 3)


def largest_error(labels: IntArray) -> float:
    """How far a label is from its share of any beginning of a sequence, at most.

    Args:
        labels: shape (units, labels of each): a subject may be either of a pair.
    """
    units, places = len(labels), np.arange(1, len(labels) + 1)
    here = [(labels == label).any(axis=1).cumsum() for label in np.unique(labels)]
    return max(float(np.abs(count - places * count[-1] / units).max()) for count in here)


def everything(order: Order) -> IntArray:
    """All units of an order, each of which comes once."""
    units = order.at(np.arange(order.size))
    assert np.array_equal(np.sort(units), np.arange(order.size))
    return units


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), SEEDS)
def test_what_is_crossed_is_even_in_all_its_lists_at_once(sizes: list[int], seed: int) -> None:
    units = everything(cross_lists(sizes, seed))
    for labels in np.unravel_index(units, sizes):
        assert largest_error(labels[:, np.newaxis]) < 1


@pytest.mark.parametrize("sizes", [[6, 6, 6], [4, 8, 4], [12, 4, 6], [2, 2, 2, 2], [1, 9, 3]])
def test_lists_of_like_lengths_do_not_go_in_step(sizes: list[int]) -> None:
    half = np.stack(np.unravel_index(cross_lists(sizes, 1).at(np.arange(prod(sizes) // 2)), sizes))
    for one, other in combinations(range(len(sizes)), 2):
        met = len(np.unique(half[[one, other]], axis=1).T)
        assert met >= sizes[one] * sizes[other] // 2


def pairs_of(first: int, second: int, seed: int) -> tuple[Ring, IntArray]:
    """A ring of pairs, of subjects of one list if there is no second one, and the subjects of each by its number."""
    if second:
        table = np.array(list(product(range(first), range(first, first + second))))
        return pairs_across(first, second, seed), table
    return pairs_within(first, seed), np.array(list(combinations(range(first), 2)))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 11), st.integers(0, 7), st.integers(1, 5), st.integers(1, 6), SEEDS)
def test_subjects_templates_and_attributes_are_even_at_once(
    first: int, second: int, templates: int, attributes: int, seed: int
) -> None:
    ring, subjects = pairs_of(first, second, seed)
    assert len(subjects) == ring.size
    units = everything(CrossedOrder(ring, cross_lists([templates, attributes], seed), seed))
    pair, template, attribute = np.unravel_index(units, (ring.size, templates, attributes))
    for labels in (subjects[pair], template[:, np.newaxis], attribute[:, np.newaxis]):
        assert largest_error(labels) < 1


@pytest.mark.parametrize("pairs", [pairs_within, lambda count, seed: pairs_across(count, count, seed)])
def test_every_pair_is_met_before_any_is_met_again(pairs: Callable[[int, int], Ring]) -> None:
    ring = pairs(8, 1)
    order = CrossedOrder(ring, cross_lists([5, 6], 1), 1)
    assert len(np.unique(order.at(np.arange(ring.size)) // 30)) == ring.size


def test_seeds_make_other_orders() -> None:
    orders = {
        everything(CrossedOrder(pairs_within(5, seed), cross_lists([3, 4], seed), seed)).tobytes() for seed in range(50)
    }
    assert len(orders) == 50


def test_not_all_units_can_be_balanced_over_three_things() -> None:
    half = [("t1", "s1", "a1"), ("t1", "s2", "a2"), ("t2", "s2", "a1")]
    units = [*half, *([f"other {label}" for label in unit] for unit in half)]
    counts = Counter(label for unit in units for label in unit)
    for some in combinations(units, 3):
        held = Counter(label for unit in some for label in unit)
        assert max(abs(held[label] - count / 2) for label, count in counts.items()) >= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_shares_are_never_off_by_one_and_only_grow(sizes: list[int], data: st.DataObject) -> None:
    parts, whole = np.array(sizes), sum(sizes)
    units = data.draw(st.integers(0, whole))
    found = share_out(parts, units)
    assert found.sum() == units
    assert (np.abs(found * whole - units * parts) < max(1, whole)).all()
    assert (found >= share_out(parts, max(0, units - 1))).all()
