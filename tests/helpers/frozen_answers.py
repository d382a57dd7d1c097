"""Makes the stored answers of the frozen grid: of tiny checkpoints, and of worlds with a known
bias.

`make freeze ANSWERS=1` runs it. That is rarely needed: after the grid's lists or config have
changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
import yaml
from answer_files import answer_rows, write_answers
from shards import Cell
from small_tables import predictions_of, whole
from tiny_checkpoints import save_classifier, save_models_of_lists
from tiny_writers import save_writer
from transformers import AutoModelForMultipleChoice, AutoTokenizer

from biasgrid.base.references import load, stage_module
from biasgrid.config import parse_config
from biasgrid.config.sections import Config
from biasgrid.formats.unqover.export import output_json
from biasgrid.inference.engine.back_end import columns_with_prefix

FROZEN = Path(__file__).parents[1] / "frozen"
STRENGTH = 1.5
"""How far the biased models' logits of what agrees with their bias are from those of what does
not.
"""
SEED = 57
GENERATION = {
    "max_tokens": 8,
    "temperature": 1.0,
    "top_p": 1.0,
    "seed": 1,
    "thinking": False,
    "options": "scored",
}
WRITER = {"generation": GENERATION, "chat_template": True, "date": "2024-07-26"}
SCORINGS = {"fill-mask": "pll", "text-generation": "sum"}
ADJECTIVES = ("kind", "calm", "brave", "grim", "rude", "awful")
Numbers = npt.NDArray[np.float64]


def make_answers(work: Path) -> None:
    """Writes the answers of all models, and the dumps, anew.

    Args:
        work: a folder for checkpoints.
    """
    for name in ("answers", "dumps"):
        rmtree(FROZEN / name, ignore_errors=True)
    config = read_config()
    checkpoints = make_checkpoints(work)
    made: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for model, dataset in config.cells():
        if config.models[model].source.brings_instances:
            continue
        question, instances = config.question(model, dataset), instances_of(config, model, dataset)
        if model.endswith("-a"):
            said = simulated(question.answer, instances)
        else:
            said = Answerer(config, model, dataset, checkpoints, work).ask(instances)
        classes = list(config.models[model].labels.values())
        for row in answer_rows(question.answer, instances, said, classes):
            key = tuple(row.get(name) for name in ("prompt", "text_pair", "group", "repetition"))
            before = made.setdefault(model, {}).setdefault(key, row)
            before |= row
        if dataset in config.models["dump-a"].predictions and model == "span-a":
            write_dump(FROZEN / f"dumps/{dataset}-a.json", instances, said)
    for model, rows in made.items():
        # The first row decides whether a file has numbers.
        ordered = sorted(rows.values(), key=lambda row: "probabilities" not in row)
        write_answers(FROZEN / f"answers/{model}.parquet", ordered)
    texts = {
        row["response"]
        for model in ("chat-a", "chat-b")
        for row in made[model].values()
        if row.get("response")
    }
    write_answers(
        FROZEN / "answers/harm.parquet",
        [{"prompt": text, "score": harm(text)} for text in sorted(texts)],
    )
    vectors = [{"prompt": text, "vector": vector_of(text)} for text in sorted(texts)]
    write_answers(FROZEN / "answers/places.parquet", vectors)


def read_config() -> Config:
    """The grid, in which each file of answers says that it has numbers until it is made."""
    content = yaml.safe_load((FROZEN / "config.yaml").read_text().replace("frozen/", f"{FROZEN}/"))
    for section in content["models"].values():
        if "answers" in section:
            write_answers(Path(section["answers"]), [{"prompt": "?", "probabilities": {"?": 1.0}}])
        for dump in section.get("predictions", {}).values():
            Path(dump["file"]).parent.mkdir(exist_ok=True)
            Path(dump["file"]).write_text("{}")
    return parse_config(content, "config.yaml")


def instances_of(config: Config, model: str, dataset: str) -> pl.DataFrame:
    """What a model is asked of a dataset."""
    family, question = config.family_reference(dataset), config.question(model, dataset)
    lists, faults = load(stage_module(family, "reading")).read(
        config.files(dataset, question.variant)
    )
    assert not faults, faults
    return whole(load(stage_module(family, "expand")).expand(lists))


def make_checkpoints(folder: Path) -> dict[str, Path]:
    """Tiny checkpoints with random weights that know the words of the lists, by task."""
    files = [
        path
        for path in (FROZEN / "word_lists").rglob("*")
        if path.suffix in (".txt", ".json", ".csv")
    ]
    torch.manual_seed(SEED)
    save_models_of_lists(files, folder)
    save_classifier(folder / "classes", folder / "lm", ["negative", "positive"])
    AutoModelForMultipleChoice.from_pretrained(folder / "lm").save_pretrained(folder / "options")
    AutoTokenizer.from_pretrained(folder / "lm").save_pretrained(folder / "options")
    save_writer(folder / "writer", positions=512, ends=10)
    names = {"fill-mask": "lm", "question-answering": "qa", "text-classification": "classes"}
    names |= {"multiple-choice": "options", "text-generation": "writer"}
    return {task: folder / name for task, name in names.items()}


class Answerer:
    """Asks the checkpoint of a task what a model of the grid is asked."""

    def __init__(
        self, config: Config, model: str, dataset: str, checkpoints: Mapping[str, Path], work: Path
    ):
        self.task, self.question = config.models[model].task, config.question(model, dataset)
        self.folder, self.checkpoint = work / "cells" / f"{dataset}-{model}", checkpoints[self.task]

    def ask(self, instances: pl.DataFrame) -> pl.DataFrame:
        choices = dict(self.question.settings)
        if self.question.answer == "likelihood":
            choices["scoring"] = SCORINGS[self.task]
        elif self.task == "text-generation":
            choices |= WRITER
        return Cell(self.folder, self.task, instances, self.checkpoint).predict(
            answer=self.question.answer, **choices
        )


def write_dump(path: Path, instances: pl.DataFrame, predictions: pl.DataFrame) -> None:
    """Writes answers as a dump of UnQover."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(output_json(instances, predictions, "exact")))


def simulated(kind: str, instances: pl.DataFrame) -> pl.DataFrame:
    """Answers of a model with a known bias: its logits hang on the groups that are asked about,
    with some noise.
    """
    generator = np.random.default_rng([SEED, crc32(kind.encode()), len(instances)])
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_dicts()
    noise: Numbers = generator.normal(0, 0.5, size=(len(rows), 8))
    made = [SIMULATED[kind](row, noise[place]) for place, row in enumerate(rows)]
    columns = {name: [each[name] for each in made] for name in made[0]}
    return predictions_of(kind, instances, **columns)


def sign(*names: object) -> int:
    """-1 or 1, by names."""
    return 1 if crc32("|".join(map(str, names)).encode()) % 2 else -1


def lean(row: Mapping[str, Any], option: str, place: int) -> float:
    """How far a model leans towards an option, in units of its strength."""
    if "attribute" in row:
        of_subject = sign(row[f"group{place + 1}"] or row[f"subject{place + 1}"], row["attribute"])
        return -of_subject if row["negated"] else of_subject
    if "gender" in row and "race" in row:
        person = (
            (row["gender"] == "male") + 0.5 * (row["race"] == "blue") + 0.01 * (row["age"] - 40)
        )
        return person if option == "Yes" else 0.0
    if "unknown_option" in row:
        names = row["options"]
        chosen = names.index(option) if option in names else place
        right, target = chosen == row["label"], chosen == row["target"]
        return 0.8 * right + 1.2 * target
    if "domains" in row:
        agrees = sign(row["classes"][0], row["classes"][-1]) * (-1 if row["negated"] else 1)
        return agrees if option == "Yes" else 0.0
    return sign(row.get("group"), option) + (
        1.5 * (row["label"] == place) if row.get("label") is not None else 0.0
    )


def shares(
    row: Mapping[str, Any], options: Sequence[str], noise: Numbers, mass: float = 0.9
) -> list[float]:
    """Probabilities of options, in single precision."""
    logits = np.array([STRENGTH * lean(row, option, place) for place, option in enumerate(options)])
    weights = np.exp(logits + noise[: len(options)])
    return [float(share) for share in (mass * weights / weights.sum()).astype(np.float32)]


def candidates_of(row: Mapping[str, Any]) -> list[str]:
    names = columns_with_prefix(pl.DataFrame([row]).head(0), "candidate")
    return [row[name] for name in names if row[name] is not None]


def choose(row: Mapping[str, Any], noise: Numbers) -> dict[str, Any]:
    options = candidates_of(row) or ["NEGATIVE", "POSITIVE"]
    return {"probabilities": shares(row, options, noise, 0.9 if candidates_of(row) else 1.0)}


def point(row: Mapping[str, Any], noise: Numbers) -> dict[str, Any]:
    """The span of a candidate, or the right answer or another one."""
    options = candidates_of(row)
    if not options:
        said = (
            row["answer"] if STRENGTH * sign(row["group"]) + 4 * noise[0] > -0.5 else "in the park"
        )
        return {"starts": [], "ends": [], "answer": said, "probability": 0.5}
    starts, ends = shares(row, options, noise), shares(row, options, noise[4:])
    best = int(np.argmax(np.array(starts) * np.array(ends)))
    return {
        "starts": starts,
        "ends": ends,
        "answer": options[best],
        "probability": float(starts[best] * ends[best]),
    }


def write(row: Mapping[str, Any], noise: Numbers) -> dict[str, Any]:
    """The likelier answer, a refusal, or a sentence about a group."""
    if "original" in row:
        strength = 2 if row["group"] == "female" else -1
        place = int(np.clip(np.round(2.5 + strength + 2 * noise[0]), 0, len(ADJECTIVES) - 1))
        said = (
            "I think that is "
            f"{ADJECTIVES[place]}, and {ADJECTIVES[int(abs(noise[1]) * 8) % len(ADJECTIVES)]}."
        )
        return {"response": said, "status": "ok"}
    options = row.get("options") or ["Yes", "No"]
    letters = [f"({letter})" for letter in "abc"] if "keys" in row else options
    best = int(np.argmax(shares(row, options, noise)))
    said = "I cannot help with that." if noise[7] > 0.9 else f"{letters[best]}."
    return {"response": said, "status": "ok"}


def score_sentence(row: Mapping[str, Any], noise: Numbers) -> dict[str, Any]:
    agrees = row["role"] == "more"
    return {
        "score": -10.0 + (STRENGTH / 3) * agrees + float(noise[0]),
        "scoring": "published",
        "truncated": False,
    }


SIMULATED = {"choice": choose, "span": point, "text": write, "likelihood": score_sentence}


def harm(text: str) -> float:
    """How harmful a text is: by its words, with something of its own."""
    words = sum(text.count(word) for word in ADJECTIVES[3:])
    return float(np.float32(min(0.1 + 0.35 * words + (crc32(text.encode()) % 100) / 1000, 1)))


def vector_of(text: str) -> list[float]:
    """The sum of vectors of a text's words."""
    words = [
        np.random.default_rng(crc32(word.encode())).normal(size=8) for word in text.lower().split()
    ] or [np.ones(8)]
    total = np.sum(words, axis=0)
    return [float(number) for number in (total / np.linalg.norm(total)).astype(np.float32)]
