"""The common content of the logs of harnesses: models, prompts and responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import as_fault

LARGEST_LOG = 4 * 2**30
"""Bytes that a log may have which is read as a whole."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class LogPart(BaseModel):
    """A part of a log; it may have other keys than those that are read, and numbers where texts are
    read.
    """

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


Part = TypeVar("Part", bound=LogPart)


class LogSample(NamedTuple):
    """A sample of a log.

    Attributes:
        where: its place in the file, for messages.
        fields: facts on the item in the log, such as its id and its category.
        prompts: the text that the model read, and texts that it was made of, by which an instance
            may be found; at least one.
        response: the text that it wrote, or the option that the harness read in it; None if it
            wrote nothing.
        scores: the log-likelihoods of options by their texts; empty if it wrote a text.
        epoch: 0 for the first time that the item was asked.
    """

    where: str
    fields: Mapping[str, Any]
    prompts: Sequence[str]
    response: str | None
    scores: Mapping[str, float]
    epoch: int = 0


class Log(NamedTuple):
    """The log of a task.

    Attributes:
        path: its file.
        source: `harness`, `version`, `model`, `task` and `date`, as far as they are known.
        samples: its samples, which may be read as they are taken, once.
    """

    path: Path
    source: Mapping[str, str]
    samples: Iterable[LogSample]

    @property
    def task(self) -> str:
        """The task's name in the harness."""
        return self.source["task"]


def known_facts(*, task: str, **facts: Any) -> dict[str, str]:
    """Returns the facts on the source of a log as texts, except those that are None or empty."""
    every_fact = facts | {"task": task}
    return {name: str(value) for name, value in every_fact.items() if value not in (None, "")}


def read_part(kind: type[Part], content: Any, path: Path, where: str, expected: str) -> Part:
    """Checks a part of a log.

    Args:
        kind: the type that it should have.
        content: the part as it was parsed, or its JSON in bytes.
        path: the log, for messages.
        where: the place of the part in it.
        expected: a description of the log or the part, for messages.

    Raises:
        InputError: with the first fault and its place.
    """
    try:
        if isinstance(content, bytes):
            return kind.model_validate_json(content)
        return kind.model_validate(content)
    except ValidationError as error:
        fault = as_fault(error.errors()[0], str(path))
        place = ", ".join(filter(None, (where, fault.where)))
        raise InputError([replace(fault, where=place, expected=expected)]) from None


def option_of_letter(letter: Any, options: Sequence[str] | None) -> str | None:
    """Returns the text of the option that a harness calls by a letter, None if it calls none."""
    if not options or not isinstance(letter, str) or len(letter) != 1:
        return None
    letters = LETTERS[: len(options)]
    return options[letters.index(letter)] if letter in letters else None


def one_of_each(logs: Sequence[Log]) -> list[Fault]:
    """Returns faults if logs are of two models, or of two runs of a task."""
    models = list(dict.fromkeys(log.source.get("model", "") for log in logs))
    if len(models) > 1:
        folder = str(logs[0].path.parent)
        problem = f"logs of {len(models)} models: {' and '.join(models)}"
        return [Fault(folder, "", problem, "logs of one model: give its folder or file")]
    first_of_task: dict[str, Log] = {}
    for log in logs:
        first = first_of_task.setdefault(log.task, log)
        if first is not log:
            problem = f"two runs of the task {log.task}: {first.path.name} and {log.path.name}"
            # Two runs are enough to tell; further ones add nothing.
            return [Fault(str(log.path.parent), "", problem, "one run: give its file")]
    return []
