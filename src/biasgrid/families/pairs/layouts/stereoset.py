"""StereoSet (Nadeem, Bethke and Reddy, ACL 2021): the objects of `dev.json` or `test.json`.

An example has a target term and three sentences: a stereotype, an anti-stereotype, and one that is
unrelated. In the task `intrasentence` they fill a blank of the context; in `intersentence` they
follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.text import read_json
from biasgrid.families.pairs.items import INTRASENTENCE, TASKS, SentencePair
from biasgrid.inference.scorings import BLANK

GOLD = ("stereotype", "anti-stereotype", "unrelated")
"""The labels of the sentences of an example, in the order of `items.ROLES`."""
EXPECTED = "a file of StereoSet: an object `data` with a list of examples for each task"


class StereoSetExample:
    """An example, whose fields are checked as they are read."""

    def __init__(self, file: str, where: str, content: Any, faults: list[Fault]):
        """Takes what stands in the file.

        Args:
            file: the file.
            where: the path of the example in it.
            content: the example.
            faults: takes what is wrong.
        """
        self.file, self.where, self.faults = file, where, faults
        self.content: Mapping[str, Any] = content if isinstance(content, dict) else {}
        if not isinstance(content, dict):
            self.refuse("", value_text(content), "an example with context, target and sentences")

    def refuse(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault of a field."""
        place = f"{self.where}.{field}" if field else self.where
        self.faults.append(Fault(self.file, place, problem, expected))

    def text(self, field: str, content: Mapping[str, Any] | None = None, before: str = "") -> str:
        """Returns a text of the example, or of a part of it; empty where there is none."""
        value = (self.content if content is None else content).get(field)
        if isinstance(value, str) and value.strip():
            return value
        self.refuse(f"{before}{field}", "missing" if value is None else value_text(value), "text")
        return ""

    def sentences(self) -> dict[str, tuple[str, str]]:
        """Returns id and text of each sentence by its label; all three labels must be there
        once.
        """
        listed = self.content.get("sentences")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            self.refuse("sentences", value_text(listed), "a list of three sentences")
            return {}
        found: dict[str, tuple[str, str]] = {}
        labels = [each.get("gold_label") for each in listed]
        if sorted(map(str, labels)) != sorted(GOLD):
            self.refuse(
                "sentences",
                f"the gold labels {', '.join(map(str, labels))}",
                f"{', '.join(GOLD)}, each once",
            )
            return {}
        for number, each in enumerate(listed):
            before = f"sentences[{number}]."
            found[each["gold_label"]] = (
                self.text("id", each, before),
                self.text("sentence", each, before),
            )
        return found


def pairs_of(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the examples of a file, with the name of their task."""
    try:
        content = read_json(path, EXPECTED)
    except InputError as error:
        faults += error.faults
        return
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict) or not data.keys() & {*TASKS}:
        faults.append(
            Fault(str(path), "data", value_text(data), f"lists of examples by {one_of(TASKS)}")
        )
        return
    for task in TASKS:
        examples = data.get(task, [])
        if not isinstance(examples, list):
            faults.append(
                Fault(str(path), f"data.{task}", value_text(examples), "a list of examples")
            )
            continue
        for number, each in enumerate(examples):
            example = StereoSetExample(str(path), f"data.{task}[{number}]", each, faults)
            if example.content and (pair := pair_of(example, task)):
                yield pair


def pair_of(example: StereoSetExample, task: str) -> SentencePair | None:
    """Reads an example; None where something is wrong with it."""
    before = len(example.faults)
    name, target, kind = (example.text(field) for field in ("id", "target", "bias_type"))
    context, sentences = example.text("context"), example.sentences()
    if task == INTRASENTENCE and context and sum(BLANK in word for word in context.split(" ")) != 1:
        example.refuse("context", repr(context), f"{BLANK} in one word")
    if len(example.faults) > before:
        return None
    more, less, unrelated = (sentences[label] for label in GOLD)
    return SentencePair(
        name=name,
        more=more[1],
        less=less[1],
        type=kind.strip(),
        target=target,
        task=task,
        context=context,
        unrelated=unrelated[1],
        ids=(more[0], less[0], unrelated[0]),
        where=example.where,
    )
