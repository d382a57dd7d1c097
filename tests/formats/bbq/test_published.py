# ruff: noqa: E501 - messages stand here as users see them
"""Answers that others have published, as precomputed responses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from small_items import files_of, four_lines, line

from biasgrid.base.faults import InputError
from biasgrid.formats.bbq.commands import responses_of

HEADER = "index,cat,model,ans0,ans1,ans2\n"
ROWS = "0,Age,large,2.5,-1,0\n1,Age,large,0,1.5,1\n2,Age,large,-3,-3,-4\n0,Age,small,0,0,1\n3,Age,large,0,0,7e-3\n"


def written(folder: Path, text: str = HEADER + ROWS) -> tuple[Path, Path]:
    """A table of logits, and the folder of its items."""
    (folder / "items").mkdir()
    files_of(folder / "items", four_lines())
    (folder / "df_bbq.csv").write_text(text)
    return folder / "df_bbq.csv", folder / "items"


def test_the_option_with_the_largest_logit_is_the_answer(tmp_path: Path) -> None:
    file, items = written(tmp_path)
    found = responses_of(file, "large", items)
    assert [(row["prompt"], row["response"]) for row in found] == [
        ("Age 0", "The grandmother"), ("Age 1", "The granddaughter"), ("Age 2", None), ("Age 3", "Unknown"),
    ]  # fmt: skip
    assert {(row["group"], row["repetition"]) for row in found} == {("Age", 0)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2.5", "high", "df_bbq.csv, line 2, ans0: 'high'; expected a finite number"),
        ("2.5", "nan", "df_bbq.csv, line 2, ans0: 'nan'; expected a finite number"),
        ("3,Age", "4,Age", "df_bbq.csv, line 6: there is no item Age 4; expected items of items"),
        ("3,Age", "1,Age", "df_bbq.csv, line 6: the answer of large to Age 1 is already in line 3; expected each item once per model"),
        (",large", ",larger", "df_bbq.csv: there is no model 'large' (did you mean 'larger'?); expected `--column` to be one of larger, small"),
        ("cat,", "category,", "df_bbq.csv, line 1: no column 'cat'; expected one of ans0, ans1, ans2, category, index, model"),
    ],
)  # fmt: skip
def test_faulty_tables_of_logits_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    file, items = written(tmp_path, (HEADER + ROWS).replace(old, new))
    with pytest.raises(InputError) as raised:
        responses_of(file, "large", items)
    assert message in [str(fault).replace(f"{tmp_path}/", "") for fault in raised.value.faults]


def test_logits_need_the_texts_of_options(tmp_path: Path) -> None:
    file, _ = written(tmp_path)
    with pytest.raises(
        InputError, match=re.escape("logits, which do not contain the texts of the options; expected `--items`")
    ):
        responses_of(file, "large")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no items; expected files of BBQ's items"):
        responses_of(file, "large", tmp_path / "none")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"example_id": 0, "category": "Age", "pred": None}], "line 1: no text in 'prediction'; expected the field with the answers"),
        ([{"example_id": 0, "category": "Age", "predictions": "a"}], "line 1: no text in 'prediction' (did you mean 'predictions'?)"),
        ([{"prediction": "a"}], "line 1: no item id; expected one of example_id, instance_id, sample_id"),
        (["[]"], "line 1: []; expected one JSON object per line"),
    ],
)  # fmt: skip
def test_faulty_published_answers_are_refused(lines: list[Any], message: str, tmp_path: Path) -> None:
    files = files_of(tmp_path, lines)
    with pytest.raises(InputError, match=re.escape(message)):
        responses_of(files.files[0], "prediction")


def test_published_answers_to_controls_are_those_of_controls(tmp_path: Path) -> None:
    files = files_of(tmp_path, [line(7) | {"prediction": "Ann"}], name="Age_control_en.jsonl")
    (response,) = responses_of(files.files[0], "prediction")
    assert (response["prompt"], response["response"]) == ("Age (control) 7", "Ann")
