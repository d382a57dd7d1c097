"""Models compared and ranked in decisions about the same persons: by sizes, over questions and
persons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from decision_worlds import OPTIONS, DecisionWorld

from biasgrid.families.decision.family import FAMILY
from biasgrid.families.decision.measures import measure
from biasgrid.families.pairs.family import FAMILY as PAIRS
from biasgrid.families.underspecified.family import FAMILY as UNDERSPECIFIED
from biasgrid.stats.compare.all_pairs import ComparisonTables, compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.compare.names import claims_over_more
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, read_sums, sums_table
from biasgrid.tables.claims.numbers import signed_fair_values

QUESTIONS, PERSONS_SD = 8, 0.3
REFERENCE = "biasgrid.families.decision"
RUNS = pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.long)])


def cell_of(model: str, of_age: float, random: np.random.Generator) -> ComparedCell:
    rows = DecisionWorld(QUESTIONS, PERSONS_SD, of_age=of_age).drawn(random)
    parts, _ = read_sums(
        sums_table(part for part in measure(rows, OPTIONS) if isinstance(part, Sums)), {}
    )
    numbers, units = compared_numbers(
        REFERENCE, parts, {}, StatisticsSettings(clusters=range(QUESTIONS))
    )
    return ComparedCell(
        model, numbers, templates="the same", units=units, over_more=claims_over_more(parts)
    )


def compared(slopes: Sequence[float], seed: int) -> ComparisonTables:
    """Models `a`, `b` and so on, with these slopes of age."""
    random = np.random.default_rng(seed)
    cells = [cell_of(chr(ord("a") + place), slope, random) for place, slope in enumerate(slopes)]
    return compare_models(
        "decisions",
        cells,
        StatisticsSettings(),
        fair_values=signed_fair_values(FAMILY.own_measures),
    )


def ranks(slopes: Sequence[float], seed: int = 1) -> pl.DataFrame:
    return compared(slopes, seed).ranks.filter(measure="age_slope").sort("model")


def test_models_are_ranked_by_the_size_of_the_slope_regardless_of_its_direction() -> None:
    rows = ranks([0.1, -0.8, 0.4])
    assert rows["rank"].to_list() == [3, 1, 2]
    assert rows.select("rank_low", "rank_high").rows() == [(3, 3), (1, 1), (2, 2)]
    assert rows["value"].to_numpy() == pytest.approx([0.1, -0.8, 0.4], abs=0.15)


def test_sizes_have_no_direction() -> None:
    assert signed_fair_values(FAMILY.own_measures) == {"decision_difference": 0, "age_slope": 0}
    of_associations = signed_fair_values(UNDERSPECIFIED.own_measures)
    assert not of_associations.keys() & {
        "mu",
        "mu_corrected",
        "mu_held_out",
        "strength",
        "eta",
        "share_mu",
    }
    assert of_associations["stereotype_agreement"] == 0
    assert signed_fair_values(PAIRS.own_measures)["stereotype_share"] == 0.5


@RUNS
def test_slopes_of_the_same_size_seldom_differ_significantly(runs: int) -> None:
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    for slopes in ((0.5, -0.5), (0.3, 0.3), (0.0, 0.0)):
        told = [ranks(slopes, seed)["rank_high"].min() == 1 for seed in range(runs)]
        assert np.mean(told) <= limit


@RUNS
def test_persons_who_differ_for_no_reason_make_no_difference_of_models(runs: int) -> None:
    limit = 0.06 + 2 * np.sqrt(0.06 * 0.94 / runs)
    is_difference = pl.col("measure") == "decision_difference"
    found = []
    for seed in range(runs):
        rows = compared((0.0, 0.0), seed).comparisons.filter(is_difference)
        assert set(rows["other_factors"]) == {"persons"}
        # Differences of genders and of races are of several sums.
        assert rows.select("low", "q").null_count().row(0) == (0, 0)
        found.append((rows["q"] <= 0.05).any())
    assert np.mean(found) <= limit
