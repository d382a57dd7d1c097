"""Simulated models with fixed seeds: what is said of their differences holds."""

from __future__ import annotations

import numpy as np
import pytest
from grouped_cells import cell_of
from worlds import centred, world

from biasgrid.stats.compare.all_pairs import ComparisonTables, compare_models
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.null import statistic
from biasgrid.stats.settings import StatisticsSettings

pytestmark = [pytest.mark.slow, pytest.mark.family("strengths are derived of associations")]

CLUSTERS = 7
RUNS = [pytest.param(20, id="20"), pytest.param(400, id="400", marks=pytest.mark.long)]


def compared(*worlds: np.ndarray) -> ComparisonTables:  # type: ignore[type-arg]
    return compare_models(
        "world",
        [cell_of(f"model {number}", each) for number, each in enumerate(worlds)],
        StatisticsSettings(),
    )


def differs_by_mu(one: np.ndarray, other: np.ndarray) -> bool:  # type: ignore[type-arg]
    """Whether plain mu calls two models different, by the jackknife of its difference."""
    kept = [np.arange(CLUSTERS) != cluster for cluster in range(CLUSTERS)]
    without = [
        [float(statistic(each[..., rows].mean(axis=-1), "mu")) for rows in kept]
        for each in (one, other)
    ]
    variance, _ = jackknife(np.subtract(*without)[None])
    difference = float(statistic(one.mean(axis=-1), "mu") - statistic(other.mean(axis=-1), "mu"))
    return bool(
        abs(difference)
        > half_width([VarianceSource(variance, np.array([CLUSTERS - 1.0]))], 0.05)[0]
    )


@pytest.mark.parametrize("runs", RUNS)
def test_models_of_unequal_noise_do_not_differ_when_corrected(runs: int) -> None:
    random, by_corrected, by_mu, found = np.random.default_rng(1), [], [], []
    for _ in range(2 * runs):
        one, other = 0.5 * world(random, CLUSTERS), world(random, CLUSTERS)
        rows = compared(one, other).comparisons
        by_corrected.append(rows.filter(measure="mu_corrected")["p"].item() < 0.05)
        found.append((rows.drop_nulls("attribute")["q"] <= 0.05).any())
        by_mu.append(differs_by_mu(one, other))
    assert np.mean(by_corrected) <= 0.08
    assert np.mean(found) <= 0.09
    assert np.mean(by_mu) >= 0.9


@pytest.mark.parametrize("runs", RUNS)
def test_ten_equal_models_do_not_differ(runs: int) -> None:
    random, found, told_apart = np.random.default_rng(2), [], []
    effects = centred(random.normal(size=(6, 8)))
    for _ in range(runs):
        models = compared(
            *(world(random, CLUSTERS, effects, subjects=6, attributes=8) for _ in range(10))
        )
        rows, ranks = (
            table.filter(measure="mu_corrected") for table in (models.comparisons, models.ranks)
        )
        found.append((rows["q"] <= 0.05).any())
        told_apart.append(((ranks["rank_low"] > 1) | (ranks["rank_high"] < 10)).any())
    # All significant results are false: their rate is the share of runs that have one.
    assert np.mean(found) <= 0.1
    assert np.mean(told_apart) <= 0.1


@pytest.mark.parametrize("runs", RUNS)
def test_ranks_are_covered(runs: int) -> None:
    random, covered, widths = np.random.default_rng(3), [], []
    for _ in range(runs):
        effects = centred(random.normal(size=(6, 8)))
        # From the largest to the smallest.
        strengths = (3.0, 2.5, 2.0, 1.5, 1.0, 0.5)
        worlds = (
            world(random, CLUSTERS, strength * effects, subjects=6, attributes=8)
            for strength in strengths
        )
        ranks = compared(*worlds).ranks.filter(measure="mu_corrected")
        true = np.arange(1, 7)
        covered.append(
            ((ranks["rank_low"].to_numpy() <= true) & (true <= ranks["rank_high"].to_numpy())).all()
        )
        widths.append((ranks["rank_high"] - ranks["rank_low"]).mean())
    assert np.mean(covered) >= 0.95
    assert np.mean(widths) < 3


@pytest.mark.parametrize("templates", ["the same", "others"])
def test_intervals_of_differences_cover(templates: str) -> None:
    random, hits = np.random.default_rng(4), []
    for _ in range(30):
        one, other = (centred(random.normal(size=(6, 10))) for _ in range(2))
        worlds = [world(random, 5, effects, subjects=6, attributes=10) for effects in (one, other)]
        cells = [cell_of("one", worlds[0]), cell_of("other", worlds[1], templates=templates)]
        rows = (
            compare_models("world", cells, StatisticsSettings())
            .comparisons.drop_nulls("attribute")
            .sort("subject", "attribute")
        )
        names = {
            f"subject {x}, attribute {a}": (one - other)[x, a] for x in range(6) for a in range(10)
        }
        true = np.array(
            [names[f"{x}, {a}"] for x, a in rows.select("subject", "attribute").iter_rows()]
        )
        # The 50 largest of 60 are kept, of which intervals miss a little more often.
        hits += ((rows["low"].to_numpy() <= true) & (true <= rows["high"].to_numpy())).tolist()
    assert 0.92 <= np.mean(hits) <= 0.98
