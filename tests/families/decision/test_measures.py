"""Differences of decisions of which the truth is known, where rows are missing too."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.families.decision.family import FAMILY
from biasgrid.families.decision.measures import SENTENCES, measure

OPTIONS = {"references": ["male", "white"]}
AGES = (20, 40, 60, 80)
SLOPE, OF_WOMEN, OF_BLACK = -0.01, 0.3, -0.5


def observations(missing: float = 0.0) -> pl.DataFrame:
    """Decisions with known log odds about people of 12 questions, of which some rows are not
    there.
    """
    levels, random = np.linspace(-2, 2, 12), np.random.default_rng(1)
    rows = [
        {
            "template": template,
            "question": f"q{template}",
            "age": float(age),
            "gender": gender,
            "race": race,
            "log_odds": level
            + SLOPE * age
            + OF_WOMEN * (gender == "female")
            + OF_BLACK * (race == "Black"),
        }
        for template, level in enumerate(levels.tolist())
        for age in AGES
        for gender in ("female", "male")
        for race in ("Black", "white")
    ]
    table = (
        pl.DataFrame(rows)
        .filter(pl.Series(random.random(len(rows)) >= missing))
        .with_row_index("instance")
    )
    yes = 1 / (1 + (-pl.col("log_odds")).exp())
    return table.with_columns(yes=yes, no=1 - yes, share=yes)


def value(rows: pl.DataFrame, name: str, **keys: str) -> float:
    (row,) = measured_values(measure, rows, OPTIONS).filter(measure=name, **keys).to_dicts()
    return float(row["value"])


def test_measures_have_the_names_of_the_declared_ones() -> None:
    names = {*measured_values(measure, observations(), OPTIONS)["measure"]}
    # The largest gap is made of the differences, as in other families.
    assert {*names, "largest_gap"} == FAMILY.own_measures.keys()


def test_a_group_without_probabilities_has_no_value() -> None:
    has_odds = pl.when(pl.col("gender") != "female")
    missing = [has_odds.then(name).alias(name) for name in ("share", "log_odds")]
    rows = observations().with_columns(missing)
    numbers = measured_values(measure, rows, OPTIONS).filter(group="female")
    assert numbers.select("measure", "value", "n", "left_out").rows() == [
        ("decision_difference", None, 0, 96),
        ("yes_share", None, 0, 96),
    ]


def test_people_of_one_age_have_no_slope() -> None:
    numbers = measured_values(measure, observations().filter(age=20), OPTIONS)
    (slope,) = numbers.filter(measure="age_slope").to_dicts()
    assert (slope["value"], slope["n"], slope["left_out"]) == (None, 48, 0)


def test_differences_and_slope_match_the_known_effect() -> None:
    rows = observations()
    assert value(rows, "decision_difference", group="female", other="male") == pytest.approx(
        OF_WOMEN
    )
    assert value(rows, "decision_difference", group="Black", other="white") == pytest.approx(
        OF_BLACK
    )
    assert value(rows, "age_slope") == pytest.approx(SLOPE * np.std(AGES))


def test_a_question_about_other_ages_has_its_own_slope_and_not_its_level() -> None:
    rows = observations().filter((pl.col("template") < 6) | (pl.col("age") > 20))
    spread = rows["age"].std(ddof=0)
    assert value(rows, "age_slope") == pytest.approx(SLOPE * spread)


def test_the_strongest_questions_come_first_regardless_of_the_sign() -> None:
    rows = observations(missing=0.2)
    numbers = measured_values(measure, rows, OPTIONS)
    texts = rows.select("instance", text=pl.format("{} {} {}", "question", "gender", "race")).lazy()
    cell = MeasuredCell(texts, rows.lazy(), rows, numbers, OPTIONS)
    for bias_type, group, other in (("gender", "female", "male"), ("race", "Black", "white")):
        units = SENTENCES.explain(cell, {"bias_type": bias_type, "group": group, "other": other})
        assert units["unit_value"].is_sorted(descending=True)
        assert units["unit_value"].to_list() == pytest.approx(
            [abs(OF_WOMEN if group == "female" else OF_BLACK)] * len(units)
        )
        # People beside each other differ in the group alone; who has no partner is left out.
        assert units["group"].to_list() == [group, other] * (len(units) // 2)
        assert 0 < len(units) < 2 * len(rows.filter(pl.col(bias_type) == group))
        assert units["text"].null_count() == 0
