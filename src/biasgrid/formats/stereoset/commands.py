"""Scores that others published beside StereoSet, as precomputed responses for `answers:` of a
model.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.precomputed_file import PrecomputedResponse, first_faults, write_precomputed
from biasgrid.base.text import read_json
from biasgrid.families.pairs.data import TASKS

EXPECTED = "predictions of StereoSet: lists of sentence ids and scores by task"
ID, SCORE = "id", "score"


def import_file(
    file: Annotated[
        Path,
        typer.Argument(help="file with predictions, such as code/predictions/predictions_*.json"),
    ],
    out: Annotated[
        Path, typer.Option(help="JSONL file to write, for the key `answers` of a model")
    ],
) -> list[str]:
    """Writes StereoSet's predictions as precomputed responses, with sentence ids as prompts."""
    responses = published_scores(file)
    write_precomputed(out, responses)
    return [f"{out}: scores of {len(responses):,} sentences"]


def published_scores(file: Path) -> list[PrecomputedResponse]:
    """Reads the score of each sentence.

    Returns:
        A response per sentence, without text: `prompt` is the id of the sentence, `group` its task.

    Raises:
        InputError: the file cannot be read, or a sentence has no id, no score, or a repeated id.
    """
    faults: list[Fault] = []
    responses: list[PrecomputedResponse] = []
    place_of_id: dict[str, str] = {}
    for task, sentences in read_tasks(file).items():
        if not isinstance(sentences, list):
            faults.append(Fault(str(file), task, value_text(sentences), "a list of sentences"))
            continue
        for position, sentence in enumerate(sentences):
            where = f"{task}[{position}]"
            values = sentence if isinstance(sentence, dict) else {}
            name, score = values.get(ID), values.get(SCORE)
            if not isinstance(name, str) or not is_finite_number(score):
                expected = f"`{ID}` and a number `{SCORE}`"
                faults.append(Fault(str(file), where, value_text(sentence), expected))
            elif name in place_of_id:
                problem = f"the id {name} is already in {place_of_id[name]}"
                faults.append(Fault(str(file), where, problem, "each id once"))
            else:
                place_of_id[name] = where
                responses.append(PrecomputedResponse(name, task, 0, "", where, score=score))
    if faults:
        raise InputError(first_faults(faults, file))
    return responses


def read_tasks(file: Path) -> dict[str, Any]:
    """Returns the content of a file by task, unchecked.

    Raises:
        InputError: the file cannot be read, or has none of StereoSet's tasks.
    """
    content = read_json(file, EXPECTED)
    tasks: dict[str, Any] = {}
    if isinstance(content, dict):
        tasks |= {task: content[task] for task in TASKS if task in content}
    if not tasks:
        expected = f"{EXPECTED}, {one_of(TASKS)}"
        raise InputError([Fault(str(file), "", value_text(content), expected)])
    return tasks


def is_finite_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold.

    JSON readers of Python also accept NaN, Infinity, and whole numbers of any length.
    """
    # True is an int, too.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
