"""Answers that others have published, as precomputed responses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from small_items import files_of, four_lines, line
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.base.precomputed_file import read_precomputed
from biasgrid.cli.app import app
from biasgrid.formats.bbq.commands import read_responses

HEADER = "index,cat,model,ans0,ans1,ans2\n"
ROWS = (
    "0,Age,large,2.5,-1,0\n"
    "1,Age,large,0,1.5,1\n"
    "2,Age,large,-3,-3,-4\n"
    "0,Age,small,0,0,1\n"
    "3,Age,large,0,0,7e-3\n"
)


def written(folder: Path, text: str = HEADER + ROWS) -> tuple[Path, Path]:
    """A table of logits, and the folder of its items."""
    (folder / "items").mkdir()
    files_of(folder / "items", four_lines())
    (folder / "df_bbq.csv").write_text(text)
    return folder / "df_bbq.csv", folder / "items"


def test_the_option_with_the_largest_logit_is_the_answer(tmp_path: Path) -> None:
    file, items = written(tmp_path)
    found = read_responses(file, "large", items)
    assert [(row.prompt, row.response) for row in found] == [
        ("Age 0", "The grandmother"),
        ("Age 1", "The granddaughter"),
        ("Age 2", ""),
        ("Age 3", "Unknown"),
    ]
    assert {(row.group, row.repetition) for row in found} == {("Age", 0)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2.5", "high", "df_bbq.csv, line 2, ans0: 'high'; expected a finite number"),
        ("2.5", "nan", "df_bbq.csv, line 2, ans0: 'nan'; expected a finite number"),
        ("3,Age", "4,Age", "df_bbq.csv, line 6: there is no item Age 4; expected items of items"),
        (
            "3,Age",
            "1,Age",
            (
                "df_bbq.csv, line 6: the answer of large to Age 1 is already in line 3; expected "
                "each item once per model"
            ),
        ),
        (
            ",large",
            ",larger",
            (
                "df_bbq.csv: there is no model 'large' (did you mean 'larger'?); expected "
                "`--column` to be one of larger, small"
            ),
        ),
        (
            "cat,",
            "category,",
            (
                "df_bbq.csv, line 1: no column 'cat'; expected one of ans0, ans1, ans2, category, "
                "index, model"
            ),
        ),
    ],
)
def test_faulty_tables_of_logits_are_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    file, items = written(tmp_path, (HEADER + ROWS).replace(old, new))
    with pytest.raises(InputError) as raised:
        read_responses(file, "large", items)
    assert message in [str(fault).replace(f"{tmp_path}/", "") for fault in raised.value.faults]


def test_logits_need_the_texts_of_options(tmp_path: Path) -> None:
    file, _ = written(tmp_path)
    with pytest.raises(
        InputError,
        match=re.escape(
            "logits, which do not contain the texts of the options; expected `--items`"
        ),
    ):
        read_responses(file, "large")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no items; expected files of BBQ's items"):
        read_responses(file, "large", tmp_path / "none")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [{"example_id": 0, "category": "Age", "pred": None}],
            "line 1: no text in 'prediction'; expected the field with the answers",
        ),
        (
            [{"example_id": 0, "category": "Age", "predictions": "a"}],
            "line 1: no text in 'prediction' (did you mean 'predictions'?)",
        ),
        (
            [{"example_id": 0, "category": "Age", "prediction": None}],
            "line 1: no text in 'prediction'; expected",
        ),
        (
            [{"example_id": [0], "category": "Age", "prediction": "a"}],
            "line 1: no item id or no category",
        ),
        (
            [{"example_id": 0, "prediction": "a"}],
            "line 1: no item id or no category; expected one of example_id",
        ),
        (
            [{"prediction": "a"}],
            "line 1: no item id or no category; expected one of example_id, instance_id, sample_id",
        ),
        (["[]"], "line 1: []; expected one JSON object per line"),
    ],
)
def test_faulty_published_answers_are_refused(
    lines: list[Any], message: str, tmp_path: Path
) -> None:
    files = files_of(tmp_path, lines)
    with pytest.raises(InputError, match=re.escape(message)):
        read_responses(files.files[0], "prediction")


def test_published_answers_to_controls_match_controls(tmp_path: Path) -> None:
    files = files_of(tmp_path, [line(7) | {"prediction": "Ann"}], name="Age_control_en.jsonl")
    (response,) = read_responses(files.files[0], "prediction")
    assert (response.prompt, response.response) == ("Age (control) 7", "Ann")


def imported(folder: Path, *files: Path, column: str = "prediction") -> tuple[int, str]:
    """Runs the command as a user does."""
    command = [
        "import",
        "bbq",
        *map(str, files),
        "--column",
        column,
        "--out",
        str(folder / "answers.jsonl"),
    ]
    result = CliRunner().invoke(app, command)
    return result.exit_code, " ".join(result.output.split())


KOBBQ = "sample_id\tlabel_annotation\tcontext\tquestion\tchoices\tbiased_answer\tanswer\n"
REFUSED = {
    "no lines": ("answers.tsv", KOBBQ, "no items; expected items with answers"),
    "a quotation mark that nothing closes": (
        "answers.tsv",
        KOBBQ + '"' + "x" * 140_000,
        "cannot be read (field larger than field limit (131072)); expected a table",
    ),
    "a row that is too long": (
        "answers.tsv",
        f"{KOBBQ}age-001a-001-amb-bsd-0{12 * chr(9)}more\n",
        "line 2, columns: not the same number of values as the 7 columns of line 1",
    ),
    "half of a character": (
        "Age.jsonl",
        '{"example_id": 0, "category": "Age", "prediction": "\\ud83d"}\n',
        "line 1: holds half of a character",
    ),
    "two answers": (
        "Age.jsonl",
        "".join(
            f'{{"example_id": 0, "category": "Age", "prediction": "{text}"}}\n' for text in "ab"
        ),
        "line 2: 'Age 0' has another answer in Age.jsonl, line 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_written_of_answers_that_no_run_could_read(case: str, tmp_path: Path) -> None:
    name, text, message = REFUSED[case]
    (tmp_path / name).write_text(text)
    code, output = imported(tmp_path, tmp_path / name)
    assert (code, message in output) == (2, True), output
    assert not (tmp_path / "answers.jsonl").exists()


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (file,) = files_of(tmp_path, [line(7) | {"prediction": "Ann"}]).files
    assert imported(tmp_path, file, file)[0] == 0
    (answer,), faults = read_precomputed(tmp_path / "answers.jsonl")
    assert (answer.prompt, answer.group, answer.response, faults) == ("Age 7", "Age", "Ann", [])
