"""Functions of the statistics against the numbers of an independent implementation.

The cells, which go through a run, are in `tests/workflow/test_golden_statistics.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden_statistics import FOLDER, assert_golden, numbers_of
from small_estimates import over
from worlds import over_clusters

from biasgrid.groups.measures import failure_rate
from biasgrid.groups.records import ALL_CASES, EACH_CASE, SubjectOutputs
from biasgrid.groups.terms import (
    GroupStatistic,
    TermScores,
    difference,
    make_records,
    permute_groups,
    term_scores,
)
from biasgrid.stats import estimate
from biasgrid.stats.intervals import VarianceSource, half_width, p_values, wilson_interval
from biasgrid.stats.multiplicity import false_discovery_rates, holm
from biasgrid.stats.noise.moderated_variances import variance_prior
from biasgrid.stats.null import splits
from biasgrid.stats.power import NoiseEstimate, precision_at
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums
from biasgrid.tables.metric import options_text

OVERS = {"templates": "clusters", "all": "all"}
"""What the golden numbers call what intervals are over, and what we call it."""
FUNCTIONS = numbers_of("functions")


@pytest.mark.parametrize("clusters", FUNCTIONS["halves"])
def test_splits(clusters: str) -> None:
    ours, golden = splits(int(clusters)), np.array(FUNCTIONS["halves"][clusters])
    assert_golden(
        ours[np.lexsort(ours.T)].ravel(), golden[np.lexsort(golden.T)].ravel().tolist(), "splits"
    )


@pytest.mark.parametrize("golden", FUNCTIONS["prior of variances"])
def test_prior(golden: dict[str, Any]) -> None:
    df = np.broadcast_to(np.asarray(golden["df"], dtype=np.float64), (len(golden["s2"]),))
    prior = variance_prior(np.array(golden["s2"]), df)
    assert_golden([prior.df, prior.variance], [golden["d0"], golden["s0_squared"]], "prior")


def test_adjusted() -> None:
    golden = FUNCTIONS["adjusted"]
    assert_golden(false_discovery_rates(np.array(golden["p"])), golden["bh"], "bh")
    assert_golden(holm(np.array(golden["p"])), golden["holm"], "holm")


@pytest.mark.parametrize("golden", FUNCTIONS["several sources"])
def test_several_sources(golden: dict[str, Any]) -> None:
    variances, df = golden["variances"], [float(each) for each in golden["df"]]
    sources = [
        VarianceSource(np.array([one]), np.array([other]))
        for one, other in zip(variances, df, strict=True)
    ]
    assert_golden(half_width(sources, 0.05), golden["half_width_95"], "half width")
    assert_golden(p_values(np.array([golden["value"]]), sources), golden["p"], "over_p")


@pytest.mark.parametrize("golden", FUNCTIONS["failure intervals"])
def test_failure_intervals(golden: dict[str, Any]) -> None:
    failed, cases = (np.array([golden[name]], dtype=np.float64) for name in ("failed", "cases"))
    over_all = over_clusters(failed, cases)
    rate, count = failed.sum(axis=1) / cases.sum(axis=1), cases.sum(axis=1)
    low, high, worth = wilson_interval(
        rate,
        independent_cases=count,
        variance=over_all.source.variance,
        clusters=over_all.units,
        alpha=0.05,
    )
    assert_golden(
        [rate[0], low[0], high[0], worth[0]],
        [golden[n] for n in ("value", "low", "high", "effective")],
        "",
    )


@pytest.mark.parametrize("golden", FUNCTIONS["minimal effects"])
def test_minimal_effects(golden: dict[str, Any]) -> None:
    clusters = golden["families"]
    noise = NoiseEstimate(golden["s2"], 0.0, float(golden["d0"]), clusters, clusters)
    effect = precision_at(noise, 1, golden["alpha"]).minimal_effect
    assert_golden(effect, golden["value"], "effect")


@cache
def golden_groups() -> tuple[dict[str, Any], TermScores]:
    """The golden cases of three groups of three terms, and their numbers."""
    cases = pl.read_parquet(FOLDER / "groups.parquet").with_columns(bias_type=pl.lit("letters"))
    records = make_records(cases, SubjectOutputs(cases["score"].to_numpy().reshape(-1, 1)))
    (scores,) = term_scores(records, cases["score"].to_numpy())
    return numbers_of("groups"), scores


@pytest.mark.parametrize("generalises_to", ["templates", "all"])
def test_differences_of_groups(generalises_to: str) -> None:
    numbers, scores = golden_groups()
    settings = StatisticsSettings(units={"difference": "difference"})
    estimates = estimate.estimate([difference(scores).named("difference")], settings)
    golden, rows = numbers["pairs"], over(estimates, OVERS[generalises_to])
    assert rows.select("group", "other").to_dict(as_series=False) == {
        n: golden[n] for n in ("group", "other")
    }
    assert_golden(rows["value"], golden["value"], "value")
    for column in ("low", "high", "p", "q"):
        assert_golden(
            rows[column], golden[f"{generalises_to}_{column}"], f"{generalises_to}_{column}"
        )


def test_dealing_terms() -> None:
    numbers, scores = golden_groups()
    golden, permuted = (
        numbers["calibrated"],
        permute_groups(scores, threshold=0.1, most=1999, seed=0),
    )
    assert permuted is not None
    assert (permuted.exact, permuted.permutation_count) == (True, golden["regroupings"])
    statistics = {
        "counterfactual": GroupStatistic("distance", "mean", EACH_CASE),
        "group": GroupStatistic("distance", "mean", ALL_CASES),
        "largest_pair": GroupStatistic("distance", "largest", ALL_CASES),
        "largest_in_case": GroupStatistic("distance", "largest", EACH_CASE),
    }
    for name, statistic in statistics.items():
        assert_golden(
            permuted.results[statistic],
            [golden[name][key] for key in ("value", "null_mean", "p")],
            name,
        )


def test_failures_of_groups() -> None:
    numbers, _ = golden_groups()
    cases = pl.read_parquet(FOLDER / "groups.parquet").with_columns(bias_type=pl.lit("letters"))
    records = make_records(cases, SubjectOutputs(cases["score"].to_numpy().reshape(-1, 1)))
    thresholds = sorted({each["threshold"] for each in numbers["failures"]})
    rates = [
        each
        for each in failure_rate(records, thresholds, headline_threshold=thresholds[0])
        if isinstance(each, Sums)
    ]
    rows = estimate.estimate(rates, StatisticsSettings())
    for golden in numbers["failures"]:
        options = options_text(difference=golden["difference"], threshold=golden["threshold"])
        row = rows.filter(options=options).row(0, named=True)
        assert_golden(
            [row[name] for name in ("value", "low", "high")],
            [golden[n] for n in ("value", "low", "high")],
            "",
        )
