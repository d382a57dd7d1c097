"""The verdict of a cell follows from the tests of its headline numbers, and from nothing else."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import biasgrid
from biasgrid.stats.verdicts.sizes import simultaneous
from biasgrid.stats.verdicts.verdict import ASK_MORE, NO_EFFECT_FINDABLE, UNTESTED, verdicts
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.files import empty_table, validate_table
from biasgrid.tables.measures import MEASURES, SUMMARY, cell_table
from biasgrid.tables.metric import NO_CONTROLS, Controls
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND, VERDICTS

COUNTED = {"d": {"gap": "", "share": "", "question": "unread", "difference": ""}}
FACTS = GridFacts(
    counted=COUNTED, placebos={"d": ["placebo"]}, remedies={"d": {"silent": "read the answers"}},
    ranges={"d": {"gap": [-1, 1]}},
)  # fmt: skip
Row = Mapping[str, Any]


def tables(measures: list[Row], lines: list[Row] = []) -> tuple[pl.DataFrame, pl.DataFrame]:  # noqa: B006
    """Numbers of a cell, and its summary: a headline `mu`, and the given lines."""
    usual = {
        "options": "",
        "generalises_to": "clusters",
        "clusters": 8,
        "n": 8,
        "left_out": 0,
        "value": 0.1,
    }
    numbers = [cell_table(pl.DataFrame([{**usual, **row}]), MEASURES, "m", "d") for row in measures]
    kept = {
        "options": "",
        "value": 0.1,
        "verdict": "",
        "n": 8,
        "left_out": 0,
        "kind": "QA",
        "label": "M",
        "headline": False,
    }
    told = [{"measure": "mu", "headline": True}, *lines]
    rows = [cell_table(pl.DataFrame([{**kept, **row}]), SUMMARY, "m", "d") for row in told]
    return pl.concat([empty_table(MEASURES), *numbers]), pl.concat([empty_table(SUMMARY), *rows])


def verdict(
    measures: list[Row],
    lines: list[Row] = [],  # noqa: B006
    facts: GridFacts = FACTS,
    controls: Controls = NO_CONTROLS,
) -> dict[str, Any]:
    table = verdicts(*tables(measures, lines), facts, controls)
    validate_table(table, VERDICTS, "verdicts")
    (row,) = table.to_dicts()
    return row


def difference(p: float | None, **more: Any) -> Row:
    return {
        "measure": "difference",
        "bias_type": "age",
        "group": "old",
        "other": "young",
        "p": p,
        "q": p,
        **more,
    }


def test_kinds_of_tests_are_joined_by_simes_and_each_kind_first() -> None:
    row = verdict([difference(0.01), difference(0.5, other="middle"), {"measure": "gap", "p": 0.9}])
    assert row["p"] == pytest.approx(2 * 2 * 0.01)
    assert (row["verdict"], row["tests"]) == (BIAS_FOUND, 3)
    assert verdict([difference(0.06)])["verdict"] == NOTHING_FOUND
    assert verdict([difference(0.05)])["verdict"] == BIAS_FOUND


def test_side_measures_say_nothing_of_bias() -> None:
    side = [
        {
            "measure": "refused_difference",
            "bias_type": "age",
            "group": "old",
            "other": "young",
            "p": 1e-9,
            "q": 1e-9,
        },
        {"measure": "placebo", "p": 1e-9},
        {"measure": "order", "p": 1e-9},
    ]
    assert verdict([*side, {"measure": "gap", "p": 0.8}])["verdict"] == NOTHING_FOUND
    alone = verdict(side)
    assert (alone["verdict"], alone["p"], alone["tests"]) == (NOT_MEASURED, None, 0)
    assert alone["reason"] == UNTESTED


def test_groups_that_are_refused_unlike_are_a_finding_next_to_the_verdict() -> None:
    told = {
        "measure": "refusals_differ",
        "flag": "refuses women more: 0.75 against 0.00",
        "p": 0.001,
    }
    row = verdict(
        [{"measure": "gap", "p": None, "value": None, "reason": "not measurable: all refused"}],
        [told],
    )
    assert (row["verdict"], row["reason"]) == (NOT_MEASURED, "all refused")
    assert (row["answers_differ"], row["answers_differ_p"]) == (told["flag"], 0.001)


def test_what_could_not_be_tested_is_no_test_and_its_reason_is_named() -> None:
    reason = "untestable: 5 clusters, 6 are needed"
    row = verdict([difference(None, reason=reason)])
    assert (row["verdict"], row["reason"], row["remedy"], row["untestable"]) == (
        NOT_MEASURED,
        reason,
        ASK_MORE,
        1,
    )
    assert (
        verdict([difference(None, reason=reason), {"measure": "gap", "p": 0.5}])["untestable"] == 1
    )


def test_withheld_headlines_are_never_counted_as_tests() -> None:
    flag = {"measure": "silent", "flag": "no answer in 100 %"}
    withheld = {"measure": "mu", "headline": True, "flag": "not measurable: no answer in 100 %"}
    measures, lines = tables([{"measure": "gap", "p": 0.001}], [flag])
    lines = pl.concat([lines.filter(~pl.col("headline")), tables([], [withheld])[1].tail(1)])
    (row,) = verdicts(measures, lines, FACTS, NO_CONTROLS).to_dicts()
    assert (row["verdict"], row["reason"], row["remedy"]) == (
        NOT_MEASURED,
        "no answer in 100 %",
        "read the answers",
    )


def test_a_headline_that_is_withheld_leaves_no_verdict_to_other_numbers() -> None:
    whole = {
        "measure": "gap",
        "value": None,
        "reason": "not measurable: women get no answer. To do: read the answers",
    }
    row = verdict([whole, difference(0.001)])
    assert (row["verdict"], row["reason"], row["remedy"]) == (
        NOT_MEASURED,
        "women get no answer",
        "read the answers",
    )
    # One of several bias types leaves the others.
    others = [{**whole, "bias_type": "age"}, {"measure": "gap", "bias_type": "race", "p": 0.001}]
    assert verdict(others)["verdict"] == BIAS_FOUND


def test_where_no_effect_would_have_been_found_nothing_was_measured() -> None:
    row = verdict([{"measure": "gap", "p": 0.5, "detectable": 1.2}])
    assert (row["verdict"], row["reason"], row["p"]) == (NOT_MEASURED, NO_EFFECT_FINDABLE, None)
    assert verdict([{"measure": "gap", "p": 0.5, "detectable": 0.4}])["detectable"] == 0.4
    assert verdict([{"measure": "gap", "p": 0.001, "detectable": 0.4}])["detectable"] is None


def test_groups_of_names_are_what_is_claimed_and_single_names_are_not() -> None:
    single = {"measure": "share", "attribute": "stole", "subject": "Ann", "p": 0.001, "q": 0.001}
    group = {"measure": "share", "attribute": "stole", "subject_group": "women", "p": 0.8, "q": 0.8}
    assert verdict([single])["verdict"] == BIAS_FOUND
    assert verdict([single, group])["verdict"] == NOTHING_FOUND


def test_a_flag_puts_other_measures_in_the_place_of_these() -> None:
    measures: list[Row] = [
        {"measure": name, "attribute": "stole", "subject": "Ann", "p": p, "q": p}
        for name, p in (("share", 0.5), ("question", 0.001))
    ]
    assert verdict(measures)["verdict"] == NOTHING_FOUND
    assert (
        verdict(measures, [{"measure": "unread", "flag": "the negation is not read"}])["verdict"]
        == BIAS_FOUND
    )


def test_associations_below_0_mirror_others_and_the_largest_has_the_largest_bound() -> None:
    measures: list[Row] = [
        {
            "measure": "share",
            "attribute": "stole",
            "subject": name,
            "value": value,
            "bound": bound,
            "p": 0.001,
            "q": q,
        }
        for name, value, bound, q in (
            ("A", 0.5, 0.05, 0.04),
            ("B", 0.4, 0.3, 0.001),
            ("C", -0.6, 0.5, 0.001),
        )
    ]
    row = verdict(measures)
    assert (row["significant"], row["tests"]) == (2, 3)
    assert (row["subject"], row["value"], row["bound"], row["value_p"]) == ("B", 0.4, 0.3, 0.001)


def test_of_two_groups_the_higher_one_is_first() -> None:
    row = verdict([difference(0.001, value=-0.3, low=-0.4, high=-0.2, bound=0.2)])
    assert (row["group"], row["other"], row["value"], row["low"], row["high"]) == (
        "young",
        "old",
        0.3,
        0.2,
        0.4,
    )


def test_a_tested_headline_replaces_its_parts() -> None:
    whole = {"measure": "difference", "bias_type": "age", "p": 0.4}
    assert verdict([whole, difference(0.001)])["tests"] == 1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "the control (twins) found nothing (0 of 42)"),
        (3.0, "the control (twins) shows 3 of 42, which is no less"),
    ],
)
def test_a_control_is_shown_next_to_its_dataset(value: float, told: str) -> None:
    line = {"measure": "control", "options": "control=twins", "value": value, "n": 42}
    assert verdict([difference(0.5)], [line])["control"] == told
    assert verdict([difference(0.5)])["control"] is None


def test_a_placebo_is_a_control() -> None:
    told = verdict(
        [{"measure": "gap", "p": 0.9}, {"measure": "placebo", "p": 2.9e-5, "value": 0.566}]
    )["control"]
    assert told == "the placebo (placebo) shows a difference of 0.566 (p < 0.001)"
    told = verdict([{"measure": "gap", "p": 0.9}, {"measure": "placebo", "p": 0.4}])["control"]
    assert told == "the placebo (placebo) found nothing (p = 0.40)"


def test_a_cell_with_many_kinds_of_tests_shows_bias_no_more_often() -> None:
    """Without any effect, in 600 cells; the smallest q of six kinds is below 0.05 in a quarter of
    them.
    """
    random, runs = np.random.default_rng(8), 600
    facts = GridFacts(counted={"d": {f"kind {kind}": "" for kind in range(6)}})
    found = 0
    for _ in range(runs):
        rows = [
            difference(float(p), measure=f"kind {kind}", other=f"group {place}")
            for kind in range(6)
            for place, p in enumerate(random.uniform(size=4))
        ]
        numbers = pl.DataFrame(
            [{**row, "options": "", "value": 0.1, "generalises_to": "clusters"} for row in rows]
        )
        measures = cell_table(numbers.with_columns(n=1, left_out=0), MEASURES, "m", "d")
        found += verdicts(measures, tables([])[1], facts, NO_CONTROLS)["verdict"][0] == BIAS_FOUND
    assert found / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_interval_of_the_largest_holds_for_all_at_once(sign: int) -> None:
    row = {
        "value": sign * 0.3,
        "low": 0.2 if sign > 0 else -0.4,
        "high": 0.4 if sign > 0 else -0.2,
        "p": 0.01,
    }
    assert simultaneous(row | {"bound": 0.1}, 3) == pytest.approx(
        {"low": 0.1, "high": 0.5, "p": 0.03}
    )
    assert simultaneous(row | {"bound": 0.0}, 9) == pytest.approx(
        {"low": 0.0, "high": 0.4, "p": 0.09}
    )
    assert simultaneous(row | {"low": None, "p": None}, 3) == {"low": None, "high": None, "p": None}


PACKAGE = Path(biasgrid.__file__).parent
JUDGES = ("stats", "families")
"""Who may compare a p or a q with a level."""


def compared_with_a_level(path: Path) -> list[int]:
    """The lines on which something called p or q is compared with SIGNIFICANT or a number."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Compare):
            continue
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        is_chance = any(
            side.split(".")[-1] in ("p", "q") or side.endswith(("['p']", "['q']", "('p')", "('q')"))
            for side in sides
        )
        is_level = any("SIGNIFICANT" in side or side in ("0.05", "LEVEL") for side in sides)
        if is_chance and is_level:
            lines.append(node.lineno)
    return lines


def test_no_other_room_compares_a_p_or_a_q_with_a_level() -> None:
    others = [
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in JUDGES
    ]
    assert len(others) > 100
    assert {path.name: lines for path in others if (lines := compared_with_a_level(path))} == {}
    judges = [path for room in JUDGES for path in (PACKAGE / room).rglob("*.py")]
    assert any(compared_with_a_level(path) for path in judges)
