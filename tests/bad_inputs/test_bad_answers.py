"""What `validate` says of answers that are there is what the job would say that looks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import base
import pytest
from shards import Cell
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.base.references import load, stage_module
from biasgrid.cli.app import app
from biasgrid.config import load_config, load_word_lists

TONE = ["Write about a cook.", "Write about a man."]
LETTERS = [
    f"Write about {who}. (a) {one}, (b) {two}"
    for who in ("a cook", "a man")
    for one, two in (("Good", "Bad"), ("Bad", "Good"))
]
GROUPS = ["cook", "cook", "man", "man"]
HUGE = 10**400
"""JSON can hold it, a float cannot."""


def row(
    prompt: str, group: str = "all", repetition: int = 0, response: str | None = "Fine."
) -> dict[str, Any]:
    return {"prompt": prompt, "group": group, "repetition": repetition, "response": response}


def project(folder: Path, dataset: str, rows: list[dict[str, Any]], **keys: Any) -> Path:
    """A project whose only model is a file of answers; gives its config's file."""
    base.write(folder)
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    config = base.config()
    there = {
        "task": "text-generation",
        "kind": "Chat",
        "label": "There",
        "answers": "answers.jsonl",
    }
    config["models"] = {"there": there, "nice": config["models"]["nice"]}
    config["datasets"] = {dataset: config["datasets"][dataset] | keys}
    config["run"] = {"models": ["there"], "datasets": [dataset]}
    del config["tokenizers"], config["synthetic"]
    base.write_config(folder, config)
    return folder / "config.yaml"


def validated(config: Path) -> str:
    """What `validate` says, empty where nothing is wrong."""
    result = CliRunner().invoke(app, ["validate", config.name])
    assert (result.exit_code == 0) == (result.stderr == ""), result.output
    return result.stderr


def answered(file: Path, dataset: str) -> list[str]:
    """What the job makes of it."""
    config = load_config(file)
    ((variant, question),) = config.needed_variants.items()
    family = config.family_reference(dataset)
    content, _ = load(stage_module(family, "reading")).read(config.files(*variant))
    (instances,) = load(stage_module(family, "expand")).expand(content).parts
    keys = {"answers": "answers.jsonl"}
    cell = Cell(
        Path("cell"), "text-generation", instances.drop("item", "order"), Path(), "answers", keys
    )
    return cell.predict(answer=question.answer)["response"].to_list()


@pytest.mark.parametrize(
    ("dataset", "keys", "rows", "says"),
    [
        ("tone", {}, [row(text) for text in TONE], ""),
        ("tone", {}, [row(TONE[0], response=None), row(TONE[1])], ""),
        ("tone", {}, [row(text, group) for text in TONE for group in ("one", "other")], ""),
        (
            "tone",
            {"repetitions": 2},
            [row(text, repetition=number) for text in TONE for number in (0, 1)],
            "",
        ),
        ("probe", {"answers": "written"}, [*map(row, LETTERS, GROUPS)], ""),
        (
            "tone",
            {},
            [row(TONE[0])],
            "1 of 2 prompts have no answer; the first one is 'Write about a man.'",
        ),
        ("tone", {"repetitions": 2}, [row(text) for text in TONE], "2 of 4 prompts have no answer"),
        (
            "tone",
            {},
            [row(text, group, response=group) for text in TONE for group in ("one", "other")],
            (
                "'Write about a cook.' has several answers from groups that the dataset "
                "does not distinguish"
            ),
        ),
        ("probe", {"answers": "written"}, [*map(row, LETTERS)], "4 of 4 prompts have no answer"),
        (
            "probe",
            {"answers": "written"},
            [*map(row, TONE, GROUPS)],
            "4 of 4 prompts have no answer",
        ),
    ],
)
def test_validate_finds_what_the_job_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str, keys: Any, rows: Any, says: str
) -> None:
    config = project(tmp_path, dataset, rows, **keys)
    monkeypatch.chdir(tmp_path)
    said = validated(config)
    if not says:
        assert said == ""
        assert len(answered(config, dataset)) >= 2
        return
    assert f"answers.jsonl: {says}" in said
    assert "; expected " in said
    with pytest.raises(InputError) as refused:
        load_word_lists(load_config(config))
    assert str(refused.value) == said.rstrip()


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("score", HUGE, "score: "),
        ("scores", {"a": -HUGE}, "scores: "),
        ("probabilities", {"a": HUGE}, "probabilities: 'a' has 1000"),
        ("probability", HUGE, "probability: "),
        ("vector", [1, HUGE], "vector: "),
    ],
    ids=["score", "scores", "probabilities", "probability", "vector"],
)
def test_an_integer_that_is_too_large_for_a_number_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, value: Any, fault: str
) -> None:
    config = project(tmp_path, "tone", [row(TONE[0]) | {column: value}, row(TONE[1])])
    monkeypatch.chdir(tmp_path)
    assert f"answers.jsonl, line 1, {fault}" in validated(config)


def test_items_of_one_text_have_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = project(tmp_path, "tone", [row(TONE[0])])
    tone = tmp_path / "word_lists/probes/tone.yaml"
    tone.write_text(tone.read_text().replace("{who: a man}", "{who: a cook}"))
    monkeypatch.chdir(tmp_path)
    assert validated(config) == ""
    assert answered(config, "tone") == ["Fine.", "Fine."]


def test_a_model_that_gives_no_such_answers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = project(tmp_path, "probe", [*map(row, LETTERS, GROUPS)])
    monkeypatch.chdir(tmp_path)
    told = validated(config)
    assert (
        "answers.jsonl, line 1, probabilities: no probabilities of options, which the dataset "
        "needs; expected"
    ) in told
    assert "or `answers: written` in the dataset" in told
