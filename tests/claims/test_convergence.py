"""Whether families of datasets agree on the same groups, and how much noise lets them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from worlds import terms_in_templates

from biasgrid.groups.terms import difference
from biasgrid.stats.compare.convergence import convergence, interval_variances, rank_correlation
from biasgrid.stats.estimate import estimate
from biasgrid.stats.intervals import VarianceSource, half_width, p_values
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import INTERVALS, MEASURES

GROUPS = [f"group {number}" for number in range(10)]
DATASETS = {"faith": ("underspecified", "gamma"), "mood": ("counterfactual", "difference")}


def rows_of(model: str, effects: np.ndarray, seen: np.ndarray, noise: float) -> pl.DataFrame:
    """Numbers of one group in one dataset, and differences of two in another, with their standard
    errors.
    """
    single = [
        {
            "dataset": "faith",
            "measure": "gamma",
            "subject": name.upper(),
            "value": value,
            "se": noise,
        }
        for name, value in zip(GROUPS, effects, strict=True)
    ]
    pairs = [
        {"dataset": "mood", "measure": "difference", "bias_type": "religion", "group": GROUPS[one],
         "other": GROUPS[other], "value": seen[one] - seen[other], "se": noise * np.sqrt(2)}
        for one in range(len(GROUPS)) for other in range(one + 1, len(GROUPS))
    ]  # fmt: skip
    rows = pl.DataFrame([*single, *pairs]).with_columns(model=pl.lit(model), options=pl.lit(""))
    return pl.concat([empty_table(MEASURES), rows], how="diagonal_relaxed")


def world(noise: float, sign: float = 1.0, models: int = 6, seed: int = 4) -> pl.DataFrame:
    """Models whose groups have the same true effects in both datasets, but for noise and a sign."""
    random = np.random.default_rng(seed)
    tables = []
    for model in range(models):
        truth = random.normal(size=len(GROUPS))
        one, other = (random.normal(0, noise, len(GROUPS)) for _ in range(2))
        tables.append(rows_of(f"model {model}", truth + one, sign * truth + other, noise))
    return pl.concat(tables)


@pytest.mark.slow
def test_families_that_agree_reach_the_ceiling_that_noise_leaves() -> None:
    for noise in (0.1, 1.0):
        found = [
            convergence(world(noise, models=12, seed=seed), DATASETS, 0.95).row(0, named=True)
            for seed in range(60)
        ]
        mean = {
            name: float(np.mean([each[name] for each in found])) for name in ("value", "ceiling")
        }
        assert mean["value"] == pytest.approx(mean["ceiling"], abs=0.04)
        assert mean["ceiling"] == pytest.approx(
            rank_correlation(1 / (1 + noise**2), len(GROUPS)), abs=0.05
        )


OVER_TERMS = {"mood": ("counterfactual", "difference"), "views": ("statement", "difference")}
"""Datasets whose claims are over clusters and terms, so that their numbers have no standard error
of one factor.
"""


def estimated(
    model: str, dataset: str, effects: np.ndarray, random: np.random.Generator
) -> pl.DataFrame:
    """Differences of groups of four terms in nine templates, terms differing by 0.06 on their
    own.
    """
    scores = terms_in_templates(random, 9, groups=len(effects), terms=4, spread=0.06)
    moved = replace(scores, sums=scores.sums + effects[scores.group])
    rows = estimate([difference(moved).named("difference")], StatisticsSettings()).filter(
        "is_claim"
    )
    known = [name for name in rows.columns if name in MEASURES.columns]
    named = rows.select(known).with_columns(
        model=pl.lit(model), dataset=pl.lit(dataset), options=pl.lit("")
    )
    return pl.concat(
        [empty_table(MEASURES), named.with_columns(pl.col(pl.Float64).fill_nan(None))],
        how="diagonal_relaxed",
    )


def world_over_terms(random: np.random.Generator, size: float) -> pl.DataFrame:
    """Six models whose nine groups have the same true effects in both datasets."""
    effects = {f"model {model}": size * random.normal(size=9) for model in range(6)}
    return pl.concat(
        [estimated(model, of, true, random) for model, true in effects.items() for of in OVER_TERMS]
    )


@pytest.mark.parametrize("size", [0.03, 0.1])
def test_numbers_over_clusters_and_terms_have_a_ceiling_that_full_agreement_reaches(
    size: float,
) -> None:
    random = np.random.default_rng(7)
    worlds = [world_over_terms(random, size) for _ in range(12)]
    assert worlds[0]["se"].null_count() == len(worlds[0])
    found = [convergence(each, OVER_TERMS, 0.95).row(0, named=True) for each in worlds]
    mean = {name: float(np.mean([each[name] for each in found])) for name in ("value", "ceiling")}
    # 0.06 of four terms, and of both in nine templates.
    noise = 0.06**2 / 4 * (1 + 1 / 9)
    assert mean["ceiling"] == pytest.approx(
        rank_correlation(1 / (1 + noise / size**2), 9), abs=0.06
    )
    assert mean["value"] == pytest.approx(mean["ceiling"], abs=0.08)


def test_the_size_of_a_control_is_no_noise() -> None:
    against_zero = world_over_terms(np.random.default_rng(8), 0.1)
    wider = against_zero.with_columns(
        low=pl.col("low") - 1, high=pl.col("high") + 1, control=pl.lit("placebo")
    )
    alone = empty_table(INTERVALS)
    intervals = pl.concat([alone, against_zero.select(list(INTERVALS.columns))])
    (found,) = convergence(wider, OVER_TERMS, 0.95, intervals).to_dicts()
    assert found == convergence(against_zero, OVER_TERMS, 0.95).row(0, named=True)
    (unknown,) = convergence(wider, OVER_TERMS, 0.95).to_dicts()
    assert (unknown["ceiling"], unknown["corrected"]) == (None, None)


def test_intervals_and_p_over_two_factors_match_the_variance() -> None:
    random = np.random.default_rng(9)
    chi = (random.chisquare(free, 40) / free for free in (6, 14))
    sources = [
        VarianceSource(each, np.full(40, free)) for each, free in zip(chi, (6.0, 14.0), strict=True)
    ]
    values, half = 2 * random.normal(size=40), half_width(sources, 0.05)
    p = p_values(values, sources)
    found = interval_variances(values - half, values + half, p, 0.05)
    assert found.mean() == pytest.approx(
        sum(source.variance.mean() for source in sources), rel=0.05
    )
    assert np.isnan(
        interval_variances(values - half, values + half, np.full(40, np.nan), 0.05)
    ).all()


def test_a_row_says_what_is_compared_and_over_what() -> None:
    (row,) = convergence(world(0.3, sign=-1), DATASETS, 0.95).to_dicts()
    assert (row["dataset"], row["measure"], row["other_dataset"], row["other_measure"]) == (
        "faith", "gamma", "mood", "difference",
    )  # fmt: skip
    assert (row["models"], row["groups"]) == (6, 10)
    assert row["low"] <= row["value"] <= row["high"] < 0
    assert row["corrected"] == pytest.approx(row["value"] / row["ceiling"])


def test_datasets_of_one_family_and_of_too_few_groups_are_not_compared() -> None:
    alike = {name: ("underspecified", measure) for name, (_, measure) in DATASETS.items()}
    assert convergence(world(0.3), alike, 0.95).is_empty()
    few = world(0.3).filter(
        pl.col("subject").is_null() | pl.col("subject").is_in(["GROUP 0", "GROUP 1"])
    )
    assert convergence(few, DATASETS, 0.95).is_empty()
