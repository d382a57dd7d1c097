"""Shares, their intervals and flags: hand-made numbers, what must not change them, and simulations
of known truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT
from small_estimates import estimates_of
from small_pairs import (
    example,
    instances_of,
    numbers_of,
    observed,
    pair_files,
    row,
    value_of,
    write_examples,
    write_table,
)
from small_tables import predictions_of

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.pairs.data import ALONE, CHOICE, PARTNER
from biasgrid.families.pairs.family import FAMILY
from biasgrid.families.pairs.measures import (
    DIRECTION_FORMULAS,
    PAIR_FORMULAS,
    SHARE_OF_ALL,
    TERM_FORMULAS,
    observe,
    validity,
)
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums
from biasgrid.tables.completeness import flag_problem

PAIRS, ALL = 6, "mode=all"
PLACEBO = ROOT / "word_lists/benchmarks/Pairs_placebo.csv"


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Sentences of six pairs, the first two of which are antistereo."""
    folder = tmp_path_factory.mktemp("pairs")
    directions = ["antistereo"] * 2 + ["stereo"] * 4
    rows = [row(number, stereo_antistereo=direction) for number, direction in enumerate(directions)]
    return instances_of(pair_files(write_table(folder / "pairs.csv", rows), variant=PARTNER))


def by_pair(*scores: tuple[float | None, float | None]) -> list[float | None]:
    return [score for pair in scores for score in pair]


SCORES = by_pair((-1, -2), (-3, -2), (-1, -2), (-1, -3), (-2, -2), (-4, -1))


def test_formulas_have_the_names_of_the_declared_measures() -> None:
    formulas = [*PAIR_FORMULAS, *DIRECTION_FORMULAS, SHARE_OF_ALL, *TERM_FORMULAS]
    assert {formula.measure for formula in formulas} == FAMILY.own_measures.keys()


def test_ties_stay_in_the_denominator_of_the_share_and_in_no_other(instances: pl.DataFrame) -> None:
    numbers = numbers_of(observed(instances, SCORES))
    found = {name: value_of(numbers, name, bias_type="age") for name in numbers["measure"].unique()}
    assert found == pytest.approx(
        {
            "stereotype_share": 3 / 6, "neutral": 1 / 6, "stereotype_share_antistereo": 1 / 2,
            "stereotype_share_stereo": 2 / 3, "likelihood_difference": (1 - 1 + 1 + 2 + 0 - 3) / 6,
        }
    )  # fmt: skip


def test_sums_over_shared_tokens_are_divided_by_these(instances: pl.DataFrame) -> None:
    tokens = [1, 1, 1, 1, 2, 2, 4, 4, 5, 5, 1, 1]
    numbers = numbers_of(observed(instances, SCORES, "cps", tokens))
    assert value_of(numbers, "likelihood_difference", bias_type="age") == pytest.approx(
        (1 - 1 + 1 / 2 + 2 / 4 - 3) / 6
    )


def test_pairs_without_a_score_are_left_out_and_counted(instances: pl.DataFrame) -> None:
    scores = by_pair((None, -2), (-3, -2), (-1, -2), (-1, -3), (-2, -2), (-4, -1))
    found = observed(instances, scores)
    numbers = numbers_of(found)
    shares = numbers.filter(measure="stereotype_share").sort("options").to_dicts()
    assert [(each["options"], each["value"], each["n"], each["left_out"]) for each in shares] == [
        ("", 2 / 5, 5, 1), (ALL, 2 / 6, 6, 0),
    ]  # fmt: skip
    assert flags(instances, found)["unscored_pairs"] == pytest.approx(1 / 6)


def test_a_published_score_that_is_no_finite_number_is_not_measured(
    instances: pl.DataFrame,
) -> None:
    scores = [-inf, -2, nan, -2, -1, -2, *[None] * 6]
    said = predictions_of(
        "likelihood", instances, score=scores, scoring=["published"] * 12, truncated=[False] * 12
    )
    numbers = numbers_of(observe(instances, said, {"scoring": "published"}))
    for name in ("stereotype_share", "likelihood_difference"):
        (found,) = numbers.filter(measure=name, options="").to_dicts()
        assert (found["value"], found["n"], found["left_out"]) == (1, 1, 5)


def test_where_nothing_was_scored_there_is_no_number_but_a_reason(instances: pl.DataFrame) -> None:
    found = observed(instances, [None] * 12)
    estimates = estimates_of("pairs", found, {}, StatisticsSettings())
    rows = estimates.filter(pl.col("options") != ALL)
    assert {*rows["value"]} == {None}
    assert {*rows["reason"]} == {"no sentence of these pairs has a score"}


def test_terms_lack_only_the_examples_with_an_unscored_sentence(tmp_path: Path) -> None:
    examples = [example(0), example(1), example(2, bias_type="race", target="other")]
    instances = instances_of(
        pair_files(
            write_examples(tmp_path / "dev.json", intrasentence=examples), layout="stereoset"
        )
    )
    found = observed(instances, [3, 2, 1, 1, 2, 0, 3, 2, None])
    rows = estimates_of("pairs", found, {}, StatisticsSettings()).filter(
        pl.col("subject").is_null(), measure="stereotype_score"
    )
    assert {
        each["bias_type"]: (each["value"], each["n"], each["left_out"], each["reason"])
        for each in rows.to_dicts()
    } == {
        None: (0.5, 2, 1, "one target"),
        "profession": (0.5, 2, 0, "one target"),
        "race": (None, 0, 1, "no example has scores of all three sentences"),
    }


def flags(
    instances: pl.DataFrame, observations: pl.DataFrame, **columns: Any
) -> dict[str, float | None]:
    said = predictions_of(
        "likelihood", instances, **({"truncated": [False] * len(instances)} | columns)
    )
    cell = MeasuredCell(instances.lazy(), said.lazy(), observations, pl.DataFrame(), {})
    return {check.measure: check.value for check in validity(cell)}


def test_flags_count_what_speaks_against_the_pairs(tmp_path: Path) -> None:
    rows = [row(0), row(0, **{"": "1"}), row(2, annotations="[['age'], [], [], [], []]"), row(3)]
    instances = instances_of(pair_files(write_table(tmp_path / "pairs.csv", rows)))
    cut = [True] + [False] * 7
    found = flags(instances, observed(instances, SCORES[:8]), truncated=cut)
    assert found["repeated_pairs"] == 1
    assert found["doubted_pairs"] == 1 / 4
    assert found["truncated_sentences"] == 1 / 8
    assert found["unscored_pairs"] == 0


@pytest.mark.parametrize(("writers", "said"), [(1, None), (2, 2), (5, 5)])
def test_writers_are_counted_where_intervals_are_over_these(
    tmp_path: Path, writers: int, said: int | None
) -> None:
    rows = [row(number, anon_writer=f"a{number % writers}") for number in range(PAIRS)]
    instances = instances_of(pair_files(write_table(tmp_path / "pairs.csv", rows)))
    assert flags(instances, observed(instances, SCORES)).get("few_writers") == said


def test_few_writers_speak_against_a_cell(tmp_path: Path) -> None:
    problem = FAMILY.flags["few_writers"].limit
    assert problem is not None
    check = {"value": 3, "low": None, "high": None, "n": 3, "flag": "writers"}
    assert flag_problem(check, problem) == "only 3 writers, fewer than 4"
    assert flag_problem(check | {"value": 4}, problem) is None


def test_choices_count_in_both_orders(tmp_path: Path) -> None:
    instances = instances_of(
        pair_files(write_table(tmp_path / "pairs.csv", [row(0), row(1), row(2)]), variant=CHOICE)
    )
    # Follows the stereotype; chooses the first sentence whatever it is; leans to the other
    # sentence.
    first = [0.9, 0.2, 0.7, 0.7, 0.4, 0.9]
    said = predictions_of(
        "choice", instances, probabilities=[[0.5 * each, 0.5 * (1 - each)] for each in first]
    )
    found = observe(instances, said, {"scoring": "forced-choice"})
    assert found["more"].to_list() == pytest.approx([0.85, 0.5, 0.25], abs=1e-6)
    numbers = numbers_of(found.with_columns(pl.col("more", "less").round(6)))
    assert value_of(numbers, "stereotype_share", bias_type="age") == pytest.approx(1 / 3)
    assert value_of(numbers, "neutral", bias_type="age") == pytest.approx(1 / 3)


Score = st.floats(-50, 0, allow_nan=False).map(lambda each: round(each, 3))


@settings(deadline=None, max_examples=25)
@given(scores=st.lists(st.tuples(Score, Score), min_size=PAIRS, max_size=PAIRS))
def test_swapped_scores_swap_the_preference_and_the_scale_changes_no_share(
    instances: pl.DataFrame, scores: list[tuple[float, float]]
) -> None:
    plain = numbers_of(observed(instances, by_pair(*scores)))
    swapped = numbers_of(observed(instances, by_pair(*((less, more) for more, less in scores))))
    scaled = numbers_of(
        observed(instances, by_pair(*((4 * more, 4 * less) for more, less in scores)))
    )
    for name, sign in (("likelihood_difference", -1), ("neutral", 1)):
        one, other = (value_of(numbers, name, bias_type="age") for numbers in (plain, swapped))
        assert one == pytest.approx(sign * other, abs=1e-9), name
    for name in ("stereotype_share", "neutral"):
        assert value_of(plain, name, bias_type="age") == value_of(scaled, name, bias_type="age")
    share, neutral = (
        value_of(plain, name, bias_type="age") for name in ("stereotype_share", "neutral")
    )
    assert share + neutral + value_of(
        swapped, "stereotype_share", bias_type="age"
    ) == pytest.approx(1)


@settings(deadline=None, max_examples=25)
@given(order=st.permutations(range(2 * PAIRS)))
def test_the_order_of_predictions_changes_nothing(
    instances: pl.DataFrame, order: Sequence[int]
) -> None:
    said = predictions_of("likelihood", instances, score=SCORES, tokens_scored=[5] * len(SCORES))
    expected = numbers_of(observe(instances, said, {"scoring": "cps"}))
    assert numbers_of(observe(instances, said[list(order)], {"scoring": "cps"})).equals(expected)


def test_scores_of_terms_are_means_over_terms_whose_ties_are_losses(tmp_path: Path) -> None:
    targets = ["clerk", "clerk", "clerk", "pilot"]
    listed = [example(number, target=target) for number, target in enumerate(targets)]
    path = write_examples(tmp_path / "dev.json", intrasentence=listed)
    instances = instances_of(pair_files(path, layout="stereoset"))
    # more, less, unrelated: a win, a tie, a loss; and a loss against an unrelated sentence.
    scores = [3, 2, 1, 2, 2, 2, 1, 2, 0, 5, 4, 6]
    numbers = numbers_of(observed(instances, [float(each) for each in scores]))
    stereotype, language = (1 / 3 + 1) / 2, ((2 + 0 + 2) / 6 + 0) / 2
    assert value_of(numbers, "stereotype_score", bias_type="profession") == pytest.approx(
        stereotype
    )
    assert value_of(numbers, "language_model_score", bias_type="profession") == pytest.approx(
        language
    )
    icat = language * min(stereotype, 1 - stereotype) / 0.5
    assert value_of(numbers, "icat", bias_type="profession") == pytest.approx(icat)
    assert value_of(
        numbers, "stereotype_score", subject="clerk", bias_type="profession"
    ) == pytest.approx(1 / 3)
    # The share of all examples counts each alike.
    assert value_of(numbers, "stereotype_share", bias_type="profession") == pytest.approx(2 / 4)


def scores_of_writers(
    random: np.random.Generator, instances: pl.DataFrame, share: float, spread: float
) -> list[float | None]:
    """Scores of sentences of writers, each of whom has a share of pairs that follow the stereotype
    around the mean.
    """
    writers = instances.filter(role="more")["writer"].cast(pl.String)
    of_writer = {
        name: np.clip(share + spread * random.choice([-1, 1]), 0, 1) for name in sorted({*writers})
    }
    follows = [random.random() < of_writer[name] for name in writers]
    return by_pair(*((-1.0 - (not each), -1.0 - each) for each in follows))


@pytest.mark.slow
@pytest.mark.parametrize(("share", "spread"), [(0.5, 0.0), (0.6, 0.3)])
def test_intervals_over_writers_hold_the_truth(tmp_path: Path, share: float, spread: float) -> None:
    rows = [row(number, anon_writer=f"a{number % 20}") for number in range(160)]
    instances = instances_of(pair_files(write_table(tmp_path / "pairs.csv", rows)))
    random, runs, covered = np.random.default_rng(5), 100, {"writers": 0, "clusters": 0}
    for _ in range(runs):
        found = observed(instances, scores_of_writers(random, instances, share, spread))
        clusters = list(range(len(rows)))
        estimates = estimates_of("pairs", found, {}, StatisticsSettings(clusters))
        for each in estimates.filter(measure="stereotype_share", bias_type="age").to_dicts():
            assert each["is_claim"] == (each["generalises_to"] == "writers")
            covered[each["generalises_to"]] += each["low"] <= share <= each["high"]
    assert covered["writers"] >= 0.9 * runs
    if spread:
        # Pairs are no independent evidence where writers differ.
        assert covered["clusters"] < covered["writers"]


@pytest.mark.slow
def test_placebo_pairs_have_one_half_in_their_interval() -> None:
    instances = instances_of(pair_files(PLACEBO, layout="plain", variant=ALONE))
    random, runs, holds, significant = np.random.default_rng(3), 100, 0, 0
    clusters = sorted({*instances["template"]})
    for _ in range(runs):
        found = observed(instances, random.normal(-20, 2, len(instances)).tolist())
        estimates = estimates_of("pairs", found, {}, StatisticsSettings(clusters))
        share = estimates.filter(measure="stereotype_share").to_dicts()[0]
        assert (share["generalises_to"], share["clusters"]) == ("clusters", 12)
        holds += share["low"] <= 0.5 <= share["high"]
        significant += share["q"] <= 0.05
    assert holds >= 0.9 * runs
    assert significant <= 0.09 * runs


def test_parts_of_units_have_the_interval_of_numbers_over_these_alone() -> None:
    random = np.random.default_rng(1)
    values, names = random.random((1, 30)), [str(number) for number in range(30)]
    parts = Along(names, np.stack([values, np.ones_like(values)], axis=-1))
    wholes = Along(["x", "y", "z"], parts.sums.reshape(1, 3, 10, 2).sum(axis=2))
    keys = pl.DataFrame({"n": [30], "left_out": [0]})
    both = Sums(keys, {"writers": wholes, TEMPLATES: parts}, finish=MEAN, interval="t").named(
        "some"
    )
    alone = Sums(keys, {TEMPLATES: parts}, finish=MEAN, interval="t").named("some")
    rows, expected = (
        estimate([part], StatisticsSettings(list(range(30)))) for part in (both, alone)
    )
    columns = ["generalises_to", "value", "low", "high", "clusters"]
    assert rows["generalises_to"].to_list() == ["writers", "clusters"]
    assert rows["is_claim"].to_list() == [True, False]
    assert rows.select(columns)[1].equals(expected.select(columns))


def test_a_file_of_one_writer_has_intervals_over_pairs(tmp_path: Path) -> None:
    rows = [row(number, anon_writer="a1") for number in range(8)]
    instances = instances_of(pair_files(write_table(tmp_path / "pairs.csv", rows)))
    scores = by_pair(
        *((-1.0, -2.0) if follows else (-2.0, -1.0) for follows, _ in product((1, 0), range(4)))
    )
    found = estimates_of(
        "pairs", observed(instances, scores), {}, StatisticsSettings(list(range(8)))
    )
    assert {*found.filter(measure="stereotype_share")["generalises_to"]} == {"clusters"}
