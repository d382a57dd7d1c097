"""What the logs of harnesses have in common: who answered what, sample by sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.rows import OBJECT
from biasgrid.base.text import read_text

LARGEST_SAMPLES_FILE = 4 * 2**30
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class LogSample(NamedTuple):
    """A sample of a log.

    Attributes:
        where: its place in the file, for messages.
        fields: what the log says of the item, such as its id and its category.
        prompts: what the model read, and what that was made of, by which an instance may be found.
        response: what it wrote, or the text of the option that the harness read in that; None where it wrote nothing.
        scores: the log-likelihoods of options by their texts; empty where it wrote.
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
        samples: its samples.
    """

    path: Path
    source: Mapping[str, str]
    samples: Sequence[LogSample]

    @property
    def task(self) -> str:
        """The task's name in the harness."""
        return self.source["task"]


def known_facts(**facts: Any) -> dict[str, str]:
    """Returns what is known of where a log is from, as texts."""
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def objects_in_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects of a file that has one in each line, and their places.

    Raises:
        InputError: the file cannot be read, holds nothing, or a line is no object: the last one may be half written.
    """
    lines = [
        line
        for line in enumerate(read_text(path, OBJECT, LARGEST_SAMPLES_FILE).split("\n"), start=1)
        if line[1].strip()
    ]
    if not lines:
        raise InputError([Fault(str(path), "", "contains no samples", OBJECT)])
    for number, line in lines:
        where = f"line {number}"
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            half = "; it ends in the middle of a sample" if number == lines[-1][0] else ""
            expected = f"{OBJECT}; finish a run that was stopped first" if half else OBJECT
            raise InputError([Fault(str(path), where, f"not JSON ({error}){half}", expected)]) from None
        if not isinstance(content, dict):
            raise InputError([Fault(str(path), where, value_text(content), OBJECT)])
        yield where, content


def option_of_letter(letter: Any, options: Any) -> str | None:
    """Returns the text of the option that a harness calls by a letter, None where it is no letter of one."""
    if isinstance(options, list) and isinstance(letter, str) and len(letter) == 1 and letter in LETTERS[: len(options)]:
        return str(options[LETTERS.index(letter)])
    return None


def one_of_each(logs: Sequence[Log]) -> list[Fault]:
    """Returns faults of logs that cannot be of one model: they are of two, or of two runs of a task."""
    faults, models = [], list(dict.fromkeys(log.source.get("model", "") for log in logs))
    if len(models) > 1:
        problem = f"logs of {len(models)} models: {' and '.join(models)}"
        faults.append(Fault(str(logs[0].path.parent), "", problem, "logs of one model: give its folder or file"))
    for place, log in enumerate(logs):
        same = [other for other in logs[:place] if other.task == log.task and not faults]
        if same:
            problem = f"two runs of the task {log.task}: {same[0].path.name} and {log.path.name}"
            faults.append(Fault(str(log.path.parent), "", problem, "one run: give its file"))
    return faults
