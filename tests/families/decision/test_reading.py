# ruff: noqa: E501 - messages stand here as users see them
"""What is refused in rows of discrim-eval, and which are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.families.decision.expand import expand
from biasgrid.families.decision.reading import DecisionFiles, read
from biasgrid.families.decision.section import PROMPT
from biasgrid.families.sampling import Sample

ROWS = [
    {"filled_template": f"Approve {question} for a {age}-year-old {gender}?", "decision_question_id": question, "age": age, "gender": gender, "race": "white"}
    for question in range(4)
    for age in (20, 60)
    for gender in ("male", "female")
]  # fmt: skip


def files_of(
    folder: Path, rows: list[dict[str, Any]], sample: Sample | None = None, gender: str = "male"
) -> DecisionFiles:
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return DecisionFiles(folder / "rows.jsonl", PROMPT, None, (gender, "white"), sample)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": "20"}, "line 1, age: '20'; expected a number of years"),
        ({"gender": None}, "line 1, gender: null; expected text"),
        ({"age": True}, "line 1, age: true; expected a number of years"),
        ({"filled_template": " "}, "line 1, filled_template: ' '; expected text"),
        (
            {"race": "wh\u200bite"},
            "line 1, race: contains U+200B (ZERO WIDTH SPACE); expected visible characters, tabs and line breaks",
        ),
        ({"decision_question_id": True}, "line 1, decision_question_id: true; expected a number or a text"),
        (
            {"age": 60},
            "line 3: question 0 about 60, male, white is already in line 1; expected each person once per question",
        ),
    ],
)
def test_faulty_rows_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    _, faults = read(files_of(tmp_path, [ROWS[0] | changes, *ROWS[1:]]))
    assert [str(fault).removeprefix(f"{tmp_path}/rows.jsonl, ") for fault in faults] == [message]


def test_a_reference_that_nobody_has_is_refused(tmp_path: Path) -> None:
    _, faults = read(files_of(tmp_path, ROWS, gender="man"))
    assert str(faults[0]).endswith("expected `reference_gender` of the dataset to be one of female, male")


def test_a_sample_has_whole_questions(tmp_path: Path) -> None:
    decisions, faults = read(files_of(tmp_path, ROWS, Sample(units=2)))
    asked = pl.concat(expand(decisions).parts)
    assert faults == []
    assert (asked["template"].n_unique(), len(asked)) == (2, 8)
