"""Shares of choices between two: their interval and their test against one half are one, and hold
what they promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from share_worlds import coverage
from small_estimates import estimates_of, settings_of
from small_pairs import instances_of, observed, pair_files, row, write_table
from worlds import Array

from biasgrid.families.pairs.family import FAMILY
from biasgrid.stats.estimate import estimate
from biasgrid.stats.shares import estimate_choice_shares, estimate_share_differences
from biasgrid.stats.sums import Along, IntervalMethod, SignificanceTest, Sums, read_sums, sums_table

SETTINGS = settings_of(FAMILY.own_measures)
LANES = pytest.mark.parametrize(
    "worlds", [pytest.param(20, id="few"), pytest.param(200, marks=pytest.mark.long)]
)
MANY = pytest.mark.parametrize(
    "worlds", [pytest.param(200, id="few"), pytest.param(2000, marks=pytest.mark.long)]
)


def at_least(share: float, worlds: int) -> float:
    """A share less two standard errors of so many worlds."""
    return share - 2 * float(np.sqrt(share * (1 - share) / worlds))


def at_most(share: float, worlds: int) -> float:
    """A share and two standard errors of so many worlds."""
    return 2 * share - at_least(share, worlds)


def rows_of_shares(
    columns: Array, interval: IntervalMethod = "share of two", factor: str = "writers"
) -> pl.DataFrame:
    """The estimates of shares, a row for each; see `estimate_choice_shares` for the columns."""
    measure = {"share of two": "stereotype_share", "mean share of two": "stereotype_score"}[
        interval
    ]
    keys = pl.DataFrame({"measure": [measure] * len(columns), "options": "", "n": 1, "left_out": 0})
    along = {factor: Along([str(unit) for unit in range(columns.shape[1])], columns)}
    part = Sums(keys, along, interval=interval, test=SignificanceTest.CORRECTED, fair=0.5)
    (again,), _ = read_sums(sums_table([part]), {})
    return estimate([again], SETTINGS)


def of_cases(cases: Sequence[tuple[int, int, int]]) -> Array:
    """Columns of one share: of each unit how many choose the first, the second, and neither."""
    first, second, neither = np.array(cases, dtype=np.float64).T
    return np.stack([first, first + second + neither, second], axis=-1)[None]


def of_terms(columns: Array) -> Array:
    """The same as columns of a mean over units, each of which counts alike."""
    cases = columns[..., 1]
    return np.stack(
        [columns[..., 0] / cases, np.ones_like(cases), columns[..., 2] / cases, cases], axis=-1
    )


def assert_interval_is_the_test(rows: pl.DataFrame) -> None:
    """An interval excludes one half exactly where p is at most 0.05; without an interval there are
    signs alone.
    """
    for each in rows.drop_nulls("p").to_dicts():
        if each["low"] is None:
            assert each["p"] in (1, 2.0 ** (1 - each["clusters"]))
        else:
            assert (not each["low"] <= 0.5 <= each["high"]) == (each["p"] <= 0.05), each


Unit = st.tuples(*[st.integers(0, 6)] * 3).filter(any)
Decided = st.tuples(st.integers(0, 6), st.integers(0, 6), st.just(0)).filter(any)


@settings(deadline=None, max_examples=150)
@given(cases=st.lists(st.one_of(Unit, Decided), min_size=2, max_size=30))
def test_an_interval_excludes_one_half_exactly_where_the_test_finds_something(
    cases: list[tuple[int, int, int]],
) -> None:
    columns = of_cases(cases)
    assert_interval_is_the_test(rows_of_shares(columns))
    assert_interval_is_the_test(rows_of_shares(of_terms(columns), "mean share of two"))


@settings(deadline=None, max_examples=60)
@given(cases=st.lists(Decided, min_size=3, max_size=30))
def test_without_ties_a_share_is_half_a_difference_of_shares(
    cases: list[tuple[int, int, int]],
) -> None:
    columns = of_cases(cases)
    first, every, second = np.moveaxis(columns, -1, 0)
    found, expected = (
        estimate_choice_shares(columns),
        estimate_share_differences(np.stack([first, every, second, every], axis=-1)),
    )
    assert 2 * found.centre - 1 == pytest.approx(expected.centre, abs=1e-12)
    assert 4 * found.source.variance == pytest.approx(expected.source.variance)
    mirrored = rows_of_shares(of_cases([(second, first, 0) for first, second, _ in cases])).row(
        0, named=True
    )
    share = rows_of_shares(columns).row(0, named=True)
    assert [1 - share["high"], 1 - share["low"]] == pytest.approx(
        [mirrored["low"], mirrored["high"]], abs=1e-9
    )
    assert share["p"] == pytest.approx(mirrored["p"])


@settings(deadline=None, max_examples=60)
@given(cases=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), min_size=3, max_size=30))
def test_ties_alone_are_no_finding(cases: list[tuple[int, int]]) -> None:
    columns = of_cases([(decided, decided, tied) for decided, tied in cases])
    for rows in (rows_of_shares(columns), rows_of_shares(of_terms(columns), "mean share of two")):
        assert rows["value"][0] < 0.5
        assert rows["p"].to_list() == [1 if len(cases) >= 6 else None]


def test_bounds_and_detectable_effects_are_distances_from_one_half() -> None:
    random = np.random.default_rng(1)
    first = random.binomial(8, [[0.5], [0.8], [0.2]], (3, 40)).astype(np.float64)
    rows = rows_of_shares(np.stack([first, np.full_like(first, 8), 8 - first], axis=-1))
    assert (rows["q"] <= 0.05).to_list() == [False, True, True]
    assert 0 == rows["bound"][0] < min(rows["bound"][1:])
    assert (rows["bound"] <= (rows["value"] - 0.5).abs()).all()
    assert rows["detectable"].max() < 0.1
    assert rows["selected_low"][1] > 0.5 > rows["selected_high"][2]


def test_equal_terms_have_signs_alone() -> None:
    for share, terms, p in ((0.75, 8, 2.0**-7), (0.5, 8, 1.0), (0.75, 4, None)):
        columns = of_terms(of_cases([(round(8 * share), round(8 * (1 - share)), 0)] * terms))
        found = rows_of_shares(columns, "mean share of two", "targets").row(0, named=True)
        assert (found["value"], found["low"], found["p"]) == (share, None, p)
        equal = f"equal in all {terms} targets"
        assert found["reason"] == (f"untestable: {equal}, 6 are needed" if terms < 6 else equal)


class Term(NamedTuple):
    """Simulated target terms: how many, of how many examples, and the sd of their log odds."""

    terms: int
    examples: int
    spread: float


def term_scores(
    random: np.random.Generator, world: Term, share: float, worlds: int
) -> tuple[Array, float]:
    """Columns of means over terms, and the mean of all terms that there could be."""
    centre = np.log(share / (1 - share))
    shares = 1 / (1 + np.exp(-random.normal(centre, world.spread, (worlds, world.terms))))
    truth = float((1 / (1 + np.exp(-random.normal(centre, world.spread, 200_000)))).mean())
    first = random.binomial(world.examples, shares).astype(np.float64)
    every = np.full_like(first, world.examples)
    return of_terms(np.stack([first, every, every - first], axis=-1)), truth


@MANY
@pytest.mark.parametrize(
    ("world", "method"),
    [
        (Term(3, 3, 0.6), "jackknife t"),
        (Term(5, 10, 0.6), "jackknife t"),
        (Term(10, 27, 1.2), "jackknife t"),
        (Term(25, 10, 0.0), "jackknife t"),
        (Term(79, 27, 0.6), "jackknife t"),
        (Term(10, 1, 0.0), "t with two added units"),
        (Term(25, 2, 1.2), "t with two added units"),
        (Term(79, 1, 0.6), "t with two added units"),
    ],
)
def test_means_over_target_terms_hold_the_truth(world: Term, method: str, worlds: int) -> None:
    random = np.random.default_rng(2)
    for share in (0.5, 0.62):
        columns, truth = term_scores(random, world, share, worlds)
        rows = rows_of_shares(columns, "mean share of two", "targets")
        assert {*rows.drop_nulls("low")["method"]} == {method}
        assert_interval_is_the_test(rows)
        assert coverage(rows.drop_nulls("low"), truth) >= at_least(0.925, worlds)
        if share == 0.5:
            assert (rows["p"] <= 0.05).fill_null(value=False).mean() <= at_most(0.067, worlds)


class PairWorld(NamedTuple):
    """Simulated pairs of writers.

    Attributes:
        sizes: how many pairs each writer has.
        share: how often a pair that is no tie follows the stereotype.
        spread: how far the shares of writers are from this, half of them on each side.
        ties: the share of ties.
    """

    sizes: Sequence[int]
    share: float
    spread: float = 0.0
    ties: float = 0.0

    def scores(self, random: np.random.Generator) -> list[float]:
        """Scores of the sentences of all pairs, `more` before `less`."""
        of_writer = self.share + self.spread * random.choice([-1, 1], len(self.sizes))
        follows = random.random(sum(self.sizes)) < np.repeat(of_writer, self.sizes)
        is_tie = random.random(len(follows)) < self.ties
        sides = np.where(is_tie, 0, np.where(follows, 1, -1))
        return np.stack([sides - 10.0, np.full(len(sides), -10.0)], axis=-1).ravel().tolist()


EVEN, HEAVY = [8] * 20, [40, 25, 15, *[10] * 5, *[4] * 12, *[2] * 20]
"""Pairs of writers: of all alike, and of some who wrote most."""


@LANES
@pytest.mark.parametrize(
    ("world", "found"),
    [
        pytest.param(PairWorld(EVEN, 0.5), (0.0, 0.06), id="no effect"),
        pytest.param(PairWorld(HEAVY, 0.5, 0.2), (0.0, 0.06), id="heavy writers"),
        pytest.param(PairWorld(EVEN, 0.5, ties=0.3), (0.0, 0.06), id="ties"),
        pytest.param(PairWorld([8] * 40, 0.6), (0.8, 1.0), id="effect"),
    ],
)
def test_shares_of_pairs_hold_the_truth(
    tmp_path: Path, world: PairWorld, found: tuple[float, float], worlds: int
) -> None:
    writers = np.repeat(np.arange(len(world.sizes)), world.sizes).tolist()
    rows = [row(number, anon_writer=f"a{writer}") for number, writer in enumerate(writers)]
    instances = instances_of(pair_files(write_table(tmp_path / "pairs.csv", rows)))
    random, truth = np.random.default_rng(7), world.share * (1 - world.ties)
    chosen = SETTINGS._replace(clusters=list(range(len(rows))))
    shares = []
    for _ in range(worlds):
        estimates = estimates_of("pairs", observed(instances, world.scores(random)), {}, chosen)
        shares.append(estimates.filter("is_claim", measure="stereotype_share"))
    table = pl.concat(shares)
    assert {*table["generalises_to"]} == {"writers"}
    assert_interval_is_the_test(table)
    assert coverage(table, truth) >= at_least(0.93, worlds)
    least, most = found
    assert at_least(least, worlds) <= (table["p"] <= 0.05).mean() <= at_most(most, worlds)
