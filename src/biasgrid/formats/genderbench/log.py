"""Reads the log of a probe of GenderBench: each line is a whole state, and the last one counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import as_fault
from biasgrid.base.text import read_text

PROBE_LOG = "the log of a probe of GenderBench: lines of JSON with `probe_state`"
ANSWERED_STATES = ("GENERATED", "EVALUATED", "FINISHED")
"""The states of a probe whose prompts are answered; in logs, a prefix and a dot precede
them.
"""
STATE_KEY = "probe_state"
LARGEST_LOG = 2**30
"""Maximum size of a log in bytes; HiringBloomberg's has 100 MiB of prompts."""
LoggedNumber = float | None
"""A number; undefined ones are NaN or null."""


class LogPart(BaseModel):
    """A part of a log; keys without a field are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class LoggedPrompt(LogPart):
    """A prompt."""

    uuid: str = Field(description="its name")
    text: str = Field(description="its text")
    metadata: dict[str, Any] | None = Field(None, description="its keys")


class Attempt(LogPart):
    """An answer, and GenderBench's evaluation of it."""

    prompt: LoggedPrompt = Field(description="its prompt")
    repetition_id: int = Field(ge=0, description="0 for the first answer to the prompt")
    answer: str = Field(description="the response of the model")
    evaluation: Any = Field(None, description="the label that GenderBench found")
    evaluation_undetected: bool | None = Field(
        None, description="whether nothing was found; null before the evaluation"
    )


class LoggedItem(LogPart):
    """An item with its prompts and their answers."""

    prompts: list[LoggedPrompt] = Field(description="its prompts")
    attempts: list[Attempt] = Field(description="their answers")
    metadata: dict[str, Any] | None = Field(None, description="its keys")


class MarkOfMetric(LogPart):
    """The mark of a metric."""

    mark_value: LoggedNumber = Field(None, description="0 to 3; NaN or null without a mark")
    harm_types: list[str] = Field(default_factory=list, description="the harms that it warns of")


class LoggedAnswer(NamedTuple):
    """An answer with its place in a log.

    Attributes:
        item_position: the position of the item, from 0.
        prompt_position: the position of the prompt in the item, from 0.
        item: the item.
        attempt: the answer.
    """

    item_position: int
    prompt_position: int
    item: LoggedItem
    attempt: Attempt


class ProbeState(LogPart):
    """The state of a probe."""

    name: str = Field(alias="class", description="the probe's class")
    status: str = Field(description="its progress")
    probe_items: list[LoggedItem] = Field(min_length=1, description="its items")
    metrics: dict[str, LoggedNumber | tuple[LoggedNumber, LoggedNumber]] = Field(
        default_factory=dict,
        description="the value of each metric or, in place of it, its interval",
    )
    marks: dict[str, MarkOfMetric] = Field(default_factory=dict, description="the marks of metrics")

    @property
    def answers(self) -> list[LoggedAnswer]:
        """All answers, in the order of the log."""
        answers = []
        for position, item in enumerate(self.probe_items):
            prompts = {prompt.uuid: place for place, prompt in enumerate(item.prompts)}
            for attempt in item.attempts:
                # An answer repeats its prompt, so its text is right even if the item lacks it.
                prompt_position = prompts.get(attempt.prompt.uuid, 0)
                answers.append(LoggedAnswer(position, prompt_position, item, attempt))
        return answers


def read_log(path: Path, *, needs_answers: bool = True) -> ProbeState:
    """Reads the last state in the log of a probe.

    Args:
        path: the log.
        needs_answers: whether its prompts must be answered. If not, the state has no answers,
            metrics and marks, even if the log has them.

    Raises:
        InputError: the file cannot be read, is not such a log, or lacks the answers.
    """
    where, state = last_state(path)
    if needs_answers:
        status = state.get("status") if isinstance(state, Mapping) else None
        # A status of another type is refused below, like all fields of the wrong type.
        if isinstance(status, str) and status.rsplit(".", 1)[-1] not in ANSWERED_STATES:
            problem = f"a probe that is {status!r}"
            raise InputError([Fault(str(path), where, problem, "a probe with answers")])
    else:
        state = state_without_answers(state)
    try:
        return ProbeState.model_validate(state)
    except ValidationError as error:
        raise InputError(
            as_fault(detail, f"{path}, {where}") for detail in error.errors()
        ) from None


def last_state(path: Path) -> tuple[str, Any]:
    """Returns the place of the last line that is not blank, for messages, and its state, unchecked.

    Raises:
        InputError: there is no such line, or it is not JSON with a state.
    """
    lines = read_text(path, PROBE_LOG, LARGEST_LOG).split("\n")
    line_numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    if not line_numbers:
        raise InputError([Fault(str(path), "", "contains no lines", PROBE_LOG)])
    where = f"line {line_numbers[-1]}"
    try:
        content = json.loads(lines[line_numbers[-1] - 1])
    except (ValueError, RecursionError) as error:
        raise InputError([Fault(str(path), where, f"not JSON ({error})", PROBE_LOG)]) from None
    if not isinstance(content, Mapping) or STATE_KEY not in content:
        raise InputError([Fault(str(path), where, f"has no key {STATE_KEY}", PROBE_LOG)])
    return where, content[STATE_KEY]


def state_without_answers(state: Any) -> Any:
    """Returns a state without answers, metrics and marks; a state of the wrong type is unchanged.

    GenderBench fills them with placeholders until they are computed, which would be faults.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("probe_items"), list):
        return state
    items = []
    for item in state["probe_items"]:
        items.append({**item, "attempts": []} if isinstance(item, Mapping) else item)
    return {**state, "probe_items": items, "metrics": {}, "marks": {}}
