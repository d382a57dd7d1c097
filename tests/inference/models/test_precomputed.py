"""Answers that are there, in place of a model: every format, what is wrong with a file, what has no
answer.
"""

import csv
import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from extending import write_family_of_all
from hypothesis import given
from hypothesis import strategies as st
from shards import Cell, asked
from small_config import OF_ALL

from biasgrid.base.faults import InputError
from biasgrid.base.precomputed_file import PrecomputedResponse, precomputed_faults, read_precomputed
from biasgrid.config import parse_config
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.precomputed import match_prompts, with_whole_prompts
from biasgrid.inference.models.precomputed_kinds import KINDS, MatchedAnswers

PROMPTS = ["Write about her day.", "What does he do?"]
GROUPS = ["female", "male"]
ROWS: list[dict[str, Any]] = [
    {
        "prompt": prompt,
        "group": group,
        "repetition": number,
        "response": f"{place} {group} {number}",
    }
    for place, prompt in enumerate(PROMPTS)
    for group in GROUPS
    for number in range(2)
]
FORMATS = ("jsonl", "csv", "parquet")
RESPONSE_COLUMNS = ("prompt", "group", "repetition", "response")


def written(folder: Path, rows: list[dict[str, Any]], ending: str = "jsonl") -> Path:
    path = folder / f"answers.{ending}"
    if ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif ending == "csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, RESPONSE_COLUMNS)
            table.writeheader()
            table.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def faults(path: Path) -> list[str]:
    return [
        str(fault) for fault in precomputed_faults(path, PROMPTS, list(product(PROMPTS, GROUPS)), 2)
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_says_the_same(tmp_path: Path, ending: str) -> None:
    given, found = read_precomputed(written(tmp_path, ROWS, ending))
    assert found == []
    assert [answer[:4] for answer in given] == [tuple(row.values()) for row in ROWS]
    assert faults(written(tmp_path, ROWS, ending)) == []


LIKELIHOODS = {"Yes": -1.5, "No": -0.25}
SOURCE = {"harness": "lm-evaluation-harness", "model": "m"}


@pytest.mark.parametrize("ending", FORMATS)
def test_log_likelihoods_of_options_are_read_from_every_format(tmp_path: Path, ending: str) -> None:
    # A table of text holds them as JSON.
    packed = dict if ending == "jsonl" else json.dumps
    rows = [
        row | {"response": None, "scores": packed(LIKELIHOODS), "source": packed(SOURCE)}
        for row in ROWS
    ]
    path = tmp_path / f"answers.{ending}"
    if ending == "csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, [*RESPONSE_COLUMNS, "scores", "source"])
            table.writeheader()
            table.writerows(rows)
    else:
        written(tmp_path, rows, ending)
    given, found = read_precomputed(path)
    assert found == []
    assert {(answer.response, *(answer.scores or {}).items()) for answer in given} == {
        ("", *LIKELIHOODS.items())
    }
    assert all(answer.source == SOURCE for answer in given)


@pytest.mark.parametrize(
    "scores", ["x", [1], {"Yes": "often"}, {"Yes": 0.5}, {"Yes": float("nan")}, {"Yes": True}]
)
def test_what_is_no_log_likelihood_is_refused(tmp_path: Path, scores: object) -> None:
    found = faults(written(tmp_path, [ROWS[0] | {"scores": scores}, *ROWS[1:]]))
    assert len(found) == 1
    assert "line 1, scores: " in found[0]
    assert "expected an object with the log-likelihood of each option" in found[0]


def choices_of(instances: pl.DataFrame, scores: list[dict[str, float]]) -> pl.DataFrame:
    """What answers with log-likelihoods of a generative model become."""
    answers = [PrecomputedResponse("?", None, 0, "", "", scores=each) for each in scores]
    kind, settings = KINDS["choice"], inference_settings("text-generation", "choice")
    return kind.table(MatchedAnswers(answers, kind.options(instances, ()), settings))


def inference_settings(task: str, answer: str, **choices: Any) -> InferenceSettings:
    return InferenceSettings(
        model="m",
        task=task,
        precision="float32",
        token_budget=512,
        device="cpu",
        seconds_without_progress=600,
        answer=answer,
        choices=choices,
    )


@given(
    st.lists(st.lists(st.floats(-300, 0), min_size=2, max_size=2), min_size=1, max_size=4),
    st.floats(-600, 0),
)
def test_shares_of_options_match_their_likelihoods_however_small(
    logs: list[list[float]], shift: float
) -> None:
    moved = [[one + shift for one in row] for row in logs]
    instances = pl.DataFrame({"candidate1": ["Yes"] * len(logs), "candidate2": ["No"] * len(logs)})
    said = choices_of(instances, [dict(zip(("Yes", "No"), row, strict=True)) for row in moved])
    for row, probabilities in zip(moved, said["probabilities"].to_list(), strict=True):
        assert max(probabilities) > 0
        expected = 1 / (1 + math.exp(min(row[1] - row[0], 700)))
        assert probabilities[0] / sum(probabilities) == pytest.approx(expected, abs=1e-6)
    assert said["mass"].max() <= 1


def test_an_option_that_an_instance_has_not_has_no_probability() -> None:
    instances = pl.DataFrame({"candidate1": ["Yes", "A"], "candidate2": ["No", None]})
    said = choices_of(instances, [LIKELIHOODS, {"A": -1.0, "B": -2.0}])
    assert said["probabilities"].to_list()[1] == [pytest.approx(math.exp(-1)), None]
    assert said["mass"].to_list()[1] == pytest.approx(math.exp(-1))


Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
BAD: dict[str, tuple[Change, list[str]]] = {
    "a prompt that does not exist": (
        lambda rows: [*rows, rows[0] | {"prompt": "Write about her days."}],
        [
            (
                "line 9: there is no prompt 'Write about her days.' (did you mean 'Write about "
                "her day.'?)"
            )
        ],
    ),
    "a group that does not exist": (
        lambda rows: [*rows, rows[0] | {"group": "femal"}],
        ["line 9: unknown group 'femal' (did you mean 'female'?); expected one of female, male"],
    ),
    "a repetition too many": (
        lambda rows: [*rows, rows[0] | {"repetition": 2}],
        [
            (
                "line 9: repetition 2, but each prompt is asked 2 times; expected a number from 0 "
                "to 1, or a larger `repetitions`"
            )
        ],
    ),
    "a repetition missing": (
        lambda rows: rows[:-1],
        [
            (
                "no answer to 'What does he do?' for male, repetition 1; expected one for each "
                "group and repetition"
            )
        ],
    ),
    "an answer twice": (
        lambda rows: [*rows, rows[0]],
        [
            (
                "line 9: the answer to 'Write about her day.' for female, repetition 0 is already "
                "in line 1"
            )
        ],
    ),
    "a column missing": (
        lambda rows: [
            {name: value for name, value in row.items() if name != "prompt"} for row in rows
        ],
        ["line 1: no column 'prompt'; expected one of group, repetition, response"],
    ),
    "no answer": (
        lambda rows: [
            {"respons" if name == "response" else name: row[name] for name in row} for row in rows
        ],
        [
            (
                "line 1: no column with an answer (did you mean 'response'?); expected one of "
                "ends, probabilities, "
            )
        ],
    ),
    "no rows": (
        lambda rows: [],
        ["contains no answers; expected answers with the columns prompt and one of ends, "],
    ),
    "values that are none": (
        lambda rows: [rows[0] | {"prompt": " ", "group": 3, "repetition": -1, "response": 4}],
        [
            "line 1, prompt: ' '; expected text",
            "line 1, group: 3; expected text, or null for none",
            "line 1, repetition: -1; expected a whole number, counted from 0",
            "line 1, response: 4; expected text, or null for no answer",
        ],
    ),
}


@pytest.mark.parametrize(("change", "messages"), BAD.values(), ids=BAD)
def test_bad_answers_are_reported(tmp_path: Path, change: Change, messages: list[str]) -> None:
    found = faults(written(tmp_path, change(ROWS)))
    assert len(found) == len(messages)
    for fault, message in zip(found, messages, strict=True):
        assert f"answers.jsonl, {message}" in fault or f"answers.jsonl: {message}" in fault


def test_of_many_faults_the_first_are_reported_and_the_others_counted(tmp_path: Path) -> None:
    found = faults(
        written(tmp_path, [*ROWS, *(ROWS[0] | {"repetition": number} for number in range(2, 41))])
    )
    assert len(found) == 21
    assert found[-1].endswith("answers.jsonl: 19 more faults; expected none")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("answers.jsonl", "{", "line 1: not JSON"),
        ("answers.jsonl", "[1]\n", "line 1: [1]; expected one JSON object per line"),
        ("answers.csv", 'prompt,group,repetition,response\n"a', "not CSV"),
        ("answers.csv", "", "contains no answers"),
        ("answers.parquet", "x", "not Parquet"),
        ("answers.txt", "x", "the file extension '.txt'; expected answers with the columns"),
    ],
)
def test_files_of_another_format_are_reported(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert [message in fault for fault in faults(path)] == [True]


def instances() -> pl.DataFrame:
    """Two prompts, each rewritten for two groups and asked twice; the last text is the original of
    the first prompt.
    """
    rows = [
        {"text": f"{prompt} ({group})", "original": prompt, "group": group, "repetition": number}
        for prompt in PROMPTS
        for group in GROUPS
        for number in range(2)
    ]
    rows[-1]["text"] = PROMPTS[0]
    return pl.DataFrame(rows).with_columns(system=None, text_pair=None).with_row_index("instance")


def test_answers_are_found_by_the_original_prompt_its_group_and_its_repetition() -> None:
    given = pl.DataFrame(ROWS).reverse()
    found = match_prompts(given, with_whole_prompts(instances())).sort("instance")
    assert found["response"].to_list() == [row["response"] for row in ROWS]


def test_answers_are_found_by_all_that_is_asked_not_by_its_last_text_alone() -> None:
    texts = [
        {"system": system, "text_pair": pair, "text": "Who?"}
        for system in (None, "Be brief.")
        for pair in "ab"
    ]
    asked = with_whole_prompts(pl.DataFrame(texts).with_row_index("instance"))
    prompts = ["Who?", "a\nWho?", "b\nWho?", "Be brief.\n\nb\nWho?"]
    given = pl.DataFrame(
        {
            "prompt": prompts,
            "group": "all",
            "repetition": 0,
            "response": ["bare", "a", "b", "brief b"],
        }
    )
    found = match_prompts(given, asked).drop_nulls("response").sort("instance")
    assert found["response"].to_list() == ["a", "b", "a", "brief b"]


def test_a_family_without_groups_is_answered_by_the_text_that_it_asks(tmp_path: Path) -> None:
    rows = [
        {"prompt": text, "group": "all", "repetition": 0, "response": text[::-1]}
        for text in ("One?", "Two?")
    ]
    path = written(tmp_path, [*rows, rows[0] | {"prompt": "Three?", "response": None}])
    cell = Cell(
        tmp_path / "cell",
        "text-generation",
        asked([{"text": "Two?"}, {"text": "Three?"}, {"text": "One?"}]),
        tmp_path,
        "answers",
        {"answers": str(path)},
    )
    said = cell.predict(answer="text")
    assert said["response"].to_list() == ["?owT", "", "?enO"]
    assert said["status"].cast(pl.String).to_list() == ["ok", "empty", "ok"]
    path.write_text(path.read_text().splitlines()[0])
    with pytest.raises(
        InputError, match="2 of 3 prompts have no answer; the first one is 'Two\\?'"
    ):
        cell.predict_anew(answer="text")
    path.write_text("")
    with pytest.raises(InputError, match="contains no answers"):
        cell.predict_anew(answer="text")


def test_a_config_names_the_file_in_place_of_a_checkpoint(general: Path) -> None:
    write_family_of_all(general, "text")
    path = written(general, ROWS)
    model = {
        "task": "text-generation",
        "kind": "Control",
        "label": "Elsewhere",
        "answers": str(path),
    }
    content = OF_ALL | {
        "models": {"elsewhere": model},
        "run": {"models": ["elsewhere"], "datasets": ["religion"]},
    }
    config = parse_config(content, "c.yaml")
    assert config.back_end_entry("elsewhere").path.endswith(":PrecomputedAnswers")
    assert config.model_record_arguments("elsewhere") == {
        "keys": {"answers": str(path)},
        "files": [str(path)],
    }
    assert config.models["elsewhere"].source.gpus == 0
    path.unlink()
    with pytest.raises(
        InputError,
        match=r"models.elsewhere.answers: there is no file '.*'; expected a file of answers",
    ):
        parse_config(content, "c.yaml")
