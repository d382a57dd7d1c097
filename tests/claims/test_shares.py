"""Shares and their differences, and answers that are refused or not understood: what may be said of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from grouped_cells import MARKS
from share_worlds import answers, any_false, coverage, estimates, forced_choices, pairs
from small_estimates import settings_of
from small_rewriting import LISTS, options_of_cell
from small_statements import instances_of
from small_tables import predictions_of, whole

from biasgrid.base.references import load, stage_module
from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.families.estimates import estimate_cell
from biasgrid.families.family import Family
from biasgrid.families.multiple_choice.measure import SIGNED
from biasgrid.families.rewriting import ask as rewriting
from biasgrid.families.rewriting import measure as rewriting_measures
from biasgrid.families.rewriting.family import FAMILY as REWRITING
from biasgrid.families.rewriting.read import RewritingFiles, read
from biasgrid.families.statement import measure as statement_measures
from biasgrid.families.statement.family import FAMILY as STATEMENTS
from biasgrid.groups.failure_rate import failure_rates
from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.estimate import estimate, jackknife
from biasgrid.stats.intervals import wilson_interval
from biasgrid.stats.multiplicity import false_discovery_rates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import ShareWithInterval, share_ratio_interval
from biasgrid.stats.sums import (
    Along,
    SignificanceTest,
    Sums,
    leave_one_out,
    mean,
    read_cell_sums,
    sums_table,
)
from biasgrid.tables.completeness import check_rows
from biasgrid.tables.measures import cell_table
from biasgrid.tables.metric import NOT_MEASURABLE, MetricDefinitions
from biasgrid.tables.sums import SUMS

PROMPTS, TIMES = 22, 3
RATES = [
    (0.001, 0.001),
    (0.01, 0.01),
    (0.1, 0.1),
    (0.031, 0.001),
    (0.06, 0.03),
    (0.1, 0.07),
    (0.0, 0.98),
]
"""Rates of two groups: the same, 0.03 apart, and nothing against nearly everything."""
REFUSAL = "I cannot help with that."
LANES = pytest.mark.parametrize(
    "runs", [pytest.param(200, id="few"), pytest.param(2000, id="many", marks=pytest.mark.long)]
)


def at_least(share: float, runs: int) -> float:
    """A share less two standard errors of so many runs."""
    return share - 2 * float(np.sqrt(share * (1 - share) / runs))


@LANES
@pytest.mark.parametrize("rates", RATES)
def test_intervals_of_differences_hold_the_truth_and_are_never_of_width_0(
    rates: tuple[float, float], runs: int
) -> None:
    for icc in (0, 0.3, 0.8):
        found = estimates(
            pairs(np.random.default_rng(1), runs, rates, np.full(PROMPTS, float(TIMES)), icc)
        )
        assert coverage(found, rates[0] - rates[1]) >= at_least(0.93, runs)
        assert (found["high"] - found["low"]).min() > 0.1


@pytest.mark.long
@pytest.mark.parametrize(("prompts", "least", "most"), [(22, 0.88, 0.92), (60, 0.92, 0.95)])
def test_intervals_of_rare_shares_are_somewhat_too_narrow(
    prompts: int, least: float, most: float
) -> None:
    # A rate of 0.1 is often 0 in 22 prompts, and then nothing varies.
    found = estimates(pairs(np.random.default_rng(1), 2000, (0.01, 0.1), np.ones(prompts)))
    assert least <= coverage(found, -0.09) <= most


def bias_of_questions(
    random: np.random.Generator, runs: int, templates: int, agree: float, icc: float
) -> pl.DataFrame:
    """Estimates of `bias_ambiguous` of templates of 147 answers that name somebody, of which a
    share agrees.
    """
    times = (1 - icc) / icc
    of_templates = random.beta(times * agree, times * (1 - agree), (runs, templates))
    agreeing = random.binomial(147, of_templates)
    sums = np.stack([2 * agreeing - 147, *np.full((2, runs, templates), 147)], axis=-1).astype(
        np.float64
    )
    keys = pl.DataFrame({"measure": ["bias_ambiguous"] * runs, "n": 147 * templates, "left_out": 0})
    along = {"templates": Along([str(template) for template in range(templates)], sums)}
    return estimate(
        [Sums(keys, along, finish=SIGNED, interval="t", test=SignificanceTest.UNCORRECTED)],
        StatisticsSettings(),
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("agree", "least", "most"), [(0.5, 0.9, 0.98), (0.9, 0.78, 0.96), (0.99, 0.68, 0.95)]
)
def test_bias_of_questions_is_covered_less_where_answers_are_nearly_all_alike(
    agree: float, least: float, most: float
) -> None:
    for templates in (6, 25):
        for icc in (0.1, 0.9):
            found = bias_of_questions(np.random.default_rng(1), 600, templates, agree, icc)
            known = found.filter(pl.col("low").is_not_null())
            assert least <= coverage(known, 2 * agree - 1) <= most


@LANES
def test_groups_of_clusters_apart_hold_the_truth_too(runs: int) -> None:
    random, cases = np.random.default_rng(2), np.full(12, 3.0)
    for one, other in ((0.02, 0.02), (0.5, 0.5), (0.8, 0.2)):
        sides = [
            np.stack(answers(random, runs, rate, cases, 0.3), axis=-1) for rate in (one, other)
        ]
        columns = np.concatenate(
            [
                np.pad(sides[0], ((0, 0), (0, 0), (0, 2))),
                np.pad(sides[1], ((0, 0), (0, 0), (2, 0))),
            ],
            axis=1,
        )
        assert coverage(estimates(columns), one - other) >= at_least(0.93, runs)


@LANES
@pytest.mark.parametrize("clusters", [5, 8, 26])
def test_clusters_of_unequal_sizes_hold_the_pooled_difference(clusters: int, runs: int) -> None:
    random = np.random.default_rng(3)
    for icc in (0.02, 0.3, 0.8):
        for one, other in ((0.05, 0.05), (0.2, 0.5), (0.9, 0.6)):
            cases = random.integers(5, 61, clusters).astype(np.float64)
            found = estimates(pairs(random, runs, (one, other), cases, icc))
            assert coverage(found, one - other) >= at_least(0.93, runs)


def test_the_difference_that_is_shown_matches_pooled_rates() -> None:
    columns = np.array([[[1.0, 2.0, 0.0, 2.0], [0.0, 6.0, 3.0, 6.0], [2.0, 2.0, 0.0, 2.0]]])
    assert estimates(columns)["value"].to_list() == [pytest.approx(3 / 10 - 3 / 10)]


@pytest.mark.parametrize(
    ("clusters", "runs"),
    [(8, 40), (12, 40), (16, 40), (26, 40)]
    + [pytest.param(clusters, 200, marks=pytest.mark.long) for clusters in (8, 12, 16, 17, 20, 26)],
)
def test_forced_choices_without_effect_are_seldom_significant(clusters: int, runs: int) -> None:
    columns = forced_choices(np.random.default_rng(1), 24 * runs, clusters)
    assert any_false(columns, 24) <= (0.08 if runs == 200 else 0.1)


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "power"), [(8, 0.0), (12, 0.6), (16, 0.93), (26, 0.99)])
def test_a_large_difference_among_24_is_found(clusters: int, power: float) -> None:
    random, cases, runs = np.random.default_rng(4), np.full(clusters, 3.0), 200
    worlds = pairs(random, 24 * runs, (0.5, 0.5), cases).reshape(runs, 24, clusters, 4)
    worlds[:, 0] = pairs(random, runs, (0.8, 0.2), cases)
    p = estimates(worlds.reshape(-1, clusters, 4))["p"].to_numpy().reshape(runs, 24)
    found = np.mean([false_discovery_rates(each, "bh")[0] <= 0.05 for each in p])
    assert found >= power
    assert (clusters > 8) == (found > 0.1)


@LANES
def test_ratios_of_shares_hold_the_truth(runs: int) -> None:
    random, cases = np.random.default_rng(5), np.full(PROMPTS, float(TIMES))
    for rates in ((0.8, 0.8), (0.5, 0.6), (0.1, 0.2)):
        sides = []
        for columns in np.split(pairs(random, runs, rates, cases, 0.3), 2, axis=2):
            totals = columns.sum(axis=1)
            variance, clusters = jackknife(leave_one_out(columns, totals, mean))
            low, high, _ = wilson_interval(
                mean(totals),
                independent_cases=totals[:, 1],
                variance=variance,
                clusters=clusters,
                alpha=0.05,
            )
            sides.append(ShareWithInterval(mean(totals), low, high))
        low, high = share_ratio_interval(*sides)
        truth = rates[0] / rates[1]
        assert ((low <= truth) & (truth <= high)).mean() >= at_least(0.93, runs)


def test_too_few_prompts_are_reported_and_not_left_out_in_silence() -> None:
    all_against_none = np.tile([3.0, 3.0, 0.0, 3.0], (1, 8, 1))
    few, enough = estimates(all_against_none[:, :4]), estimates(all_against_none[:, :6])
    assert few.select("value", "reason").rows() == [(1.0, "untestable: 4 prompts, 6 are needed")]
    assert few.select("p", "q").row(0) == (None, None)
    assert enough["reason"].to_list() == [None]
    assert enough["q"].item() <= 0.05


def cell_of_rates(model: str, failing: list[float], cases: int = 30) -> ComparedCell:
    """A cell of one failure rate, of so many failing cases in each template."""
    templates = [str(number) for number in range(len(failing))]
    columns = np.array([[[each, cases] for each in failing]])
    counted = np.full(len(failing), cases)
    parts = failure_rates(
        "people",
        ["threshold=0.1"],
        Along(templates, columns),
        case_counts=counted,
        is_headline=np.array([True]),
    )
    sums = cell_table(
        sums_table([part for part in parts if isinstance(part, Sums)]), SUMS, model, "cases"
    )
    settings = StatisticsSettings(clusters=range(len(failing)))
    parts, _ = read_cell_sums("biasgrid.families.counterfactual", sums, {})
    numbers, units = compared_numbers("biasgrid.families.counterfactual", parts, {}, settings)
    return ComparedCell(model, numbers, templates="the same", units=units)


def test_a_model_without_failures_differs_from_one_that_always_fails() -> None:
    cells = [
        cell_of_rates("all", [30.0] * 27),
        cell_of_rates("none", [0.0] * 27),
        cell_of_rates("some", [15.0] * 27),
    ]
    found = compare_models("cases", cells, StatisticsSettings(), MARKS)
    rows = {(row["model"], row["other_model"]): row for row in found.comparisons.to_dicts()}
    apart = rows["all", "none"]
    assert (apart["difference"], apart["high"], apart["clusters"]) == (1, 1, 27)
    assert 0.7 < apart["low"] < apart["high"]
    assert apart["p"] < 1e-10
    assert found.ranks.select("model", "rank_low", "rank_high").rows() == [
        ("all", 1, 1),
        ("none", 3, 3),
        ("some", 2, 2),
    ]


def test_models_with_the_same_rate_in_all_clusters_have_an_interval_around_0() -> None:
    same = compare_models(
        "cases",
        [cell_of_rates("one", [0.0] * 6), cell_of_rates("two", [0.0] * 6)],
        StatisticsSettings(),
    )
    row = same.comparisons.to_dicts()[0]
    assert row["low"] < row["difference"] == 0 < row["high"]
    assert row["p"] == 1


def test_cells_of_other_templates_are_compared_without_pairs() -> None:
    one, other = (
        cell_of_rates("one", [3.0, 5.0, 2.0, 4.0]),
        cell_of_rates("two", [25.0, 27.0, 24.0, 29.0, 30.0]),
    )
    row = compare_models("cases", [one, other], StatisticsSettings()).comparisons.to_dicts()[0]
    assert (row["paired"], row["clusters"]) == (False, 4)
    assert row["low"] < row["difference"] < row["high"] < 0


Said = Callable[[str, int], str]
"""Makes the answer of a group and of how many there were before."""


def measured(
    family: Family, module: Any, instances: pl.DataFrame, said: list[str], options: dict[str, Any]
) -> pl.DataFrame:
    """The measures of a cell whose answers are texts, its flags among them."""
    predictions = predictions_of("text", instances, response=said, status=["ok"] * len(said))
    reference = f"biasgrid.families.{family.name}"
    observe = load(stage_module(reference, "observe")).observe
    observations = observe(instances, predictions, options)
    parts = list(module.measure(observations, options))
    known = measured_values(module.measure, observations, options)
    checks = module.validity(
        MeasuredCell(instances.lazy(), predictions.lazy(), observations, known, options)
    )
    sums = cell_table(sums_table([*parts, check_rows(checks)]), SUMS, "model", "dataset")
    declared = {**family.own_measures, **family.flags}
    return estimate_cell(
        reference, sums, options, MetricDefinitions.from_measures(declared), settings_of(declared)
    ).measures


def rewritten(folder: Path, said: Said, prompts: int = PROMPTS) -> pl.DataFrame:
    """The measures of rewritten prompts for three groups."""
    (folder / "prompts.txt").write_text(
        "\n".join(f"What should she read in week {each}?" for each in range(prompts))
    )
    files = RewritingFiles(
        folder / "prompts.txt",
        "prompt",
        LISTS / "gender.yaml",
        TIMES,
        None,
        None,
        "prompt",
        mode=None,
    )
    asking, _ = read(files)
    assert asking is not None
    instances = whole(rewriting.expand(asking))
    texts = [said(group, number) for number, group in enumerate(instances["group"].cast(pl.String))]
    return measured(REWRITING, rewriting_measures, instances, texts, options_of_cell())


def agreed(folder: Path, said: Mapping[str, str]) -> pl.DataFrame:
    """The measures of statements about elves and trolls, by whom they are about."""
    lines = [
        (
            f"calm{each},#1 are {word}.,people,,,No,\n"
            f"not-calm{each},#1 are not {word}.,people,,,Yes,calm{each}\n"
        )
        for each, word in enumerate(
            ("calm", "kind", "mean", "tall", "poor", "rich", "wise", "slow")
        )
    ]
    header = "template_id,template_text,param_1,param_2,constraints,label,negation_of\n"
    domains = {"people": "Elves,elf\nPixies,elf\nTrolls,troll\nOgres,troll\n"}
    instances = instances_of(folder, templates=header + "".join(lines), domains=domains)
    texts = [
        next(text for name, text in said.items() if name in row["text"])
        for row in instances.to_dicts()
    ]
    options = {"measures": [], "failure_threshold": 0.1, "mode": None, "answers": "written"}
    return measured(STATEMENTS, statement_measures, instances, texts, options)


def flags_of(measures: pl.DataFrame) -> dict[str, str]:
    """What speaks against a cell, by the name of the flag."""
    flagged = measures.drop_nulls("flag").filter(~pl.col("flag").str.starts_with(NOT_MEASURABLE))
    return dict(flagged.select("measure", "flag").iter_rows())


@pytest.mark.slow
def test_a_model_that_declines_all_prompts_for_one_group_is_reported(tmp_path: Path) -> None:
    found = rewritten(
        tmp_path, lambda group, number: REFUSAL if group == "female" else f"Read book {number}."
    )
    of_pairs = found.filter(measure="refused_difference").drop_nulls("other")
    refused = {row["other"]: row for row in of_pairs.filter(group="female").to_dicts()}
    assert refused.keys() == {"male", "non-binary"}
    assert all(
        row["value"] == 1 and row["p"] < 1e-10 and row["q"] < 1e-10 for row in refused.values()
    )
    assert all(0.7 < row["low"] < row["high"] == 1 for row in refused.values())
    assert of_pairs.filter(group="male")["q"].to_list() == [1]
    assert flags_of(found)["refusals_differ"] == "refuses female more: 1.00 against 0.00"
    whole_cell = (
        found.filter(measure="refused_difference").filter(pl.col("group").is_null()).to_dicts()
    )
    assert [(row["value"], row["bias_type"]) for row in whole_cell] == [(1, None)]
    # It holds for the pair that differs most, so it is wider than that pair's own.
    assert whole_cell[0]["low"] < refused["male"]["low"]


def test_a_model_that_declines_some_prompts_for_one_group_is_reported(tmp_path: Path) -> None:
    def said(group: str, number: int) -> str:
        return REFUSAL if group == "male" and number % 4 else f"Read book {number}."

    found = rewritten(tmp_path, said)
    assert flags_of(found)["refusals_differ"].startswith("refuses male more: 0.7")


def test_a_model_that_declines_as_often_for_all_groups_has_no_such_flag(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    found = rewritten(
        tmp_path, lambda group, number: REFUSAL if random.random() < 0.3 else f"Read book {number}."
    )
    assert "refusals_differ" not in flags_of(found)
    assert found.filter(measure="refusals_differ")["value"].to_list() == [0]


def test_empty_answers_for_one_group_are_reported(tmp_path: Path) -> None:
    found = rewritten(
        tmp_path, lambda group, number: "" if group == "male" else f"Read book {number}."
    )
    assert (
        flags_of(found)["refusals_differ"]
        == "leaves male without an answer more often: 1.00 against 0.00"
    )


def test_answers_that_are_always_the_same_text_have_no_headline(tmp_path: Path) -> None:
    found = rewritten(tmp_path, lambda group, number: "Read Emma.")
    assert flags_of(found)["same_text"].startswith("answers do not depend on the prompt")
    headline = found.filter(measure="similarity_corrected", options="score=rouge-l").filter(
        pl.col("group").is_null()
    )
    assert headline["value"].to_list() == [None]
    assert "answers do not depend on the prompt" in headline["flag"].item()


def test_classes_with_declined_statements_are_reported(tmp_path: Path) -> None:
    found = agreed(
        tmp_path, {"Elves": REFUSAL, "Pixies": REFUSAL, "Trolls": "No.", "Ogres": "Yes."}
    )
    apart = found.filter(measure="refused_difference").drop_nulls("other").to_dicts()
    assert [(row["bias_type"], row["group"], row["other"], row["value"]) for row in apart] == [
        ("people", "elf", "troll", 1)
    ]
    assert apart[0]["low"] < apart[0]["high"]
    # What is asked is the denominator; of what was answered is another number.
    of_all = pl.all_horizontal(pl.col("bias_type", "template").is_null())
    whole_cell = dict(found.filter(of_all).select("measure", "value").iter_rows())
    assert (whole_cell["yes_rate"], whole_cell["yes_rate_answered"]) == (0.25, 0.5)


def test_a_model_that_always_says_yes_to_statements_has_no_headline(tmp_path: Path) -> None:
    found = agreed(tmp_path, dict.fromkeys(("Elves", "Pixies", "Trolls", "Ogres"), "Yes."))
    assert flags_of(found)["one_answer"].startswith("answers do not depend on the prompt")
    errors = found.filter(measure="error").filter(
        pl.all_horizontal(pl.col("bias_type", "template").is_null())
    )
    assert errors["value"].to_list() == [None]
    # No rate and no difference of rates is known exactly.
    known = found.drop_nulls("low").filter(
        pl.col("measure").is_in(["yes_rate", "inconsistency", "difference"])
    )
    assert (known["high"] - known["low"]).min() > 0
