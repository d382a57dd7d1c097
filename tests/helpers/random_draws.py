"""Random choices, random files of word lists, and the models that random datasets are asked of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

Choice = TypeVar("Choice")
HIDDEN_CHARACTER = "\N{ZERO WIDTH SPACE}"


class Draws:
    """Random choices of one seed.

    Attributes:
        random: the generator behind all of them.
    """

    def __init__(self, *names: str | int) -> None:
        """Seeds the generator with names and numbers; the same ones give the same choices."""
        self.random = np.random.default_rng(crc32("|".join(map(str, names)).encode()))

    def is_drawn(self, probability: float) -> bool:
        """Returns True with the given probability."""
        return bool(self.random.random() < probability)

    def number(self, least: int, most: int) -> int:
        """Returns a whole number from `least` to `most`, both included."""
        return int(self.random.integers(least, most + 1))

    def pick(self, options: Sequence[Choice]) -> Choice:
        """Returns one of some options."""
        return options[self.number(0, len(options) - 1)]

    def several(self, options: Sequence[Choice], least: int = 1) -> list[Choice]:
        """Returns at least so many of some options, in their order."""
        count = self.number(least, len(options))
        places = self.random.permutation(len(options))[:count]
        return [options[place] for place in sorted(places.tolist())]

    def keys(self, probability: float, **keys: Any) -> dict[str, Any]:
        """Returns some of the given keys, each with the given probability."""
        return {name: value for name, value in keys.items() if self.is_drawn(probability)}


class RandomDataset(NamedTuple):
    """A dataset whose files are written.

    Attributes:
        section: its keys in a config.
        models: the models that it is asked of, names of `MODELS`.
        config: other keys of the config.
    """

    section: Mapping[str, Any]
    models: Sequence[str]
    config: Mapping[str, Any] = {}


def local_model(task: str, **keys: Any) -> dict[str, Any]:
    """Returns the keys of a model with weights, which nobody loads."""
    weights = {"checkpoint": f"org/{task}", "revision": "main"}
    return {"task": task, "kind": task, "label": task} | weights | keys


MODELS = {
    "masked": local_model("fill-mask", variant="lm-tiny"),
    "spans": local_model("question-answering", variant="qa"),
    "abstaining": local_model("question-answering", variant="qa", no_answer=True),
    "options": local_model("multiple-choice"),
    "classes": local_model("text-classification", labels={"bad": "NEG", "good": "POS"}),
    "inferences": local_model(
        "text-classification", labels={"entailment": "E", "neutral": "N", "contradiction": "C"}
    ),
    "writer": local_model("text-generation", variant="llm"),
    "server": {
        **{"task": "text-generation", "variant": "llm", "kind": "Server", "label": "server"},
        "endpoint": {"url": "http://127.0.0.1:9/v1", "model": "small"},
    },
    "texts": {
        **{"task": "text-generation", "variant": "llm", "kind": "Texts", "label": "texts"},
        "answers": "texts.jsonl",
    },
    "numbers": {
        **{"task": "text-generation", "variant": "llm", "kind": "Numbers", "label": "numbers"},
        "answers": "numbers.jsonl",
    },
    "harm": local_model("text-classification", scorer={"labels": ["toxic"]}),
    "places": local_model("feature-extraction"),
}
"""All models, by name. No weights are loaded and no server is asked: their answers are random."""


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes lines of text; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes a JSON object a line."""
    write_lines(path, map(json.dumps, rows))


def write_json(path: Path, content: Any) -> None:
    """Writes JSON, which is YAML too, a line for each value."""
    write_lines(path, [json.dumps(content, indent=1)])


def damage(folder: Path, draws: Draws) -> None:
    """Damages one line of one file, so that readers may find a fault."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = draws.pick(files)
    lines = path.read_text(encoding="utf-8").splitlines()
    place = draws.number(0, len(lines) - 1)
    line = lines[place]
    half = len(line) // 2
    mended = {
        "deleted": [],
        "twice": [line, line],
        "cut": [line[:half]],
        "empty": [""],
        "hidden": [line[:half] + HIDDEN_CHARACTER + line[half:]],
        "unquoted": [line.replace('"', "", 1)],
        "without commas": [line.replace(",", " ")],
        "with digits": [line.replace("e", "7")],
    }
    lines[place : place + 1] = mended[draws.pick(list(mended))]
    write_lines(path, lines)
