"""Orders of whole units, of which every beginning has its share of each stratum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.families.sampler import (
    numbered_strata,
    sampled_strata,
    seeded_hashes,
    serving_order,
    units_of_sample,
)
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.tables.keys import digest_texts

Labels = tuple[str, str]
LABELS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from("xyz")), min_size=1, max_size=60
)
SEEDS = st.integers(0, 5)
KEYS = [f"unit {number}" for number in range(60)]


def asked(strata: Sequence[Labels], units: int, seed: int, keys: Sequence[str] = KEYS) -> list[int]:
    return units_of_sample(strata, keys[: len(strata)], Sample(units=units, seed=seed))


@settings(max_examples=100, deadline=None)
@given(LABELS, SEEDS)
def test_each_stratum_has_its_share_of_every_size(strata: list[Labels], seed: int) -> None:
    outer = Counter(label for label, _ in strata)
    cells = Counter(strata)
    for units in range(1, len(strata) + 1):
        sample = [strata[place] for place in asked(strata, units, seed)]
        assert len(sample) == units
        of_outer, of_cells = Counter(label for label, _ in sample), Counter(sample)
        for label, count in outer.items():
            assert abs(of_outer[label] - count * units / len(strata)) < 1
        for cell, count in cells.items():
            assert abs(of_cells[cell] - count * of_outer[cell[0]] / outer[cell[0]]) < 1
            assert abs(of_cells[cell] - count * units / len(strata)) < 2


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), SEEDS)
def test_crossed_strata_of_one_size_have_their_shares_too(
    first: int, second: int, each: int, seed: int
) -> None:
    strata = [
        ("ABCD"[one], "wxyz"[two])
        for one in range(first)
        for two in range(second)
        for _ in range(each)
    ]
    for units in range(1, len(strata) + 1):
        of_cells = Counter(strata[place] for place in asked(strata, units, seed))
        assert all(abs(of_cells[cell] - units / (first * second)) < 1 for cell in set(strata))


@settings(max_examples=50, deadline=None)
@given(LABELS, SEEDS, st.randoms())
def test_larger_samples_hold_smaller_ones_regardless_of_the_order_of_the_file(
    strata: list[Labels], seed: int, random: Random
) -> None:
    shuffled = list(range(len(strata)))
    random.shuffle(shuffled)
    smaller: set[int] = set()
    for units in range(1, len(strata) + 1):
        larger = asked(strata, units, seed)
        again = asked(
            [strata[place] for place in shuffled], units, seed, [KEYS[place] for place in shuffled]
        )
        assert {shuffled[place] for place in again} == {*larger}
        assert smaller < {*larger}
        smaller = {*larger}


def test_seeds_make_other_samples() -> None:
    samples = {tuple(asked([("A", "x")] * 40, 10, seed)) for seed in range(50)}
    assert len(samples) == 50


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 200), SEEDS)
def test_units_are_whole_and_no_more_than_asked_for(
    sizes: list[int], units: int, seed: int
) -> None:
    keys = KEYS[: len(sizes)]
    some = units_of_sample([()] * len(sizes), keys, Sample(units=units, seed=seed), sizes)
    total = sum(sizes[place] for place in some)
    assert total <= units or len(some) == 1
    if len(some) < len(sizes):
        assert total > units - max(sizes)


@settings(max_examples=50, deadline=None)
@given(LABELS, SEEDS)
def test_samples_of_blocks_have_all_strata_and_their_shares_once_these_are_a_unit(
    strata: list[Labels], seed: int
) -> None:
    numbers, hashes = (
        numbered_strata(strata),
        seeded_hashes(digest_texts(pl.Series(KEYS[: len(strata)])), seed),
    )
    outer = Counter(label for label, _ in strata)
    smaller: set[int] = set()
    for units in range(1, len(strata) + 1):
        some = sampled_strata(numbers, hashes, BlockSample(units=units, seed=seed)).tolist()
        assert len(some) == len({*some}) == max(units, len(outer))
        assert smaller <= {*some}
        smaller = {*some}
        counts = Counter(strata[place][0] for place in some)
        assert counts.keys() == outer.keys()
        if min(outer.values()) * units >= len(strata):
            assert all(
                abs(counts[label] - count * units / len(strata)) < 1
                for label, count in outer.items()
            )


def test_no_units_have_no_sample() -> None:
    assert units_of_sample([], [], Sample(units=3)) == []
    assert units_of_sample([(), ()], ["a", "b"], None) == [0, 1]


@pytest.mark.parametrize("sizes", [[1], [5, 5, 5], [100, 1, 1], [3, 7, 11, 13]])
def test_everything_is_served_in_the_end(sizes: list[int]) -> None:
    served = serving_order(sizes, sum(sizes))
    assert Counter(served) == Counter(dict(enumerate(sizes)))
