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
from biasgrid.families.pairs.items import TASKS

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
    """Returns precomputed responses, whose prompt is the id of a sentence.

    Raises:
        InputError: the file cannot be read, or a sentence has no id or no score, or two.
    """
    content = read_json(file, EXPECTED)
    tasks = (
        {task: content[task] for task in TASKS if task in content}
        if isinstance(content, dict)
        else {}
    )
    if not tasks:
        raise InputError(
            [Fault(str(file), "", value_text(content), f"{EXPECTED}, {one_of(TASKS)}")]
        )
    faults, rows, first = list[Fault](), list[dict[str, Any]](), dict[str, str]()
    for task, sentences in tasks.items():
        if not isinstance(sentences, list):
            faults.append(Fault(str(file), task, value_text(sentences), "a list of sentences"))
            continue
        for number, sentence in enumerate(sentences):
            where = f"{task}[{number}]"
            values = sentence if isinstance(sentence, dict) else {}
            name, score = values.get(ID), values.get(SCORE)
            is_number = (
                isinstance(score, int | float)
                and not isinstance(score, bool)
                and math.isfinite(score)
            )
            if not isinstance(name, str) or not is_number:
                faults.append(
                    Fault(str(file), where, value_text(sentence), f"`{ID}` and a number `{SCORE}`")
                )
            elif first.setdefault(name, where) != where:
                faults.append(
                    Fault(
                        str(file),
                        where,
                        f"the id {name} is already in {first[name]}",
                        "each id once",
                    )
                )
            else:
                rows.append({"prompt": name, "group": task, "repetition": 0, "score": score})
    if faults:
        raise InputError(first_faults(faults, file))
    return rows
