"""Lets GenderBench itself ask its probes, find what stands in random answers and reckon its
metrics, and logs that.

`python genderbench_itself.py SOURCE FOLDER` writes a log for each probe, and `marks.json`. Five of
the logs are of whole probes, with the answers of the golden files; the others are of some items.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import nltk
import pandas as pd

from biasgrid.formats.genderbench.making import harness_probes, open_package

ASKING = ("anthropic", "nest_asyncio", "openai")
"""What asks models, which nothing here does."""
SOME = {"HiringAnProbe": 700, "HiringBloombergProbe": 64}
"""How many items are asked; of other probes 150. Those of HiringBloomberg have long texts."""
GOLDEN = {
    "BbqProbe": "abc",
    "DirectProbe": "yesno",
    "InventoriesProbe": "story",
    "JobsLumProbe": "story",
    "RelationshipLevyProbe": "ab",
}
"""Which probes the golden files have, and how they are answered."""
PLAUSIBLE = {
    "abc": ["(a)", "(b)", "(c)", "(C) because it fits.", "Either (a) or (b).", "None of them."],
    "yesno": ["Yes.", "No.", "yes", "no", "I can't say yes or no.", "Maybe."],
    "ab": ["(a)", "(b)", "(b).", "(a) or (b)", "Neither."],
    "story": [
        "He was born in a small town. His father taught him.",
        "She grew up by the sea and her mother sang.",
        "They are a quiet person with no known past.",
        "He told her that she could go; she did.",
        "He met her.",
    ],
}
"""The answers of the golden files, which are drawn by the digest of the prompt."""
LETTERS = ["(a)", "(b)", "(C), I think", "(a) or (b)", "None."]
YES_NO = ["Yes.", "no", "No, it is not.", "Perhaps.", "Yes and no."]
STORIES = [
    "He sang to his son.",
    "She sang.",
    "Her boat sank, and she with it",
    "They sang.",
    "He told her",
]
HIRING = [
    "We regret to inform you.",
    "Dear you, You have been selected!",
    "You have been selected",
    "Thank you.",
]
ANSWERS = {
    "BbqProbe": LETTERS,
    "DirectProbe": YES_NO,
    "DiscriminationTamkinProbe": YES_NO,
    "DiversityMedQaProbe": [*LETTERS, "(d)", "(e)"],
    "DreadditProbe": YES_NO,
    "GestCreativeProbe": STORIES,
    "GestProbe": LETTERS,
    "HiringAnProbe": HIRING,
    "InventoriesProbe": STORIES,
    "IsearProbe": ["Anger", "joy", "joy.", "fear", "Regret", "guilt and shame", "calm"],
    "JobsLumProbe": STORIES,
    "RelationshipLevyProbe": LETTERS,
}


class Answering:
    """Answers the prompts of a probe, as a generator of GenderBench does."""

    def __init__(self, answer: Callable[[Any], str], probe: Any):
        self.answer, self.probe = answer, probe

    def generate(self, texts: list[str]) -> list[str]:
        return [self.answer(attempt) for attempt in self.probe.attempts]


class Drawing:
    """Draws plausible answers by the digest of the prompt, and of how often the same prompt was
    asked before.
    """

    def __init__(self, kind: str):
        self.answers = PLAUSIBLE[kind]

    def generate(self, texts: list[str]) -> list[str]:
        asked: Counter[str] = Counter()
        found = []
        for text in texts:
            number = int(sha256(f"{text}\x1f{asked[text]}".encode()).hexdigest()[:8], 16)
            found.append(self.answers[number % len(self.answers)])
            asked[text] += 1
        return found


def answers_of(probe: Any) -> Callable[[Any], str]:
    """Returns what gives an attempt of a probe a random answer."""
    name, random = type(probe).__name__, Random(7)
    if name == "HiringBloombergProbe":
        return lambda attempt: random.choice(
            [
                "None of them.",
                *attempt.prompt.metadata["male_names"],
                *attempt.prompt.metadata["female_names"],
            ]
        )
    if name == "BusinessVocabularyProbe":
        words = [
            word for lists in probe.inventories.values() for of in lists.values() for word in of
        ]
        return lambda attempt: f"Very {', '.join(random.choices(words, k=5))} and tall"
    return lambda attempt: random.choice(ANSWERS[name])


def read_csv(path: Any, *arguments: Any, **options: Any) -> pd.DataFrame:
    """Reads a table, of sentences that are on the hub made-up ones."""
    if str(path).startswith("hf://"):
        rows = [
            (f"Sentence {number} of {kind}.", kind) for kind in range(1, 17) for number in range(6)
        ]
        return pd.DataFrame(rows, columns=["sentence", "stereotype"])
    return pandas_reads(path, *arguments, **options)


pandas_reads = pd.read_csv


def log_of(probe: Any, generator: Any, folder: Path) -> None:
    """Asks a probe whose items are made, and logs what comes of it."""
    probe.generate(generator)
    probe.evaluate()
    probe.calculate_metrics()
    probe.log_dir = folder
    probe.log_current_state()
    probe.log_file.rename(folder / f"{type(probe).__name__}.jsonl")


def run(source: str, folder: Path) -> None:
    """Asks all probes."""
    # The data that divide texts into sentences are not at hand: an answer is one sentence, whatever
    # it is.
    nltk.download = lambda *arguments, **options: True
    nltk.word_tokenize = nltk.tokenize.word_tokenize = partial(
        nltk.tokenize.word_tokenize, preserve_line=True
    )
    pd.read_csv = read_csv
    open_package(source, ASKING)
    if sys.version_info < (3, 12):
        # Its metrics of HiringAn ask for the names around a comprehension, which are no names
        # within it before 3.12.
        hiring = import_module("genderbench.probes.hiring_an.hiring_an_metric_calculator")
        vars(hiring)["locals"] = lambda: sys._getframe(2).f_locals
    folder.mkdir(parents=True)
    marks = {}
    for probe in harness_probes():
        name = type(probe).__name__
        probe.calculate_cis = False
        marks[name] = {
            one.metric_name: [one.mark_ranges, one.harm_types] for one in probe.mark_definitions
        }
        probe.create_probe_items()
        if name in GOLDEN:
            log_of(probe, Drawing(GOLDEN[name]), folder)
            continue
        items = probe.probe_items
        probe.probe_items = Random(5).sample(items, min(SOME.get(name, 150), len(items)))
        log_of(probe, Answering(answers_of(probe), probe), folder)
    (folder / "marks.json").write_text(json.dumps(marks))


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
