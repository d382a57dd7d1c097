"""Faults and samples of rows of discrim-eval."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.config import parse_config
from biasgrid.families.decision.data import EXPECTED, Decision, DecisionFiles, Decisions, read
from biasgrid.families.decision.family import PROMPT
from biasgrid.families.decision.measures import expand
from biasgrid.families.sampling import Sample

ROWS = [
    {
        "filled_template": f"Approve {question} for a {age}-year-old {gender}?",
        "decision_question_id": question,
        "age": age,
        "gender": gender,
        "race": "white",
    }
    for question in range(4)
    for age in (20, 60)
    for gender in ("male", "female")
]


def files_of(
    folder: Path, rows: list[dict[str, Any]], sample: Sample | None = None, gender: str = "male"
) -> DecisionFiles:
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return DecisionFiles(folder / "rows.jsonl", PROMPT, None, (gender, "white"), sample)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": "old"}, "line 1, age: 'old'; expected a number of years"),
        ({"age": float("nan")}, "line 1, age: nan; expected a number of years"),
        ({"gender": None}, "line 1, gender: null; expected text"),
        ({"age": True}, "line 1, age: true; expected a number of years"),
        ({"filled_template": " "}, "line 1, filled_template: ' '; expected text"),
        (
            {"race": "wh\u200bite"},
            (
                "line 1, race: contains U+200B (ZERO WIDTH SPACE); expected visible characters, "
                "tabs and line breaks"
            ),
        ),
        (
            {"decision_question_id": True},
            "line 1, decision_question_id: true; expected a number or a text",
        ),
        (
            {"age": 60},
            (
                "line 3: question 0 about 60, male, white is already in line 1; expected each "
                "person once per question"
            ),
        ),
    ],
)
def test_faulty_rows_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    _, faults = read(files_of(tmp_path, [ROWS[0] | changes, *ROWS[1:]]))
    assert [str(fault).removeprefix(f"{tmp_path}/rows.jsonl, ") for fault in faults] == [message]


def test_a_reference_that_nobody_has_is_refused(tmp_path: Path) -> None:
    _, faults = read(files_of(tmp_path, ROWS, gender="man"))
    assert str(faults[0]).endswith(
        "expected `reference_gender` of the dataset to be one of female, male"
    )


def test_all_faults_are_reported_up_to_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    files = files_of(tmp_path, [ROWS[0] | {"race": ""}, *ROWS[1:]])
    with files.file.open("a") as file:
        file.write("{\n")
    assert [fault.where for fault in read(files)[1]] == ["line 1, race", "line 17"]


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    (fault,) = read(files_of(tmp_path, []))[1]
    assert (fault.problem, fault.expected) == ("no rows", EXPECTED)


def test_ages_are_numbers_in_a_table_of_text_too(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_csv(tmp_path / "rows.csv")
    decisions, faults = read(
        DecisionFiles(tmp_path / "rows.csv", PROMPT, None, ("male", "white"), None)
    )
    assert faults == []
    assert decisions.rows == read(files_of(tmp_path, ROWS))[0].rows


def test_a_digest_is_of_what_decides_the_instances(tmp_path: Path) -> None:
    files = files_of(tmp_path, ROWS)
    decisions = read(files)[0]
    compared = replace(decisions, files=replace(files, references=("female", "white")))
    assert compared.digest() == decisions.digest()
    others = [
        replace(decisions, files=replace(files, prompt="{decision}")),
        replace(decisions, files=replace(files, system="Decide.")),
        replace(decisions, files=replace(files, sample=Sample(units=2))),
        replace(decisions, rows=decisions.rows[::-1]),
    ]
    assert len({decisions.digest(), *(other.digest() for other in others)}) == 5


def test_a_sample_has_whole_questions(tmp_path: Path) -> None:
    decisions, faults = read(files_of(tmp_path, ROWS, Sample(units=2)))
    asked = pl.concat(expand(decisions).parts)
    assert faults == []
    assert (asked["template"].n_unique(), len(asked)) == (2, 8)


def test_a_dataset_needs_a_sample_from_so_many_instances_on(tmp_path: Path) -> None:
    model = {
        "kind": "Some",
        "label": "Some",
        "task": "text-generation",
        "checkpoint": "some/model",
        "revision": "main",
    }
    dataset = {"family": "decision", "title": "Some", "file": "rows.jsonl"}
    run = {"models": ["some"], "datasets": ["some"]}
    grid = parse_config(
        {"models": {"some": model}, "datasets": {"some": dataset}, "run": run}, "c.yaml"
    )
    rows = tuple(
        Decision("Approve?", str(number), 20.0, "male", "white") for number in range(100_001)
    )
    lists = Decisions(files_of(tmp_path, []), rows)
    (fault,) = grid.family("some").list_faults(grid, "c.yaml", "some", "decisions", lists)
    assert fault.problem == "none, although the dataset asks generative models 100,001 instances"
