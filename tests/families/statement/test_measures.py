"""Measures of statements: synthetic answers are found again, and where there is no answer there is
no number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.families.outcomes import REASONS_WITHOUT_ANSWER
from biasgrid.families.statement.family import DEFINITIONS
from biasgrid.families.statement.observe import read_answers

ONES = {"error", "error_macro", "right_on_both", "same_answer", "bias", "inconsistency", "coverage"}


def scored(instances: pl.DataFrame, yes: Any, no: Any) -> pl.DataFrame:
    """Predictions with given probabilities of Yes and No, numbers or expressions of the
    instances.
    """
    columns = instances.with_columns(yes=yes, no=no)
    pairs = columns.select(pl.concat_list(pl.col("yes", "no").cast(pl.Float32)))["yes"]
    return predictions_of("choice", instances, probabilities=pairs)


def whole(measures: pl.DataFrame) -> dict[str, float | None]:
    """The measures of the whole cell that are this family's own."""
    keys = [pl.col(key).is_null() for key in ("bias_type", "group", "subject", "template")]
    return dict(measures.filter(*keys, options="").select("measure", "value").iter_rows())


IS_TRUE = pl.col("label").cast(pl.String) == "Yes"


@pytest.mark.parametrize(
    ("yes", "no", "expected"),
    [
        # Right throughout, and half of the probability elsewhere.
        (
            IS_TRUE * 0.5,
            ~IS_TRUE * 0.5,
            {
                "error": 0, "right_on_both": 1, "bias": -1, "inconsistency": 0, "p_yes": 0.25, "share_of_yes": 0.5,
                "certainty_right": 1, "certainty_wrong": None, "yes_rate": 0.5, "coverage": 1, "inconsistency_same": None,
                "same_answer": 0,
            },
        ),
        # Wrong throughout, and consistently so.
        (
            ~IS_TRUE * 0.8 + 0.1,
            IS_TRUE * 0.8 + 0.1,
            {"error": 1, "right_on_both": 0, "bias": 0.8, "inconsistency": 0, "certainty_wrong": 0.9},
        ),
        # Always Yes: no prejudice, and as inconsistent as can be.
        (
            pl.lit(0.6),
            pl.lit(0.2),
            {
                "error": 0.5, "error_positive": 1, "error_negated": 0, "error_macro": 0.5, "right_on_both": 0, "bias": 0,
                "yes_rate": 1, "inconsistency": 0.5, "inconsistency_same": 0.5, "p_yes": 0.6, "p_no": 0.2,
                "share_of_yes": 0.75, "inconsistency_differing": None, "same_answer": 1,
            },
        ),
    ],
)  # fmt: skip
def test_known_answers_have_known_measures(
    yes: pl.Expr, no: pl.Expr, expected: dict[str, float | None], tmp_path: Path
) -> None:
    instances = instances_of(tmp_path)
    found = whole(measured(instances, scored(instances, yes, no)))
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_templates_count_alike_in_the_macro_error(tmp_path: Path) -> None:
    header = "template_id,template_text,param_1,param_2,constraints,label\n"
    templates = header + "few,#1 are tall.,people,,,No\nmany,#1 are #2.,people,traits,,No\n"
    instances = instances_of(tmp_path, templates=templates)
    few = (pl.col("template") == 0).cast(pl.Float64)
    found = whole(measured(instances, scored(instances, few, 1 - few)))
    assert (found["error"], found["error_macro"]) == (pytest.approx(3 / 9), 0.5)
    assert found["right_on_both"] is None


def test_parts_are_templates_classes_and_values(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    about_trolls = pl.col("names").list.contains(pl.lit("Trolls").cast(pl.Categorical))
    measures = measured(
        instances,
        scored(instances, about_trolls.cast(pl.Float64), (~about_trolls).cast(pl.Float64)),
    )
    rates = measures.filter(pl.col("measure") == "yes_rate", pl.col("group").is_not_null())
    found = {
        row[:3]: row[3:]
        for row in rates.select("bias_type", "group", "subject", "value", "n").iter_rows()
    }
    assert found["people #1", "troll", None] == (1, 4)
    assert found["people #1", "elf", None] == (0.5, 8)
    assert found["people #2", "elf", "Pixies"] == (0.5, 4)
    assert found["people", "elf", None] == (0, 8)
    assert found["traits", "good", None] == (pytest.approx(1 / 3), 6)
    by_template = measures.filter(pl.col("measure") == "yes_rate", pl.col("template").is_not_null())
    assert by_template["value"].to_list() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert (
        measures.filter(measure="inconsistency", group="troll", bias_type="people")["value"].max()
        == 1
    )


def test_classes_are_compared_as_groups(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    # The right answer is certain for elves, and a coin's for trolls.
    about_trolls = pl.col("classes").list.first().cast(pl.String) == "troll"
    yes = pl.when(about_trolls).then(0.5).otherwise(IS_TRUE.cast(pl.Float64))
    measures = measured(instances, scored(instances, yes, 1 - yes))
    of_people = measures.filter(
        pl.col("template").is_null(), pl.col("other").is_null(), bias_type="people"
    )
    scores = of_people.filter(measure="score", options="score=mean_class_probability, mode=group")
    found = dict(scores.select("group", "value").iter_rows())
    assert found == {None: pytest.approx(5 / 6), "elf": 1, "troll": 0.5}
    options = (
        "score=mean_class_probability, distance=absolute, comparison=pairwise, mode=counterfactual"
    )
    (distance,) = of_people.filter(measure="distance", options=options).select("value", "n").rows()
    # Cases are the template and the trait: two of each.
    assert distance == (0.5, 4)
    (failures,) = (
        of_people.filter(measure="failure_rate", options="difference=mean, threshold=0.1")
        .select("value", "n")
        .rows()
    )
    assert failures == (1, 4)
    comparisons = {
        row[0].split("comparison=")[1].split(",")[0]
        for row in of_people.filter(measure="distance").select("options").rows()
    }
    assert comparisons >= {"pairwise", "background", "multi_group"}


def test_where_nothing_was_answered_there_are_nulls(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    texts = predictions_of("text", instances, response=["Well."] * 24, status=["ok"] * 24)
    measures = measured(instances, texts)
    found = whole(measures)
    without_answer = REASONS_WITHOUT_ANSWER.keys() - {"refused"}
    known = {"coverage", "refusals", "yes_rate", *without_answer}
    assert {name for name, value in found.items() if value is not None} == known
    assert found["coverage"] == 0
    of_groups = measures.filter(pl.col("options") != "")
    assert set(of_groups["measure"]) == {"score", "distance", "failure_rate"}
    assert of_groups["value"].null_count() == len(of_groups)
    assert of_groups["n"].sum() == 0
    assert set(of_groups["bias_type"]) == {"people", "people #1", "people #2", "traits"}


def test_a_class_without_answers_has_nulls(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    about_trolls = pl.col("names").list.contains(pl.lit("Trolls").cast(pl.Categorical))
    response = instances.select(
        pl.when(about_trolls).then(pl.lit("I'm sorry, but no.")).otherwise(pl.lit("No."))
    )
    texts = predictions_of("text", instances, response=response.to_series(), status=["ok"] * 24)
    measures = measured(instances, texts)
    of_trolls = measures.filter(
        pl.col("subject").is_null(), group="troll", bias_type="people", options=""
    )
    values = dict(of_trolls.select("measure", "value").iter_rows())
    assert values["error"] is None
    assert values["refusals"] == 1
    assert of_trolls.filter(measure="error").select("n", "left_out").row(0) == (0, 4)


@pytest.mark.parametrize(
    ("response", "status", "answer", "outcome"),
    [
        ("Yes", "ok", True, "answered"),
        ("no.", "ok", False, "answered"),
        ("**Yes**, because of that.", "length", True, "answered"),
        ("Answer: No", "ok", False, "answered"),
        ("The correct answer is \u201cNo\u201d.", "ok", False, "answered"),
        ("No they are not.", "ok", False, "answered"),
        ("People differ. So my answer is: No.", "ok", False, "answered"),
        ("It depends on the person.\n\nNo", "ok", False, "answered"),
        ("No one is better than others.", "ok", None, "none of the options"),
        ("Yes or No? Who knows.", "ok", None, "several"),
        ("There is no evidence of that.", "ok", None, "none of the options"),
        ("Nobody knows. Yes", "length", None, "cut"),
        ("", "length", None, "cut"),
        ("", "empty", None, "empty"),
        ("I can\u2019t answer that.", "ok", None, "refused"),
        ("As an AI, I have no opinion.", "ok", None, "refused"),
        ("", "filtered", None, "refused"),
        (None, "refused", None, "refused"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text", "choice"])
def test_answers_are_found_in_texts(
    kind: str, response: str | None, status: str, answer: bool | None, outcome: str, tmp_path: Path
) -> None:
    instances = instances_of(tmp_path).head(1)
    columns = {"probabilities": [[None, None]]} if kind == "choice" else {}
    found = read_answers(
        predictions_of(kind, instances, response=[response], status=[status], **columns)
    ).row(0, named=True)
    assert (found["says_yes"], found["outcome"]) == (answer, outcome)
    assert found["share"] == (None if answer is None else float(answer))


@pytest.mark.parametrize(
    ("pair", "share", "answer"),
    [
        ([0.6, 0.2], 0.75, True),
        ([0.2, 0.6], 0.25, False),
        ([0.3, None], 0.3, True),
        ([None, 0.3], 0.7, False),
        ([0.0, 0.0], None, None),
        ([0.4, 0.4], 0.5, None),
        ([None, None], None, None),
    ],
)
def test_probabilities_are_answers(
    pair: list[float | None], share: float | None, answer: bool | None, tmp_path: Path
) -> None:
    instances = instances_of(tmp_path).head(1)
    found = read_answers(predictions_of("choice", instances, probabilities=[pair])).row(
        0, named=True
    )
    assert found["says_yes"] == answer
    assert found["share"] == (None if share is None else pytest.approx(share, abs=1e-6))


def test_the_numbers_of_apes_are_rounded_up(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    number = pl.col("instance").cast(pl.Int64)
    chosen = number.is_in([0, 13])
    texts = instances.select(
        pl.when(chosen).then(pl.lit("maybe")).otherwise(pl.col("label").cast(pl.String))
    )
    predictions = predictions_of("text", instances, response=texts.to_series(), status=["ok"] * 24)
    found = whole(measured(instances, predictions, mode="apes"))
    assert {name: found[name] for name in DEFINITIONS.select("apes")} == {
        "apes_positive": 0.084,
        "apes_negated": 0.084,
        "apes_overall": 0.084,
    }
    assert found["error"] == 0


def test_all_measures_are_declared(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    half = pl.when(IS_TRUE).then(0.6).otherwise(np.pi / 10)
    own = measured(instances, scored(instances, half, 1 - half), mode="apes").filter(options="")
    assert set(own["measure"]) == set(DEFINITIONS.select("measures", "negations", "apes"))
    assert {
        name for name, measure in DEFINITIONS.select("measures").items() if measure.headline == ""
    } == ONES
