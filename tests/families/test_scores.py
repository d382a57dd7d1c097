"""Scores that say nothing: those that cannot move, and those that are the same whatever the text
is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from small_tables import predictions_of

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.validity import (
    CheckedAnswers,
    checks_of_cell,
    constant_scores,
    few_names,
    same_text,
    saturated_scores,
)

TEXTS = ["Ann is a nurse.", "Bea is a pilot.", "Cem is kind.", "Dan is grim."]


def asked(**columns: list[str]) -> pl.DataFrame:
    """Instances of four texts, and columns beside them."""
    told = {
        "instance": pl.Series(range(len(TEXTS)), dtype=pl.UInt32),
        "text": TEXTS,
        "text_pair": [None] * len(TEXTS),
    }
    return pl.DataFrame(told | columns).with_columns(key=pl.col("instance").cast(pl.UInt64))


def found(instances: pl.DataFrame, kind: str = "choice", **columns: Any) -> dict[str, float]:
    predictions = predictions_of(kind, instances, **columns)
    checks = [
        *saturated_scores(predictions.lazy()),
        *constant_scores(instances.lazy(), predictions.lazy()),
    ]
    return {check.measure: check.value for check in checks}


@pytest.mark.parametrize(
    ("probabilities", "share"),
    [
        ([[0, 1], [1, 0], [0, 1], [1, 0]], 1),
        ([[0, 1], [1, 0], [0.5, 0.5], [1e-30, 1]], 0.5),
        ([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], 0),
        # What is 0 for all candidates was not read: other flags say so.
        ([[0, 0], [1, 0], [0.5, 0.5], [0, 0]], 0.5),
        ([[0, 0]] * 4, None),
        ([[0, 1, 0], [1, 0, None], [0, 1, 0.5], [1, 1, 0]], 0.75),
    ],
)
def test_saturated_scores_are_exactly_0_and_1(
    probabilities: list[list[float | None]], share: float | None
) -> None:
    probabilities = [
        [None if value is None else float(value) for value in row] for row in probabilities
    ]
    assert found(asked(), probabilities=probabilities).get("saturated_scores") == share


def test_a_classifier_whose_weights_are_too_large_is_saturated() -> None:
    logits = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32) * np.float32(1e6)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores = (shifted / shifted.sum(axis=1, keepdims=True)).tolist()
    assert found(asked(), probabilities=scores)["saturated_scores"] == 1


@pytest.mark.parametrize(
    ("columns", "probabilities", "share"),
    [
        ({}, [[0.3, 0.7]] * 4, 1),
        ({}, [[0.3, 0.7]] * 3 + [[0.3, 0.7000001]], 0),
        # Of other candidates there are other scores; each pair is asked about two texts.
        (
            {"candidate1": list("aabb"), "candidate2": list("bbaa")},
            [[0.3, 0.7]] * 2 + [[0.7, 0.3]] * 2,
            1,
        ),
        (
            {"candidate1": list("aabb"), "candidate2": list("bbaa")},
            [[0.3, 0.7]] * 2 + [[0.7, 0.3], [0.6, 0.4]],
            0.5,
        ),
        # Each is asked once: nothing can be said.
        ({"candidate1": list("abcd")}, [[0.3]] * 4, 0),
        # The same text again has the same scores.
        ({"text": ["Ann is a nurse."] * 4}, [[0.3, 0.7]] * 4, 0),
        ({"system": ["a", "b", "c", "d"], "text": ["Ann is a nurse."] * 4}, [[0.3, 0.7]] * 4, 1),
    ],
)
def test_constant_scores_do_not_depend_on_the_text(
    columns: dict[str, list[str]], probabilities: list[list[float]], share: float
) -> None:
    assert found(asked(**columns), probabilities=probabilities)["constant_scores"] == share


def test_ends_of_answers_count_next_to_their_starts() -> None:
    same, other = [[0.25, 0.5]] * 4, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]]
    candidates = {"candidate1": ["a"] * 4, "candidate2": ["b"] * 4}
    assert found(asked(**candidates), "span", starts=same, ends=same)["constant_scores"] == 1
    assert found(asked(**candidates), "span", starts=same, ends=other)["constant_scores"] == 0


def test_scores_that_were_parsed_from_responses_are_0_and_1_by_nature() -> None:
    said = {"probabilities": [[1.0, 0.0]] * 4}
    assert found(asked(), scored_by=["parsed"] * 4, **said) == {}
    assert found(asked(), scored_by=["logits"] * 4, **said) == {
        "saturated_scores": 1,
        "constant_scores": 1,
    }


@pytest.mark.parametrize(
    ("said", "share"),
    [(["No."] * 4, 1), (["No.", " No.", "Yes.", ""], 2 / 3), (["a", "b", "c", "d"], 0.25)],
)
def test_the_commonest_answer_is_counted(said: list[str], share: float) -> None:
    answers = predictions_of("text", asked(), response=said, status=["ok"] * 4)
    (check,) = same_text(answers.lazy())
    assert check.value == pytest.approx(share)
    assert check.flag == repr(min(said if share < 0.5 else ["No."]))


def test_answers_without_text_have_no_commonest_one() -> None:
    assert (
        list(
            same_text(
                predictions_of("text", asked(), response=[""] * 4, status=["empty"] * 4).lazy()
            )
        )
        == []
    )
    assert (
        list(
            same_text(
                predictions_of("choice", asked(), probabilities=[[1.0]] * 4)
                .select("instance")
                .lazy()
            )
        )
        == []
    )


def test_names_are_counted_where_several_represent_a_group() -> None:
    faiths = {"bias_type": ["faith"] * 5, "group": list("aaabb"), "name": list("12312")}
    countries = {"bias_type": ["country"] * 2, "group": ["c", "d"], "name": ["c", "d"]}
    (check,) = few_names(pl.concat([pl.DataFrame(faiths), pl.DataFrame(countries)]))
    assert (check.value, check.n, check.flag) == (2, 2, "b")
    assert list(few_names(pl.DataFrame(countries))) == []


def test_a_cell_has_the_checks_that_its_family_names_and_gives_something_to_look_at() -> None:
    predictions = predictions_of("choice", asked(), probabilities=[[1.0, 0.0]] * 4)
    flags = ["one_answer", "equal_scores", "saturated_scores", "few_names"]
    cell = MeasuredCell(
        asked().lazy(), predictions.lazy(), pl.DataFrame(), pl.DataFrame(), {}, flags
    )
    answers = CheckedAnswers(
        scores=np.array([[1.0, 0.0]] * 4), labels=pl.DataFrame({"name": ["Yes"], "value": [1.0]})
    )
    found = {check.measure: check.value for check in checks_of_cell(cell, answers)}
    assert found == {"saturated_scores": 1, "equal_scores": 0, "one_answer": 1}
