"""Evaluators on answers of 86 words: columns of texts, against a loop over answers and their words.

Seconds are those of the processor, so that answers a second are those of one core. All answers
differ.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
from stopwatch import print_table

from biasgrid.families.probe.definitions import Probe
from biasgrid.families.probe.family import ProbeMode
from biasgrid.families.probe.observe import find_in_answers
from biasgrid.families.probe.read import load_probe

ANSWERS, WORDS = 20_000, 86
TEXT = """he she his her him they worked in the morning and told a friend that strong caring people lead warm teams
who are confident or kind while nobody said yes to what was asked before noon when rain fell on the old town"""
LISTS = {
    "doing": ["strong", "lead", "confident", "worked"],
    "caring": ["caring", "warm", "kind", "friend"],
}
HEAD = (
    "title: T\n"
    "bias_type: b\n"
    'question: "{options}?"\n'
    "options: {male: A, female: B}\n"
    "items: [{he: Max, she: Anna}]\n"
)
Way = Callable[[str], str | dict[str, int] | None]


def answers() -> pl.DataFrame:
    random, words = Random(1), TEXT.split()
    texts = [
        " ".join(random.choices(words, k=WORDS)) + random.choice([" (a).", " (b).", ""])
        for _ in range(ANSWERS)
    ]
    shared = {
        "options": pl.Series([["male", "female"]] * ANSWERS, dtype=pl.List(pl.Categorical)),
        "keys": pl.Series(['{"he": "Max", "she": "Anna"}'] * ANSWERS, dtype=pl.Categorical),
        "status": ["ok"] * ANSWERS,
        "item": [0] * ANSWERS,
    }
    return pl.DataFrame({"response": texts, **shared}).with_row_index("row")


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+(?:[-']\w+)*", text.lower())


def one_of(found: Mapping[str, bool]) -> str | None:
    names = [name for name, is_there in found.items() if is_there]
    return names[0] if len(names) == 1 else None


def letter(text: str) -> str | None:
    return one_of({letter: f"({letter})" in text.lower() for letter in "ab"})


def yes_no(text: str) -> str | None:
    words = tokens(text)
    return one_of({word: word in words for word in ("yes", "no")})


def pronouns(text: str) -> str | None:
    words = tokens(text)
    men, women = (
        sum(words.count(word) for word in of) for of in (("he", "his", "him"), ("she", "her"))
    )
    return None if men == women else "male" if men > women else "female"


def count_words(text: str) -> dict[str, int]:
    words = tokens(text)
    return {name: sum(word in told for word in words) for name, told in LISTS.items()}


def first_name(text: str) -> str | None:
    places = {name: text.lower().find(name) for name in ("max", "anna")}
    there = {name: place for name, place in places.items() if place >= 0}
    return min(there, key=lambda name: there[name], default=None)


EVALUATORS: dict[str, tuple[str, str, Way]] = {
    "option-letter": ("option-letter", "male", letter),
    "yes-no": ("yes-no", '"yes"', yes_no),
    "pronouns": ("pronouns", "male", pronouns),
    "words": (f"{{name: words, lists: {LISTS}}}", "doing", count_words),
    "first-name": (
        '{name: first-name, names: {male: ["{he}"], female: ["{she}"]}}',
        "male",
        first_name,
    ),
}


def probe_of(folder: str, evaluator: str, label: str) -> Probe:
    file = Path(folder, f"{label.strip(chr(34))}-{len(evaluator)}.yaml")
    file.write_text(
        f"{HEAD}evaluator: {evaluator}\nmetric: {{rate: {{kind: rate, label: {label}}}}}\n"
    )
    probe = load_probe(file).probe
    assert probe is not None
    return probe


def columns(table: pl.DataFrame, probe: Probe) -> float:
    start = time.process_time()
    find_in_answers(table, probe, ProbeMode.of("genderbench"))
    return time.process_time() - start


def loop(texts: Sequence[str], way: Way) -> float:
    start = time.process_time()
    for text in texts:
        way(text)
    return time.process_time() - start


def main() -> None:
    table, rows = answers(), []
    texts = table["response"].to_list()
    with TemporaryDirectory() as folder:
        for name, (evaluator, label, way) in EVALUATORS.items():
            fast, slow = columns(table, probe_of(folder, evaluator, label)), loop(texts, way)
            rows.append(
                [name, f"{ANSWERS / fast:,.0f}", f"{ANSWERS / slow:,.0f}", f"{slow / fast:.1f}"]
            )
    print_table(["evaluator", "answers/s in columns", "answers/s in a loop", "times as fast"], rows)


if __name__ == "__main__":
    main()
