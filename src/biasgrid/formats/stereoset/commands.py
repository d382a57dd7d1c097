"""Scores that others published beside StereoSet, by sentence id, for `answers:` of a model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.files import write_text
from biasgrid.base.precomputed_file import first_faults
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
    """Writes StereoSet's predictions in the form of precomputed responses."""
    rows = published_scores(file)
    write_text(out, "".join(f"{json.dumps(row)}\n" for row in rows))
    return [f"{out}: scores of {len(rows):,} sentences"]


def published_scores(file: Path) -> list[dict[str, Any]]:
    """Returns one precomputed response per sentence, with the id of the sentence as its prompt.

    Raises:
        InputError: the file cannot be read, or a sentence has no id, no score, or a repeated id.
    """
    faults: list[Fault] = []
    rows: list[dict[str, Any]] = []
    place_of_id: dict[str, str] = {}
    for task, sentences in read_tasks(file).items():
        if not isinstance(sentences, list):
            faults.append(Fault(str(file), task, value_text(sentences), "a list of sentences"))
            continue
        for number, sentence in enumerate(sentences):
            where = f"{task}[{number}]"
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
                rows.append({"prompt": name, "group": task, "repetition": 0, "score": score})
    if faults:
        raise InputError(first_faults(faults, file))
    return rows


def read_tasks(file: Path) -> dict[str, Any]:
    """Returns the content of a file by task; raises InputError if it has none of StereoSet's."""
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
