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
        """Takes an example; adds a fault if it is no object.

        Args:
            file: the file.
            where: the path of the example in it.
            content: the example.
            faults: the list to which faults are added.
        """
        self.file, self.where, self.faults = file, where, faults
        self.content: Mapping[str, Any] = content if isinstance(content, dict) else {}
        if not isinstance(content, dict):
            self.refuse("", value_text(content), "an example with context, target and sentences")

    def refuse(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault of a field, or of the whole example if the field is empty."""
        place = f"{self.where}.{field}" if field else self.where
        self.faults.append(Fault(self.file, place, problem, expected))

    def text(self, field: str) -> str:
        """Returns a text of the example; empty, with a fault, if there is none."""
        return self.check_text(field, self.content.get(field))

    def check_text(self, field: str, value: Any) -> str:
        """Returns the value of a field if it is text; else an empty one, with a fault."""
        if isinstance(value, str) and value.strip():
            return value
        self.refuse(field, "missing" if value is None else value_text(value), "text")
        return ""

    def sentences(self) -> dict[str, tuple[str, str]]:
        """Returns id and text of each sentence by its label.

        It is empty, with a fault, if not all three labels are there once.
        """
        contents = self.content.get("sentences")
        if not isinstance(contents, list) or not all(isinstance(item, dict) for item in contents):
            self.refuse("sentences", value_text(contents), "a list of three sentences")
            return {}
        labels = [content.get("gold_label") for content in contents]
        if sorted(map(str, labels)) != sorted(GOLD):
            problem = f"the gold labels {', '.join(map(str, labels))}"
            self.refuse("sentences", problem, f"{', '.join(GOLD)}, each once")
            return {}
        sentences: dict[str, tuple[str, str]] = {}
        for number, content in enumerate(contents):
            place = f"sentences[{number}]"
            sentence_id = self.check_text(f"{place}.id", content.get("id"))
            text = self.check_text(f"{place}.sentence", content.get("sentence"))
            sentences[content["gold_label"]] = (sentence_id, text)
        return sentences


def pairs_of(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the examples of a file that have no faults, with the name of their task.

    Args:
        path: the file.
        faults: the list to which the faults of the others are added.
    """
    try:
        content = read_json(path, EXPECTED)
    except InputError as error:
        faults += error.faults
        return
    file = str(path)
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict) or not data.keys() & {*TASKS}:
        expected = f"lists of examples by {one_of(TASKS)}"
        faults.append(Fault(file, "data", value_text(data), expected))
        return
    for task in TASKS:
        examples = data.get(task, [])
        if not isinstance(examples, list):
            faults.append(Fault(file, f"data.{task}", value_text(examples), "a list of examples"))
            continue
        for number, item in enumerate(examples):
            example = StereoSetExample(file, f"data.{task}[{number}]", item, faults)
            pair = pair_of(example, task) if example.content else None
            if pair is not None:
                yield pair


def pair_of(example: StereoSetExample, task: str) -> SentencePair | None:
    """Reads an example; None if it has faults.

    Args:
        example: the example.
        task: its task, one of `TASKS`.
    """
    before = len(example.faults)
    name, target, bias_type = (example.text(field) for field in ("id", "target", "bias_type"))
    context, sentences = example.text("context"), example.sentences()
    words_with_blank = sum(BLANK in word for word in context.split(" "))
    if task == INTRASENTENCE and context and words_with_blank != 1:
        example.refuse("context", repr(context), f"{BLANK} in one word")
    if len(example.faults) > before:
        return None
    (more_id, more), (less_id, less), (unrelated_id, unrelated) = (
        sentences[label] for label in GOLD
    )
    return SentencePair(
        name=name,
        more=more,
        less=less,
        type=bias_type.strip(),
        target=target,
        task=task,
        context=context,
        unrelated=unrelated,
        ids=(more_id, less_id, unrelated_id),
        where=example.where,
    )
