"""What is counted, over what sizes are, how much was asked, and what a model shows as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_lists
from small_measures import measures_of
from small_packs import make_pack, pack_of
from small_probes import HIRING, asking_of, files_of
from worlds import ATTRIBUTES, SUBJECTS, centred, judged, world

from biasgrid.base.references import load, stage_module
from biasgrid.config.registry import BUILT_IN
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.sizes import corrected_mu
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.multiplicity import simes
from biasgrid.stats.noise.association_strength import AssociationsByCluster
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.verdicts.counts import counted_tests, significant_tests
from biasgrid.tables.claims.facts import COVERAGE, GridFacts, asked_text, claim_facts, coverage_text
from biasgrid.tables.claims.numbers import format_estimate, format_number, number_in_words
from biasgrid.tables.metric import read_definitions


def counts_of_world(random: np.random.Generator) -> tuple[float, int, int]:
    """Three large effects among 550 associations.

    Returns:
        How many are counted, how many have a q of at most 0.05, and how many of these are false.
    """
    effects = np.zeros((SUBJECTS, ATTRIBUTES))
    effects.ravel()[random.choice(effects.size, 3, replace=False)] = 20.0
    relative = centred(effects)
    found = judged(world(random, 7, relative))
    names = [(f"s{row}", f"a{column}") for row in range(SUBJECTS) for column in range(ATTRIBUTES)]
    rows = [
        {"subject": subject, "attribute": attribute, "value": value, "q": q}
        for (subject, attribute), value, q in zip(names, found.value, found.q, strict=True)
    ]
    table = measures_of(
        rows, model="m", dataset="d", generalises_to="clusters", clusters=7, method="t"
    )
    counted = float(significant_tests(counted_tests(table))["value"].item())
    significant = found.q <= 0.05
    return counted, int(significant.sum()), int((significant & (relative.ravel() == 0)).sum())


def check_counts(runs: int, tolerance: float) -> None:
    """Those of the other ten subjects are as true, but below 0: they say the same again."""
    found = np.array([counts_of_world(np.random.default_rng(seed)) for seed in range(runs)])
    counted, significant, _ = found.mean(axis=0)
    assert 3 <= counted <= 4 + tolerance
    assert significant > 30
    assert (found[:, 2] / found[:, 1]).mean() <= 0.05 + tolerance


def test_of_relative_associations_those_above_0_are_counted() -> None:
    check_counts(20, 0.05)


@pytest.mark.long
def test_of_relative_associations_those_above_0_are_counted_in_200_worlds() -> None:
    check_counts(200, 0.02)


def test_a_model_has_one_p_by_simes() -> None:
    assert simes([0.03, 0.04, 0.9]) == pytest.approx(0.06)
    assert simes([0.2]) == 0.2
    assert simes([0.01, float("nan"), 0.5]) == pytest.approx(0.02)
    assert np.isnan(simes([]))
    drawn = np.random.default_rng(0).uniform(size=(4000, 6))
    # Exact for independent tests.
    assert np.mean([simes(row) <= 0.05 for row in drawn.tolist()]) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("single", [0, 100, 300])
def test_sizes_are_over_the_associations_with_two_clusters(single: int) -> None:
    random = np.random.default_rng(3)
    values = world(random, 4, random.normal(size=(SUBJECTS, ATTRIBUTES)))
    counts = np.ones_like(values)
    chosen = random.choice(SUBJECTS * ATTRIBUTES, single, replace=False)
    counts.reshape(-1, 4)[chosen, 1:] = 0
    part = AssociationsByCluster.with_noise(values * counts, counts)
    assert (part.known, part.left_out) == (SUBJECTS * ATTRIBUTES - single, single)
    found = np.array([corrected_mu(part), part.strength(), part.null_mean("mu")])
    if single > SUBJECTS * ATTRIBUTES / 2:
        assert np.isnan(found).all()
        return
    without = counts.copy()
    without.reshape(-1, 4)[chosen] = 0
    alone = AssociationsByCluster(values * without, without)
    expected = [corrected_mu(alone), alone.strength(), alone.null_mean("mu")]
    assert found == pytest.approx(expected)
    assert part.strength() == pytest.approx(1, abs=0.15)


def coverage_of(family: str, lists: Any) -> Mapping[str, list[int]]:
    """What the expansion of some lists says of how much is asked, and the instances that there
    are.
    """
    expansion = load(stage_module(BUILT_IN.families[family], "expand")).expand(lists)
    rows = sum(len(part) for part in expansion.parts)
    coverage: Mapping[str, list[int]] = expansion.facts[COVERAGE]
    assert coverage["rows"][0] == rows
    return coverage


def test_what_was_asked_of_word_lists_is_known(tmp_path: Path) -> None:
    lists, faults = small_lists.read(
        tmp_path,
        subjects="[subj] Ann\n[subj] Bea\n[subj] Cleo\n[subj] Dora\n",
        attributes=(
            "[p_act] cooks\n[p_act] reads\n[p_act:neg] never cooks\n[p_act:neg] never reads\n"
        ),
        templates=small_lists.LISTS["templates"]
        + "[subj1] met [subj2].\tWho [p_act]?\tWho [p_act:neg]?\n",
    )
    assert not faults
    whole = {
        "subjects": [4, 4],
        "attributes": [2, 2],
        "templates": [2, 2],
        "comparisons": [24, 24],
        "rows": [96, 96],
    }
    assert coverage_of("underspecified", lists) == whole
    assert coverage_text(whole) == ""
    some = coverage_of("underspecified", replace(lists, limit={"subjects": 3, "attributes": 1}))
    asked = {"subjects": [3, 4], "attributes": [1, 2], "templates": [2, 2]}
    assert some == asked | {"comparisons": [6, 24], "rows": [24, 96]}
    assert (
        coverage_text(some)
        == "25.0 % asked (3 of 4 subjects, 1 of 2 attributes, 2 of 2 templates, 24 of 96 rows)"
    )
    sampled = coverage_of("underspecified", replace(lists, sample=Sample(units=1)))
    asked = {"subjects": [2, 4], "attributes": [1, 2], "templates": [1, 2]}
    assert sampled == asked | {"comparisons": [1, 24], "rows": [4, 96]}


def test_what_was_asked_of_cases_and_items_is_known(tmp_path: Path) -> None:
    pack = make_pack(
        tmp_path / "pack", pack_of({"text": "The <group> slept."}, {"text": "The <group> ate."})
    )
    assert coverage_of("counterfactual", pack)["templates"] == [2, 2]
    some = coverage_of("counterfactual", replace(pack, sample=Sample(units=1)))
    assert some["templates"] == some["cases"] == [1, 2]
    assert 2 * some["rows"][0] == some["rows"][1]
    probe = asking_of(files_of(tmp_path, HIRING, sample=Sample(units=1)))
    items = coverage_of("probe", probe)
    assert items["items"] == [1, len(probe.probe.items)]


def test_small_numbers_are_reported_next_to_the_answer_probability_that_bounds_them() -> None:
    definitions = read_definitions("families/underspecified").select("measures", "flags")
    facts = GridFacts(relative=claim_facts({"religion": definitions})["relative"])
    assert set(facts.relative["religion"].values()) <= definitions.keys()
    values = {
        "share_strength": 0.2,
        "mu_corrected": 0.0004,
        "strength": -0.0001,
        "answer_probability": 0.0017,
    }

    def told(model: str, values: dict[str, float]) -> list[str]:
        rows = [
            {"dataset": "religion", "model": model, "measure": name, "value": values[name]}
            for name in values
        ]
        return list(facts.relative_sentences(rows))

    assert told("lm", values) == [
        "religion, lm: of the answer probability 0.00170, mu_corrected is 0.235, strength is 0"
    ]
    assert told("qa", values | {"answer_probability": 0.4}) == []
    assert told("none", {"strength": 0.1}) == []


def test_datasets_that_were_asked_in_part_are_named_with_their_models_where_these_differ() -> None:
    some, whole = {"subjects": [3, 4], "rows": [24, 96]}, {"subjects": [4, 4], "rows": [96, 96]}
    facts = GridFacts(
        cells={"a/m": {COVERAGE: some}, "a/n": {COVERAGE: some}, "b/m": {COVERAGE: whole}}
    )
    assert facts.coverage_sentences() == ["a: 25.0 % asked (3 of 4 subjects, 24 of 96 rows)"]
    facts = GridFacts(cells={"a/m": {COVERAGE: some}, "a/n": {COVERAGE: whole}, "b/m": {}})
    assert facts.coverage_sentences() == ["a (m): 25.0 % asked (3 of 4 subjects, 24 of 96 rows)"]
    assert facts.coverage_sentences(["n"]) == []


def test_a_trial_says_how_little_it_asked() -> None:
    some = {
        "attributes": [4, 70],
        "comparisons": [53, 1_372_000],
        "rows": [212, 5_488_000],
        "subjects": [8, 140],
        "templates": [4, 4],
    }
    whole = {name: [of, of] for name, (_, of) in some.items()}
    cells = {"gender/m": {COVERAGE: some}, "placebo/m": {COVERAGE: some}}
    text = "8 of 140 subjects, 4 of 70 attributes, 53 of 1.37 million comparisons"
    assert GridFacts(cells=cells, trial=["gender"]).trial_text() == f"Quick trial: {text}"
    assert GridFacts(cells=cells).trial_text() == ""
    assert GridFacts(cells={"gender/m": {COVERAGE: whole}}, trial=["gender"]).trial_text() == ""
    other = {COVERAGE: {"items": [2, 30], "rows": [4, 1500]}}
    two = GridFacts(cells=cells | {"jobs/m": other, "jobs/n": other}, trial=["gender", "jobs"])
    assert (
        two.trial_text()
        == f"Quick trial of gender: {text}; of jobs: 2 of 30 items, 4 of 1,500 rows"
    )
    assert two.trial_text(["n"]) == "Quick trial of jobs: 2 of 30 items, 4 of 1,500 rows"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7, "0.700"),
        (0.00169, "0.00169"),
        (-0.0123456, "-0.0123"),
        (0.9996, "1.00"),
        (12.34, "12.3"),
        (999.4, "999"),
        (1234.6, "1,235"),
        (3e-17, "0"),
        (4.2e-8, "4.20e-08"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("row", "within", "written"),
    [
        (("gamma", 0.5, 0.4, 0.6), (-1, 1), ("0.500", "0.400 to 0.600", False)),
        (("share", 0.9, 0.7, 1.1), (0, 1), ("0.900", "0.700 to 1.00", False)),
        (("share", 0.9, 0.3, 1.1), (0, 1), ("0.900", "0.300 to 1.00", True)),
        (("strength", -0.02, -0.05, 0.014), (-1, 1), ("0", "at most 0.0140", False)),
        (("mu_corrected", 0.01, -0.05, 0.07), (-1, 1), ("0.0100", "0 to 0.0700", False)),
        (("ratio", 0.5, 0.1, float("inf")), (0, float("inf")), ("0.500", "0.100 to inf", False)),
        (("mu", 0.5, None, None), (-1, 1), ("0.500", "", False)),
    ],
)
def test_intervals_are_cut_to_the_range_and_sizes_begin_at_0(
    row: tuple[str, float, float | None, float | None],
    within: tuple[float, float],
    written: tuple[str, str, bool],
) -> None:
    named = dict(zip(("measure", "value", "low", "high"), row, strict=True))
    assert format_estimate(named, within) == written


def test_what_would_have_been_seen_is_found_in_80_of_100_cells() -> None:
    """Of groups, over clusters and names: with the size that is told, the combined test of a number
    finds it.
    """
    random, alpha, truth = np.random.default_rng(5), 0.05 / 24, ((0.04, 6.0), (0.09, 9.0))
    found = []
    for _ in range(1000):
        sources = [
            VarianceSource(of * random.chisquare(df, 24) / df, np.full(24, df)) for of, df in truth
        ]
        values = detectable_effect(sources, alpha) + np.sqrt(0.13) * random.normal(size=24)
        found.append((values > half_width(sources, alpha)).mean())
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("template", "value", "words"),
    [
        ("{percent} of 100, where 50 would be fair", 0.77, "77.0 of 100, where 50 would be fair"),
        ("in {half} of 100 pairs", 0.2, "in 60.0 of 100 pairs"),
        ("{points} points apart", -0.004, "0.400 points apart"),
        ("near one half, {near_half} points", 0.0166, "near one half, 0.415 points"),
    ],
)
def test_numbers_are_put_into_words(template: str, value: float, words: str) -> None:
    assert number_in_words(template, value) == words


def test_a_difference_of_rates_is_reported_with_both_rates() -> None:
    assert (
        number_in_words("{rate} % against {other_rate} % Yes", 0.0166, 0.324, 0.32)
        == "32.4 % against 32.0 % Yes"
    )


def test_what_was_asked_in_part_is_counted_without_percent() -> None:
    assert (
        asked_text({"attributes": [2, 70], "subjects": [140, 140], "rows": [84, 40000]})
        == "2 of 70 attributes"
    )
    assert asked_text({"rows": [24, 96]}) == "24 of 96 rows"
    assert asked_text({"items": [24, 24], "rows": [96, 96]}) == ""
