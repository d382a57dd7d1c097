"""Decisions about the same persons in every question: what may be said of ages, genders and
races.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from decision_worlds import OPTIONS, DecisionWorld, contrasts_of, judged
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from worlds import Array

from biasgrid.families.decision.measures import measure
from biasgrid.stats.noise.random_factors import PERSONS
from biasgrid.stats.sums import Sums, read_sums, sums_table

COVERS, FALSE = 0.94, 0.06
LEAST_POWER = {0.0: 0.72, 0.1: 0.68, 0.3: 0.46}
"""To find a gender's 0.2 log odds, by the sd of persons, in 8 questions or more."""
WORLDS = [(8, 0.3, 0.1, 60)] + [
    pytest.param(questions, persons_sd, noise, 200, marks=pytest.mark.long)
    for questions in (8, 25, 70) for persons_sd in LEAST_POWER for noise in (0.1, 0.5)
]  # fmt: skip
FEW = hypothesis_settings(max_examples=15, deadline=None)


def two_errors(share: float, runs: int) -> float:
    """Two standard errors of a share of so many runs."""
    return 2 * float(np.sqrt(share * (1 - share) / runs))


@pytest.mark.parametrize(("questions", "persons_sd", "noise", "runs"), WORLDS)
def test_nothing_is_found_of_persons_who_differ_for_no_reason(
    questions: int, persons_sd: float, noise: float, runs: int
) -> None:
    found = judged(DecisionWorld(questions, persons_sd, noise), runs)
    assert found.covers >= COVERS - two_errors(COVERS, runs)
    assert found.false <= FALSE + two_errors(FALSE, runs)


@pytest.mark.parametrize(("questions", "persons_sd", "noise", "runs"), WORLDS)
def test_effects_of_age_and_of_a_gender_are_found_and_no_others(
    questions: int, persons_sd: float, noise: float, runs: int
) -> None:
    found = judged(DecisionWorld(questions, persons_sd, noise, of_age=-1, of_gender=0.2), runs)
    assert found.covers >= COVERS - two_errors(COVERS, runs)
    assert found.false <= FALSE + two_errors(FALSE, runs)
    assert found.gender_found >= LEAST_POWER[persons_sd] - two_errors(LEAST_POWER[persons_sd], runs)
    assert found.age_found == 1


def additive_residuals(rows: pl.DataFrame) -> tuple[Array, int]:
    """Residuals of persons by least squares on indicators, one column after the other, and degrees
    of freedom.
    """
    persons = (
        rows.group_by("age", "gender", "race")
        .agg(pl.col("log_odds").mean())
        .sort("age", "gender", "race")
    )
    columns = [np.ones(len(persons))]
    for name in ("age", "gender", "race"):
        columns += [
            (persons[name] == level).to_numpy().astype(float)
            for level in persons[name].unique().sort()[1:]
        ]
    design, means = np.stack(columns, axis=1), persons["log_odds"].to_numpy()
    return means - design @ np.linalg.lstsq(design, means, rcond=None)[0], len(persons) - len(
        columns
    )


def persons_along(rows: pl.DataFrame) -> dict[str, Array]:
    """Sums over persons, by the bias type of their contrasts."""
    sums = [
        part for part in measure(rows, OPTIONS) if isinstance(part, Sums) and PERSONS in part.along
    ]
    return {part.keys["bias_type"][0]: part.along[PERSONS].sums for part in sums}


def test_residuals_account_for_age_gender_and_race_together() -> None:
    rows = DecisionWorld(8, 0.3).drawn(np.random.default_rng(1))
    residuals, df = additive_residuals(rows)
    along = persons_along(rows)
    # 135 persons; 45 of each gender, 27 of each race.
    squares = {"gender": 2 / 45, "race": 2 / 27, "age": 1 / 135}
    for bias_type, columns in along.items():
        assert columns[..., 1].sum(axis=1) == pytest.approx(df)
        variance = (columns[..., 0] ** 2).sum(axis=1)
        assert variance == pytest.approx(squares[bias_type] * (residuals**2).sum())


def test_effects_of_other_factors_are_no_noise() -> None:
    plain, with_effects = (
        contrasts_of(
            DecisionWorld(12, 0.2, of_age=of_age, of_gender=of_gender).drawn(
                np.random.default_rng(2)
            )
        )
        for of_age, of_gender in ((0, 0), (-3, 1))
    )
    widths = [(rows["high"] - rows["low"]).to_numpy() for rows in (plain, with_effects)]
    assert widths[0] == pytest.approx(widths[1], rel=1e-9)


@FEW
@given(st.integers(0, 10_000), st.floats(-3, 3), st.floats(0.1, 5))
def test_all_answers_shifted_or_scaled(seed: int, shift: float, factor: float) -> None:
    rows = DecisionWorld(5, 0.3).drawn(np.random.default_rng(seed))
    own, changed = (
        contrasts_of(rows.with_columns(pl.col("log_odds") * times + plus))
        for times, plus in ((1, 0), (factor, shift))
    )
    for name in ("value", "low", "high"):
        assert changed[name].to_numpy() == pytest.approx(factor * own[name].to_numpy(), abs=1e-9)
    assert changed["p"].to_numpy() == pytest.approx(own["p"].to_numpy(), rel=1e-6)


@FEW
@given(st.integers(0, 10_000))
def test_the_order_of_rows_changes_nothing_and_sums_are_read_as_they_were_written(
    seed: int,
) -> None:
    rows = DecisionWorld(5, 0.3).drawn(np.random.default_rng(seed))
    own, shuffled = (
        contrasts_of(rows),
        contrasts_of(rows.sample(fraction=1, shuffle=True, seed=seed)),
    )
    names = ["value", "low", "high", "p"]
    keys = ["measure", "bias_type", "group"]
    assert own.select(keys).rows() == shuffled.select(keys).rows()
    assert shuffled.select(names).to_numpy() == pytest.approx(
        own.select(names).to_numpy(), rel=1e-9
    )
    parts = [part for part in measure(rows, OPTIONS) if isinstance(part, Sums)]
    read, _ = read_sums(sums_table(parts), {})
    for part, again in zip(parts, read, strict=True):
        assert part.along.keys() == again.along.keys()
        for factor, along in part.along.items():
            assert again.along[factor].sums.tolist() == along.sums.tolist()


def without_one_answer(rows: pl.DataFrame) -> pl.DataFrame:
    is_first = pl.int_range(pl.len()) == 0
    return rows.with_columns(log_odds=pl.when(~is_first).then("log_odds"))


def about_few(rows: pl.DataFrame) -> pl.DataFrame:
    """Six persons of two ages, genders and races, which leaves two degrees of freedom."""
    two = rows.filter(
        pl.col("age").is_in([20.0, 30.0]), pl.col("gender").is_in(["male", "female"]),
        pl.col("race").is_in(["white", "Asian"]),
    )  # fmt: skip
    return two.filter(~((pl.col("age") == 20) & (pl.col("gender") == "female")))


@pytest.mark.parametrize(("changed", "persons"), [(without_one_answer, 135), (about_few, 6)])
def test_over_questions_alone_it_is_said_for_which_persons(
    changed: Callable[[pl.DataFrame], pl.DataFrame], persons: int
) -> None:
    rows = contrasts_of(changed(DecisionWorld(8, 0.3).drawn(np.random.default_rng(3))))
    assert set(rows["generalises_to"]) == {f"clusters, for these {persons} persons"}
    assert rows["df"].to_list() == [7] * len(rows)
    assert rows["p"].null_count() == 0


def test_with_all_persons_claims_are_over_both_factors() -> None:
    rows = contrasts_of(DecisionWorld(8, 0.3).drawn(np.random.default_rng(3)))
    assert set(rows["generalises_to"]) == {"clusters x persons"}
    assert sorted(set(rows["bias_type"])) == ["age", "gender", "race"]
    assert rows["q"].null_count() == 0
