"""What speaks against a cell of cases."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from grouped_cells import measured
from scipy.stats import binomtest
from small_cases import cases_of

from biasgrid.families.counterfactual.family import FAMILY
from biasgrid.tables.completeness import flag_problem

Row = dict[str, Any]
NO, YES = [0.9, 0.1], [0.2, 0.8]


def checks(folder: Path, task: str, rows: list[Row], said: list[Row]) -> dict[str, Row]:
    """The validity flags of a cell, by name."""
    rows = [{"text": f"text {number}", **row} for number, row in enumerate(rows)]
    measures = measured(folder, task, cases_of(rows), said).measures
    names = [
        "unknown_tokens",
        "equal_scores",
        "improbable",
        "templates",
        "accuracy",
        "exchanged_labels",
    ]
    return {
        row["measure"]: row for row in measures.filter(pl.col("measure").is_in(names)).to_dicts()
    }


def classified(
    folder: Path, labels: list[int], answers: list[list[float]], **said: Any
) -> dict[str, Row]:
    """The flags of a classifier that answers a case each with two terms."""
    rows = [
        {"case": case, "template": case % 3, "label": label, "group": group, "term": f"{group} one"}
        for case, label in enumerate(labels)
        for group in ("old", "young")
    ]
    said_of_both = [{"probabilities": each, **said} for each in answers for _ in ("old", "young")]
    return checks(folder, "text-classification", rows, said_of_both)


def test_accuracy_is_balanced_and_its_interval_counts_cases(tmp_path: Path) -> None:
    found = classified(tmp_path, [0, 0, 0, 1], [NO, NO, YES, YES])["accuracy"]
    assert found["value"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["n"] == 4


def test_the_interval_is_wilsons(tmp_path: Path) -> None:
    found = classified(tmp_path, [0] * 5 + [1] * 5, [NO] * 4 + [YES] * 4 + [NO] * 2)["accuracy"]
    expected = binomtest(7, 10).proportion_ci(method="wilson")
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_classes_that_are_exchanged_are_noticed(tmp_path: Path) -> None:
    right = classified(tmp_path, [0, 0, 1, 1], [NO, NO, YES, NO])["exchanged_labels"]["value"]
    wrong = classified(tmp_path, [1, 1, 0, 0], [NO, NO, YES, NO])["exchanged_labels"]["value"]
    assert (right, wrong) == (-0.5, 0.5)


@pytest.mark.parametrize(("labels", "advice"), [([1, 1, 0, 0], True), ([1, 0, 0, 0], False)])
def test_that_classes_look_exchanged_is_said_if_it_is_hardly_by_chance(
    tmp_path: Path, labels: list[int], advice: bool
) -> None:
    found = classified(tmp_path, labels, [NO, NO, YES, NO])["exchanged_labels"]
    problem = flag_problem(found, FAMILY.flags["exchanged_labels"].limit)
    assert problem is not None
    assert "higher with two classes exchanged" in problem
    assert ("compare the model's `labels` with `id2label`" in problem) == advice


def test_a_single_class_cannot_be_exchanged(tmp_path: Path) -> None:
    assert "exchanged_labels" not in classified(tmp_path, [1, 1], [YES, YES])


def test_equal_classes_and_unknown_text_are_counted(tmp_path: Path) -> None:
    found = classified(tmp_path, [0, 1, 1, 0], [NO, [0.5, 0.5], YES, NO], unknown=True)
    assert found["equal_scores"]["value"] == 0.25
    assert (found["unknown_tokens"]["value"], found["unknown_tokens"]["n"]) == (1, 8)


def test_target_words_that_are_not_expected_are_counted(tmp_path: Path) -> None:
    rows = [
        {"case": case, "targets": targets}
        for case, targets in enumerate([["a", "b"], ["a", "b"], ["a"]])
    ]
    said = [
        {"probabilities": each, "ranks": [9, 9], "tokens": [1, 1]}
        for each in ([0.0001, 0.0002], [0.3, 0.3], [0.2, None])
    ]
    found = checks(tmp_path, "fill-mask", rows, said)
    assert found["improbable"]["value"] == pytest.approx(1 / 3)
    # A single target has nothing to be equal to.
    assert (found["equal_scores"]["value"], found["equal_scores"]["n"]) == (0.5, 2)
    assert "accuracy" not in found
