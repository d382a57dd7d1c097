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
"""Largest size in bytes of a log that is read as a whole."""
OPTION_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters of answer options in prompts of harnesses, in the order of the options."""


class LogPart(BaseModel):
    """A part of a log. Other keys are ignored, and numbers are accepted in place of texts."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


Part = TypeVar("Part", bound=LogPart)


class LogSample(NamedTuple):
    """A sample of a log.

    Attributes:
        where: its place in the file, for messages.
        fields: facts on the item in the log, such as its id and its category.
        prompts: the text that the model read, and texts that it was made from, by which an instance
            may be found; at least one.
        response: the text that the model wrote, or the option that the harness read in it; None if
            options were scored.
        scores: the log-likelihoods of options by their texts; empty if a text was written.
        epoch: the number of earlier responses to the item, 0 for the first.
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
        source: `task` and, as far as they are known, `harness`, `version`, `model` and `date`; from
            `source_facts`.
        samples: its samples, which can be iterated once. Some are read from the file only then, so
            iterating may raise InputError.
    """

    path: Path
    source: Mapping[str, str]
    samples: Iterable[LogSample]

    @property
    def task(self) -> str:
        """The task's name in the harness."""
        return self.source["task"]


def source_facts(*, task: str, **facts: Any) -> dict[str, str]:
    """Returns the source of a log, see `Log`. Facts that are None or empty are left out."""
    all_facts = facts | {"task": task}
    return {name: str(value) for name, value in all_facts.items() if value not in (None, "")}


def read_part(kind: type[Part], content: Any, path: Path, where: str, expected: str) -> Part:
    """Parses a part of a log as a type.

    Args:
        kind: the type.
        content: parsed JSON, or its bytes.
        path: the log, for messages.
        where: the place of the part in the log, empty for the whole log.
        expected: a description of the log or the part, for messages.

    Raises:
        InputError: the part does not have this type. It has the first fault alone.
    """
    try:
        if isinstance(content, bytes):
            return kind.model_validate_json(content)
        return kind.model_validate(content)
    except ValidationError as error:
        fault = as_fault(error.errors()[0], str(path))
        place = ", ".join(filter(None, (where, fault.where)))
        raise InputError([replace(fault, where=place, expected=expected)]) from None


def lettered_option(letter: Any, options: Sequence[str] | None) -> str | None:
    """Returns the option with a letter, or None if the value is not the letter of an option.

    Args:
        letter: any value that a harness extracted from a response.
        options: the options in the order of their letters; None without options.
    """
    if not options or not isinstance(letter, str) or len(letter) != 1:
        return None
    letters = OPTION_LETTERS[: len(options)]
    return options[letters.index(letter)] if letter in letters else None


def check_single_run(logs: Sequence[Log]) -> None:
    """Refuses logs of two models, and two logs of one task.

    Raises:
        InputError: there are such logs. It has the first fault alone.
    """
    models = list(dict.fromkeys(log.source.get("model", "") for log in logs))
    if len(models) > 1:
        folder = str(logs[0].path.parent)
        problem = f"logs of {len(models)} models: {' and '.join(models)}"
        expected = "logs of one model: give its folder or file"
        raise InputError([Fault(folder, "", problem, expected)])
    log_by_task: dict[str, Log] = {}
    for log in logs:
        if log.task in log_by_task:
            earlier = log_by_task[log.task].path.name
            problem = f"two runs of the task {log.task}: {earlier} and {log.path.name}"
            fault = Fault(str(log.path.parent), "", problem, "one run: give its file")
            raise InputError([fault])
        log_by_task[log.task] = log
