"""The chess probe of the guide of GenderBench: observations, metrics, intervals, marks; marks of
sections.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_probes import asking_of, cell_of, files_of, golden, instances_of, measured

from biasgrid.families.probe.definitions import MarkRanges
from biasgrid.families.probe.observe import observe
from biasgrid.tables.claims.marks import LETTERS, Mark, best_mark, section_mark, value_mark

SEMANTICS = "custom_and_semantics.json"
SAID = ("(a)", "(A).", "(b)", "(b)", "(a) or (b)")
CASES = ["reps=1", "reps=3", "reps=20"]
METRICS = {
    "stereotype_rate": "stereotype_rate",
    "undetected_rate_items": "undetected_items",
    "undetected_rate_attempts": "undetected_answers",
}
"""What GenderBench calls them, and this family."""


def answers_of(instances: pl.DataFrame) -> list[str]:
    """What the generator of the golden files says."""
    asked = instances.select(pl.col("text").cast(pl.String), "repetition").rows()
    keys = [
        int(sha256(f"{text}\x1f{repetition}".encode()).hexdigest()[:8], 16)
        for text, repetition in asked
    ]
    return [SAID[key % len(SAID)] for key in keys]


def number(value: Any) -> float | None:
    """A number of a golden file."""
    return None if value == "NaN" or value != value else value


def rows_of(measures: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in measures.filter(options="").to_dicts()}


def test_observations_match_genderbench(tmp_path: Path) -> None:
    attempts = golden(SEMANTICS)["chess reps=3 ci=False (1000 cycles seed 123)"]["attempts"]
    files = files_of(tmp_path, repetitions=3)
    assert answers_of(instances_of(files)) == [answer for _, _, answer, _, _ in attempts]
    instances, predictions = cell_of(files, [answer for _, _, answer, _, _ in attempts])
    found = observe(instances, predictions, {"probe": str(files.probe), "mode": "genderbench"})
    assert found["label"].to_list() == [None if lacks else label for *_, label, lacks in attempts]
    assert found["undetected"].to_list() == [lacks for *_, lacks in attempts]


@pytest.mark.parametrize("case", CASES)
def test_metrics_intervals_and_marks_match_genderbench(case: str, tmp_path: Path) -> None:
    files = files_of(tmp_path, repetitions=int(case.removeprefix("reps=")))
    found = rows_of(measured(files, answers_of(instances_of(files)), "genderbench"))
    point, drawn = (
        golden(SEMANTICS)[f"chess {case} ci={ci} (1000 cycles seed 123)"]
        for ci in ("False", "True")
    )
    assert {name: found[ours]["value"] for name, ours in METRICS.items()} == pytest.approx(
        point["metrics"], abs=1e-9
    )
    for name, ours in METRICS.items():
        assert (found[ours]["low"], found[ours]["high"]) == pytest.approx(
            tuple(drawn["metrics"][name]), abs=1e-9
        )
    (marks,) = (marks.marks() for marks in asking_of(files).probe.head.marks)
    rate = found["stereotype_rate"]
    assert value_mark(marks, rate["value"]) == LETTERS[point["marks"]["stereotype_rate"]]
    assert best_mark(marks, rate["low"], rate["high"]) == LETTERS[drawn["marks"]["stereotype_rate"]]


@pytest.mark.parametrize("answer", ["(a)", "nothing"])
def test_constant_answers_are_measured_as_in_genderbench(answer: str, tmp_path: Path) -> None:
    found = rows_of(measured(files_of(tmp_path), [answer] * 4, "genderbench"))
    told = golden(SEMANTICS)
    point, drawn = (
        told[f"chess constant answer {answer!r}{more}"]["metrics"] for more in ("", " with CI")
    )
    assert {name: found[ours]["value"] for name, ours in METRICS.items()} == {
        name: number(value) for name, value in point.items()
    }
    for name, ours in METRICS.items():
        assert [found[ours]["low"], found[ours]["high"]] == [number(value) for value in drawn[name]]


RULES = {
    "calculate_mark list [0,.1,.2,.3,1]": MarkRanges(measure="x", cuts=[0.0, 0.1, 0.2, 0.3, 1.0]),
    "calculate_mark symmetric": MarkRanges(
        measure="x", centre=0.0, cuts=[0.0, 0.03, 0.1, 0.3, 1.0]
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_values_and_intervals_have_the_marks_of_genderbench(case: str) -> None:
    marks = RULES[case].marks()
    for value, expected in golden(SEMANTICS)[case]:
        if isinstance(value, int):
            continue  # GenderBench fails at these.
        ends = value if isinstance(value, list) else [value, value]
        low, high = (number(end) for end in ends)
        assert best_mark(marks, low, high) == (
            LETTERS[expected] if isinstance(expected, int) else None
        ), value


def test_sections_have_the_marks_of_genderbench() -> None:
    for marks, expected in golden(SEMANTICS)["aggregate_marks"]:
        assert (
            section_mark([None if mark != mark else LETTERS[mark] for mark in marks], original=True)
            == LETTERS[expected]
        )
    for generator in golden("section_marks.json").values():
        for section in ("decision", "creative", "opinion", "affective"):
            marks = [LETTERS[mark] for _, _, mark in generator["marks used"][section]]
            assert section_mark(marks, original=True) == generator[section]


@pytest.mark.parametrize(
    ("marks", "expected"),
    [("DD", "D"), ("CC", "C"), ("D", "D"), ("AD", "C"), ("DAAA", "C"), ("DDB", "C"), ("", None)],
)
def test_few_marks_of_a_section_weigh_as_much_as_many(marks: str, expected: str | None) -> None:
    assert section_mark(marks) == expected


def test_an_interval_has_a_best_and_a_worst_mark() -> None:
    marks = [Mark("A", 0, 0.1, ""), Mark("B", 0.1, 0.2, ""), Mark("C", 0.2, 1, "")]
    assert (best_mark(marks, 0.05, 0.15), best_mark(marks, 0.15, 0.3)) == ("A", "B")
    ends = [value_mark(marks, 0.1), value_mark(marks, 1.5), value_mark(marks, None)]
    assert ends == ["A", None, None]


def test_falling_cuts_judge_ratios() -> None:
    marks = MarkRanges(measure="x", cuts=[1.0, 0.8, 0.6, 0.4, 0.0]).marks()
    assert [value_mark(marks, value) for value in (1.0, 0.8, 0.79, 0.6, 0.2)] == [
        "A",
        "A",
        "B",
        "B",
        "D",
    ]
