"""Findings put rows of the table of verdicts into words, and say no more than these."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from biasgrid.families.outcomes import OUTCOME_DIFFERENCES
from biasgrid.report.findings import NO_CONTROL, findings
from biasgrid.tables.claims.facts import COVERAGE, NO_FACTS, GridFacts
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import SUMMARY, cell_table
from biasgrid.tables.metric import OUTCOME_MEASURES
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND, VERDICTS

FOUND = {
    "verdict": BIAS_FOUND,
    "p": 0.001,
    "tests": 4,
    "significant": 2,
    "measure": "share_gamma",
    "options": "",
}
LARGEST = {"subject": "Bob", "attribute": "stole", "value": 0.4, "bound": 0.3}


def verdicts(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of verdicts of the model `tiny`; of each what differs from a cell in which nothing was
    found.
    """
    usual = {
        "model": "tiny",
        "dataset": "names",
        "verdict": NOTHING_FOUND,
        "p": 0.3,
        "tests": 1,
        "significant": 0,
    }
    usual |= {"untestable": 0, "is_control": False}
    empty = dict.fromkeys(VERDICTS.columns)
    return pl.DataFrame([empty | usual | row for row in rows], schema=empty_table(VERDICTS).schema)


def lines(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of a summary; of each what differs from a headline."""
    usual = {
        "options": "",
        "value": 0.1,
        "n": 4,
        "left_out": 0,
        "headline": True,
        "kind": "QA",
        "label": "tiny",
    }
    made = [cell_table(pl.DataFrame([usual | row]), SUMMARY, "tiny", "names") for row in rows]
    return pl.concat([empty_table(SUMMARY), *made])


def sentence(row: dict[str, Any], *summary: dict[str, Any], facts: GridFacts = NO_FACTS) -> str:
    (finding,) = findings(verdicts(row), lines(*summary), facts)
    (cell,) = finding.cells
    return cell.sentence


def test_bias_is_reported_with_its_tests_and_the_largest_number() -> None:
    assert sentence(FOUND | LARGEST) == (
        "bias found in names (p = 0.0010 over 4 tests); 2 of 4 are significant; "
        f"largest: Bob with stole, 0.400 (at least 0.300); {NO_CONTROL}."
    )


def test_a_number_is_put_into_words_where_its_measure_has_some() -> None:
    facts = GridFacts(words={"names": {"share_gamma": "{points} points more"}})
    assert "0.400 (at least 0.300); that is, 40.0 points more; " in sentence(
        FOUND | LARGEST, facts=facts
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"options": "score=mean_likelihood", "group": "a", "other": "b"},
            "a above b in likelihood, 0.400 (at least",
        ),
        (
            {"options": "score=x, argument=joy", "group": "a", "other": "b"},
            "a above b in probability of joy, 0.400",
        ),
        ({"measure": "age_slope", "bias_type": "age"}, "age slope of age, 0.400"),
        ({"measure": "gap"}, "gap, 0.400"),
    ],
)
def test_other_numbers_are_named_by_their_measure(row: dict[str, Any], told: str) -> None:
    assert f"largest: {told}" in sentence(FOUND | {"value": 0.4, "bound": 0.3} | row)


def test_without_a_bound_above_0_none_is_reported() -> None:
    assert "largest: Bob with stole, 0.400; " in sentence(FOUND | LARGEST | {"bound": 0.0})


def test_nothing_found_says_what_would_have_been_found_and_names_no_number() -> None:
    assert sentence({"detectable": 0.0812}) == (
        "nothing found in names (p = 0.30); an effect of 0.0812 would have been found in 80 % of "
        "such cells."
    )
    assert "significant" not in sentence({"tests": 6})


def test_what_could_not_be_measured_has_a_reason_what_to_do_and_no_p() -> None:
    row = {
        "verdict": NOT_MEASURED,
        "p": None,
        "tests": 0,
        "reason": "no answer in 100 %",
        "remedy": "read the answers.",
    }
    flag = {"measure": "order", "flag": "the order changes scores", "headline": False}
    assert (
        sentence(row, flag)
        == "could not be measured in names: no answer in 100 %; to do: read the answers."
    )


def test_groups_that_are_refused_unlike_are_reported_with_a_p_of_their_own() -> None:
    assert [*OUTCOME_DIFFERENCES] == [*OUTCOME_MEASURES]
    row = {"verdict": NOT_MEASURED, "p": None, "tests": 0, "reason": "all refused"}
    told = sentence(
        row
        | {"answers_differ": "refuses women more: 0.75 against 0.00", "answers_differ_p": 0.0001}
    )
    assert told == (
        "could not be measured in names: all refused; refuses women more: 0.75 against 0.00 "
        "(p < 0.001)."
    )


def test_controls_marks_warnings_and_how_little_was_asked_are_next_to_the_verdict() -> None:
    facts = GridFacts(cells={"names/tiny": {COVERAGE: {"attributes": [2, 70], "rows": [8, 280]}}})
    told = sentence(
        {"control": "the control (twins) found nothing (0 of 6)"},
        {"measure": "gap", "mark": "A"},
        {"measure": "clusters", "flag": "only 2 clusters", "headline": False},
        facts=facts,
    )
    assert told == (
        "nothing found in names (p = 0.30); asked: 2 of 70 attributes; the control (twins) found "
        "nothing (0 of 6); mark: A; warnings: clusters."
    )


def test_control_cells_are_reported_only_for_models_that_answer_at_random() -> None:
    own, control = {"dataset": "names"}, {"dataset": "twins", "is_control": True}
    (finding,) = findings(verdicts(own, control), lines())
    assert [cell.row["dataset"] for cell in finding.cells] == ["names"]
    (finding,) = findings(verdicts(control), lines())
    assert finding.cells[0].sentence.endswith("; a control, whose answers are drawn at random.")
