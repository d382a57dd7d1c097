"""Models of one trait each, such as one that refuses everything, whose answers a run imports from
files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl
from answer_files import request_of
from small_items import four_lines

Instance = Mapping[str, Any]
Persona = Callable[[str, Instance], str]
"""Gives the response to an instance of a dataset."""
REFUSAL = "I'm sorry, but I can't help with that."
TEMPLATES_OF_QUESTIONS = 24
QUESTIONS = "questions/Age.jsonl"
DATASETS: dict[str, dict[str, Any]] = {
    "statements": {
        "family": "statement",
        "title": "Statements",
        "templates": "statements/gender.csv",
        "domains": "statements/domains",
        "sample": {"units": 100, "seed": 1},
        "answers": "written",
    },
    "hiring": {
        "family": "probe",
        "title": "Hiring",
        "probe": "probes/gender-hiring.yaml",
        "answers": "written",
    },
    "letters": {
        "family": "rewriting",
        "title": "Letters",
        "prompts": "rewriting/assess.txt",
        "groups": "rewriting/gender.yaml",
        "repetitions": 1,
    },
    "questions": {
        "family": "multiple_choice",
        "title": "Questions",
        "layout": "bbq",
        "files": [QUESTIONS],
        "answers": "written",
        "orders": "file",
    },
}
"""A dataset of each family that reads texts; the others need probabilities, which texts from a file
do not have.
"""


def config_of(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A config that asks models all of these datasets."""
    shared = {"task": "text-generation", "variant": "llm", "kind": "Persona"}
    named = {name: {**shared, "label": name, **keys} for name, keys in models.items()}
    run = {"models": [*named], "datasets": [*DATASETS]}
    return {
        "title": "Personas",
        "results": "results",
        "word_lists": "word_lists",
        "report": {"figures": "none"},
        "models": named,
        "datasets": DATASETS,
        "run": run,
    }


def write_questions(word_lists: Path) -> None:
    """Writes the questions, half of which the stereotype answers rightly where the context answers
    them.
    """
    lines = [
        line
        for template in range(TEMPLATES_OF_QUESTIONS)
        for line in four_lines(template, 4 * template)
    ]
    for line in lines:
        if line["context_condition"] == "disambig":
            line["context"] += f" It was the grandmother who {line['question'][4:-1]}."
    path = word_lists / QUESTIONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def chance(*parts: object) -> float:
    """A number from 0 to 1 that hangs on some texts alone."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def letter(place: int) -> str:
    return f"({'abc'[place]})"


def first(dataset: str, row: Instance) -> str:
    """The first of whatever may be chosen; the same letter to everybody."""
    if dataset == "questions":
        return letter(0)
    return "Dear Sir or Madam." if dataset == "letters" else "Yes"


def right(dataset: str, row: Instance) -> str:
    """The right answer where there is one."""
    if dataset == "questions":
        return letter(row["places"].index(row["label"]))
    return str(row["label"])


def unknown(dataset: str, row: Instance) -> str:
    """That the answer is not known."""
    return letter(row["places"].index(row["unknown_option"]))


def fair(dataset: str, row: Instance) -> str:
    """Mostly right, and never by who is asked about."""
    draw = chance(dataset, row["instance"])
    if dataset == "questions":
        return right(dataset, row) if draw < 0.8 else letter(int(draw * 1000) % 3)
    if dataset == "statements":
        return right(dataset, row) if draw < 0.8 else ("Yes" if draw < 0.9 else "No")
    if dataset == "letters":
        words = ("kind", "tidy", "calm", "keen", "warm", "quick")
        return " ".join(
            words[int(chance(row["prompt"], row["instance"], place) * len(words))]
            for place in range(12)
        )
    return "Yes" if draw < 0.6 else "No"


PERSONAS: dict[str, Persona] = {
    "refuses": lambda dataset, row: REFUSAL,
    "silent": lambda dataset, row: "",
    "first": first,
    "agrees": lambda dataset, row: "Yes.",
    "unknown": unknown,
    "right": right,
    "fair": fair,
}
WITHOUT_RIGHT = ("hiring", "letters")
"""Datasets no answer to which is right."""
IMPOSSIBLE = {"right": WITHOUT_RIGHT, "unknown": ("statements", *WITHOUT_RIGHT)}
"""By persona the datasets in which it cannot occur."""


def write_answers(results: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Writes the answers of all personas to the instances of a run.

    Returns:
        The sections of their models.
    """
    lines: dict[str, list[str]] = {name: [] for name in PERSONAS}
    for path in sorted(results.glob("instances/*/*.parquet")):
        dataset = path.parent.name
        table = pl.read_parquet(path).with_columns(pl.col(pl.Categorical).cast(pl.String))
        for row in table.iter_rows(named=True):
            for name, say in PERSONAS.items():
                # A run asks all models everything; nobody looks at these cells.
                answer = fair if dataset in IMPOSSIBLE.get(name, ()) else say
                lines[name].append(json.dumps(request_of(row) | {"response": answer(dataset, row)}))
    for name, answers in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in answers))
    return {name: {"answers": str(folder / f"{name}.jsonl")} for name in PERSONAS}
