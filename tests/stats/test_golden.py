"""The statistics against the numbers of an independent implementation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden_statistics import FOLDER, all_of, assert_golden, frames_of_golden, numbers_of, observations_of
from small_estimates import numbers_of as numbers_of_observations
from small_estimates import over, settings_of
from worlds import over_clusters

from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.groups.measures import failure_rate
from biasgrid.groups.records import SubjectOutputs
from biasgrid.groups.terms import TermScores, difference, permute_groups, records_of, scores_of_terms
from biasgrid.stats import estimate
from biasgrid.stats.intervals import VarianceSource, half_width, p_values, wilson_interval
from biasgrid.stats.multiplicity import false_discovery_rates, holm
from biasgrid.stats.noise.variance import variance_prior
from biasgrid.stats.null import splits
from biasgrid.stats.power import minimal_detectable_effect
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import Sums
from biasgrid.tables.metric import options_text

pytestmark = pytest.mark.family("the golden numbers are of associations")

CELLS = ["within", "within-other-model", "across", "two-sorts-of-templates", "one-template", "censored"]
WEAK = [*CELLS, "across-weak"]
KEYS = ("subject", "subject_group", "attribute", "attribute_group")
COLUMNS = ("low", "high", "p", "q", "holm", "selected_low", "selected_high")
OVERS = {"templates": "clusters", "subjects": "names", "all": "all"}
"""What the golden numbers call what intervals are over, and what we call it."""


@pytest.fixture(autouse=True)
def with_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden implementation takes what rounding leaves of equal values (s² of 1e-33) for variance; ours does not.

    It tells in the eta and win_ratio of `within` alone.
    """
    monkeypatch.setattr("biasgrid.stats.noise.variance.ROUNDING", 0.0)
    monkeypatch.setattr("biasgrid.stats.noise.variance.ROUNDING_OF_VALUE", 0.0)


@cache
def found_of(name: str) -> CellNumbers:
    observations = observations_of(name)
    clusters = frames_of_golden(numbers_of(name), 1 + int(observations["template"].max()))
    settings = settings_of(DEFINITIONS.of("measures"), clusters=clusters)
    return numbers_of_observations("underspecified", observations, {"measures": []}, settings)


def rows_of(name: str, measure: str, generalises_to: str, keys: dict[str, list[str]]) -> pl.DataFrame:
    """The rows about some keys, in their order."""
    about = pl.DataFrame({key: names for key, names in keys.items() if names[0] is not None})
    rows = over(found_of(name).estimates.filter(measure=measure), OVERS[generalises_to])
    present = [pl.col(key).is_not_null() if key in about.columns else pl.col(key).is_null() for key in KEYS]
    return about.join(rows.filter(present), on=about.columns, how="left", maintain_order="left")


def assert_parts(
    name: str, measure: str, golden: dict[str, Any], keys: dict[str, list[str]], *, overs: Iterable[str] = OVERS
) -> None:
    for generalises_to in overs:
        rows = rows_of(name, measure, generalises_to, keys)
        for column in COLUMNS:
            if f"{generalises_to}_{column}" in golden:
                numbers = without_width_0(golden, generalises_to, column)
                assert_golden(rows[column], numbers, f"{generalises_to}_{column}")
    rows = rows_of(name, measure, "templates", keys)
    for column in ("value", "se"):
        assert_golden(rows[column], golden[column], column)
    if "n" in golden:
        assert rows["n"].to_list() == golden["n"]


def without_width_0(golden: dict[str, Any], generalises_to: str, column: str) -> list[Any]:
    """What is golden but for intervals of width 0, which have no ends: numbers that do not vary are not exact."""
    ends = (golden[f"{generalises_to}_{end}"] for end in ("low", "high"))
    has_width = [low != high for low, high in zip(*ends, strict=True)]
    numbers = golden[f"{generalises_to}_{column}"]
    return [number if known else None for number, known in zip(numbers, has_width, strict=True)]


@pytest.mark.parametrize("name", all_of(CELLS))
@pytest.mark.parametrize("measure", ["gamma", "eta", "win_ratio"])
def test_associations(name: str, measure: str) -> None:
    golden = numbers_of(name)["associations"]
    assert_parts(name, measure, golden[measure], golden["keys"])
    known = rows_of(name, measure, "templates", golden["keys"])
    df = np.array([np.nan if value is None else float(value) for value in golden[measure]["df"]])
    told = known["df"].to_numpy()
    assert_golden(told[~np.isnan(told)], df[~np.isnan(told)].tolist(), "df")
    assert known["clusters"].to_list() == golden[measure]["templates"]


@pytest.mark.parametrize("name", all_of(CELLS))
@pytest.mark.parametrize("part", ["subjects", "subject_group", "cluster_attribute"])
def test_subjects_and_clusters(name: str, part: str) -> None:
    golden = numbers_of(name)
    if part not in golden:
        pytest.skip(f"{name} has no groups")
    # Of groups, sources of names are those of newer golden numbers (tests/claims).
    overs = ["templates"] if "subject_group" in golden[part]["keys"] else OVERS
    assert_parts(name, "gamma", golden[part], golden[part]["keys"], overs=overs)


def of_cell(name: str, measure: str, generalises_to: str = "templates") -> dict[str, Any]:
    rows = found_of(name).estimates.filter(pl.col(key).is_null() for key in KEYS).filter(measure=measure)
    # What noise alone makes large has no interval, and so is over nothing.
    known = over(rows, OVERS[generalises_to]) if rows["generalises_to"].count() else rows
    return known.row(0, named=True) if len(known) else dict.fromkeys(rows.columns)


@pytest.mark.parametrize("name", all_of(WEAK))
def test_measures_of_cells(name: str) -> None:
    golden = numbers_of(name)["cell"]
    for measure in ("mu", "eta"):
        row, corrected = of_cell(name, measure), of_cell(name, f"{measure}_corrected")
        found = {"value": row["value"], "null_mean": row["null_mean"], "corrected": corrected["value"]}
        # Upper ends are those of logarithms, see `tests/claims`.
        found |= {f"corrected_{column}": corrected[column] for column in ("se", "low")}
        for column, number in found.items():
            assert_golden(as_number(number), golden[measure].get(column), f"{measure} {column}")
    assert_golden(as_number(of_cell(name, "mu_held_out")["value"]), golden["mu"]["held_out"], "held out")
    for column in ("value", "se", "low"):
        assert_golden(as_number(of_cell(name, "strength")[column]), golden["strength"].get(column), column)
    # The interval of `winner_changes`, a share, is that of newer golden numbers (tests/claims).
    for measure in ("delta", "epsilon", "answer_probability"):
        for generalises_to in OVERS:
            row = of_cell(name, measure, generalises_to)
            for column in ("low", "high"):
                assert_golden(
                    as_number(row[column]), golden[measure][f"{generalises_to}_{column}"], f"{measure} {generalises_to}"
                )


def as_number(value: float | None) -> float:
    return np.nan if value is None else value


@pytest.mark.parametrize("name", all_of(WEAK))
def test_p_of_mu(name: str) -> None:
    golden = numbers_of(name).get("permutation")
    row = of_cell(name, "mu")
    if golden is None:
        assert row["method"] in ("permutation (1999)", None)
        return
    if golden["exact"]:
        assert row["method"] == "permutation (exact)"
        assert row["p"] == pytest.approx(golden["p"], abs=1e-9)
        return
    p = {"across": 0.0118, "across-weak": 0.125}[name]
    assert abs(row["p"] - p) <= 4 * np.sqrt(p * (1 - p) / 1999) + 1 / 1999


@pytest.mark.parametrize("name", all_of(CELLS))
def test_variances(name: str) -> None:
    golden = numbers_of(name)
    rows = found_of(name).design
    found = rows.filter(name="noise_sd")["value"].to_list() if len(rows) else []
    assert_golden(as_number(found[0] if found else None), golden["plan"]["noise_sd"], "noise_sd")
    components = golden["components"]
    if components is None:
        # The golden implementation has none where attributes have unlike clusters; ours has those of each block.
        assert not len(rows) or rows.filter(name="association")["block"].n_unique() != 1
        return
    for source, variance in components["components"].items():
        row = rows.filter(name=source.replace("template", "cluster")).row(0, named=True)
        assert_golden(row["value"], variance, source)
        assert_golden(row["share"], components["shares"][source], source)
    for index in ("template_share", "reliability", "templates_for_0.8"):
        assert_golden(rows.filter(name=index)["value"].item(), components[index], index)
    prior_df = rows.filter(name="prior_df")["value"].item()
    noise = rows.filter(name="noise_sd")["value"].item()
    enough = (
        clusters for clusters in range(2, 1001) if minimal_detectable_effect(noise**2, prior_df, clusters) <= 0.05
    )
    assert next(enough, None) == golden["plan"]["templates_for_0.05"]


@pytest.mark.parametrize("name", all_of(CELLS))
def test_leaving_one_cluster_out(name: str) -> None:
    design = found_of(name).design
    found = [design.filter(name=each).sort("cluster")["value"] for each in ("mu_without", "correlation")]
    for mu, correlation, golden in zip(*found, numbers_of(name)["leave_one_out"], strict=True):
        assert_golden(as_number(mu), golden["mu"], "mu")
        assert_golden(as_number(correlation), golden["correlation"], "correlation")


FUNCTIONS = numbers_of("functions")


@pytest.mark.parametrize("clusters", FUNCTIONS["halves"])
def test_splits(clusters: str) -> None:
    ours, golden = splits(int(clusters)), np.array(FUNCTIONS["halves"][clusters])
    assert_golden(ours[np.lexsort(ours.T)].ravel(), golden[np.lexsort(golden.T)].ravel().tolist(), "splits")


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
    sources = [VarianceSource(np.array([one]), np.array([other])) for one, other in zip(variances, df, strict=True)]
    assert_golden(half_width(sources, 0.05), golden["half_width_95"], "half width")
    assert_golden(p_values(np.array([golden["value"]]), sources), golden["p"], "over_p")


@pytest.mark.parametrize("golden", FUNCTIONS["failure intervals"])
def test_failure_intervals(golden: dict[str, Any]) -> None:
    failed, cases = (np.array([golden[name]], dtype=np.float64) for name in ("failed", "cases"))
    over_all = over_clusters(failed, cases)
    rate, count = failed.sum(axis=1) / cases.sum(axis=1), cases.sum(axis=1)
    low, high, worth = wilson_interval(rate, count, over_all.source.variance, over_all.units, 0.05)
    assert_golden([rate[0], low[0], high[0], worth[0]], [golden[n] for n in ("value", "low", "high", "effective")], "")


@pytest.mark.parametrize("golden", FUNCTIONS["minimal effects"])
def test_minimal_effects(golden: dict[str, Any]) -> None:
    found = minimal_detectable_effect(golden["s2"], float(golden["d0"]), golden["families"], golden["alpha"])
    assert_golden(found, golden["value"], "effect")


@cache
def golden_groups() -> tuple[dict[str, Any], TermScores]:
    """The golden cases of three groups of three terms, and their numbers."""
    cases = pl.read_parquet(FOLDER / "groups.parquet").with_columns(bias_type=pl.lit("letters"))
    records = records_of(cases, SubjectOutputs(cases["score"].to_numpy().reshape(-1, 1)))
    (scores,) = scores_of_terms(records, cases["score"].to_numpy())
    return numbers_of("groups"), scores


@pytest.mark.parametrize("generalises_to", ["templates", "all"])
def test_differences_of_groups(generalises_to: str) -> None:
    numbers, scores = golden_groups()
    settings = StatisticsSettings(units={"difference": "difference"})
    estimates = estimate.estimate([difference(scores).named("difference")], settings)
    golden, rows = numbers["pairs"], over(estimates, OVERS[generalises_to])
    assert rows.select("group", "other").to_dict(as_series=False) == {n: golden[n] for n in ("group", "other")}
    assert_golden(rows["value"], golden["value"], "value")
    for column in ("low", "high", "p", "q"):
        assert_golden(rows[column], golden[f"{generalises_to}_{column}"], f"{generalises_to}_{column}")


def test_dealing_terms() -> None:
    numbers, scores = golden_groups()
    golden, permuted = numbers["calibrated"], permute_groups(scores, 0.1, 1999, 0)
    assert permuted is not None
    assert (permuted.exact, permuted.tried) == (True, golden["regroupings"])
    names = {
        "counterfactual": "pairwise in cases",
        "group": "pairwise",
        "largest_pair": "largest",
        "largest_in_case": "largest in cases",
    }
    for ours, name in names.items():
        assert_golden(permuted.found[name], [golden[ours][key] for key in ("value", "null_mean", "p")], name)


def test_failures_of_groups() -> None:
    numbers, _ = golden_groups()
    cases = pl.read_parquet(FOLDER / "groups.parquet").with_columns(bias_type=pl.lit("letters"))
    records = records_of(cases, SubjectOutputs(cases["score"].to_numpy().reshape(-1, 1)))
    thresholds = sorted({each["threshold"] for each in numbers["failures"]})
    rates = [each for each in failure_rate(records, thresholds, thresholds[0]) if isinstance(each, Sums)]
    rows = estimate.estimate(rates, StatisticsSettings())
    for golden in numbers["failures"]:
        options = options_text(difference=golden["difference"], threshold=golden["threshold"])
        row = rows.filter(options=options).row(0, named=True)
        assert_golden(
            [row[name] for name in ("value", "low", "high")], [golden[n] for n in ("value", "low", "high")], ""
        )
