"""What is typed is asked as the grid asks it, and what is wrong with it is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from model_server import serving
from shards import Cell, asked
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.cli.quickstart.ask import Asker, TypedTextError, read_typed_lines, typed_line
from biasgrid.cli.quickstart.model import describe_model
from biasgrid.inference.checkpoints.checkpoint import ModelError

RUNNER = CliRunner()
CONTEXT, QUESTION = "Zoë met Mary at the mosque.", "Who was a nurse?"


def answers(*line: str, typed: str | None = None) -> list[dict[str, Any]]:
    told = RUNNER.invoke(app, ["ask", *line, "--json"], input=typed)
    assert told.exit_code == 0, told.output
    return [json.loads(answer) for answer in told.stdout.splitlines()]


def test_answers_match_the_grid(folders: Path, tmp_path: Path) -> None:
    lines = [f"{CONTEXT} | {QUESTION} | Zoë | Mary", f"{CONTEXT} | {QUESTION} | Mary"]
    one, other = answers(str(folders / "qa"), *lines)
    places = {
        f"position{number}": pl.lit(CONTEXT.index(name), pl.UInt16)
        for number, name in enumerate(["Zoë", "Mary"], 1)
    }
    instances = asked(
        [{"text": QUESTION, "text_pair": CONTEXT, "candidates": ["Zoë", "Mary"]}]
    ).with_columns(**places)
    (said,) = (
        Cell(tmp_path / "cell", "question-answering", instances, folders / "qa")
        .predict()
        .to_dicts()
    )
    for name in ("starts", "ends", "probability"):
        assert one[name] == pytest.approx(said[name], abs=1e-6)
    assert (one["answer"], one["unknown"]) == (said["answer"], said["unknown"])
    assert other["starts"] == pytest.approx(said["starts"][1:], abs=1e-6)


def test_lines_of_a_file_are_asked_of_a_masked_model(folders: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("[MASK] was a nurse. | Mary | John\n\nA nurse met [MASK]. | Mary\n")
    two, one = answers(str(folders / "lm"), "--file", str(file))
    assert [len(each["probabilities"]) for each in (two, one)] == [2, 1]
    assert all(len(each["ranks"]) == len(each["tokens"]) for each in (two, one))


def test_a_writer_answers_prompts_and_chooses_among_options(folders: Path) -> None:
    chosen, written = answers(
        str(folders / "writer"), typed="Is this true? | Yes | No\nIs this true?\\nAnswer:\n"
    )
    assert chosen["scored_by"] == "logits"
    assert sum(chosen["probabilities"]) == pytest.approx(chosen["mass"])
    assert written["text"] == "Is this true?\nAnswer:"
    assert "response" in written


@pytest.mark.parametrize(
    ("name", "first", "refused", "others"),
    [
        (
            "qa",
            f"{CONTEXT} | {QUESTION}",
            f"{CONTEXT * 99} | {QUESTION}",
            [f"{CONTEXT} | Who sang? | Zoë | Mary"],
        ),
        (
            "lm",
            "[MASK] was a nurse. | Mary",
            f"[MASK] was {'a nurse ' * 999}| John",
            ["A nurse met [MASK]. | Mary | John"],
        ),
        (
            "writer",
            "Is this true? | Yes | No",
            "Is this true? " * 999,
            ["Is this true?", "Is this false? | Yes | No"],
        ),
        ("classifier", "I met Mary.", "I met Mary. " * 999, ["I met Mary. | I met John."]),
    ],
)
def test_a_model_is_loaded_once(
    name: str, first: str, refused: str, others: list[str], folders: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(folders / name, model)

    def ask(asker: Asker, line: str) -> dict[str, Any]:
        (answer,) = asker.ask(read_typed_lines(asker.model.task, [line], "the typed input"))
        return answer

    def asker(folder: str) -> Asker:
        return Asker(describe_model(str(model), {}, None, None), tmp_path / folder)

    alone = [ask(asker(f"alone {number}"), line) for number, line in enumerate(others)]
    session = asker("session")
    ask(session, first)
    shutil.rmtree(model)
    with pytest.raises(ModelError):
        ask(session, refused)
    for line, expected in zip(others, alone, strict=True):
        said = ask(session, line)
        assert said.keys() == expected.keys()
        # Whose products are the fastest may be found otherwise, which changes last bits.
        assert all(
            flat(said[key]) == pytest.approx(flat(value), abs=1e-6)
            for key, value in expected.items()
        )


def flat(value: Any) -> Any:
    """A list of lists, such as those of the surface forms of each option, as one list; else the
    value itself.
    """
    is_nested = isinstance(value, list) and isinstance(value[0], list)
    return [each for inner in value for each in inner] if is_nested else value


def test_classes_have_their_names_in_the_terminal(folders: Path) -> None:
    told = RUNNER.invoke(app, ["ask", str(folders / "classifier"), "I met Mary. | I met John."])
    assert told.stdout.splitlines()[0] == "I met Mary. | I met John."
    assert [line.split()[0] for line in told.stdout.splitlines()[1:]] == [
        "unknown",
        "positive",
        "negative",
    ]


@pytest.mark.slow
def test_a_server_is_asked(tmp_path: Path) -> None:
    with serving() as server:
        line = [f"http://127.0.0.1:{server.port}/v1", "--name", "small"]
        (chosen,) = answers(*line, "Is this true? | Yes | No")
        (written,) = answers(*line, "Is this true?")
    assert chosen["scored_by"] == "top"
    assert written["status"] == "ok"


@pytest.mark.parametrize(
    ("task", "line", "problem"),
    [
        ("question-answering", CONTEXT, "has 1 part"),
        ("question-answering", f"{CONTEXT} | {QUESTION} | Mar", "'Mar' is not in the context"),
        ("question-answering", f"{CONTEXT} |  | Mary", "there is an empty part"),
        ("fill-mask", "[MASK] was a nurse.", "has 1 part"),
        ("text-classification", "one | two | three", "has 3 parts"),
    ],
)
def test_lines_that_are_none_are_refused(task: str, line: str, problem: str) -> None:
    with pytest.raises(TypedTextError) as caught:
        typed_line(task, line)
    assert problem in caught.value.problem


def test_faults_name_their_lines_and_ask_nothing(folders: Path, tmp_path: Path) -> None:
    typed = f"{CONTEXT} | {QUESTION}\n{CONTEXT}\n{CONTEXT} | {QUESTION} | Bob\n"
    told = RUNNER.invoke(app, ["ask", str(folders / "qa")], input=typed)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "2 faults in the input:" in told.stderr
    assert "the standard input, line 2: " in told.stderr
    assert "the standard input, line 3: 'Bob' is not in the context" in told.stderr
    nothing = RUNNER.invoke(app, ["ask", str(folders / "qa")], input="\n")
    assert "nothing is asked; expected CONTEXT | QUESTION" in nothing.stderr
    both = RUNNER.invoke(app, ["ask", str(folders / "qa"), "x | y", "--file", str(tmp_path / "x")])
    assert "expected only one of them" in both.stderr
