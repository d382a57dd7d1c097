"""Reads the log of a probe of GenderBench: each line is the state of the probe, and the last one
counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import as_fault
from biasgrid.base.text import read_text

PROBE_LOG = "the log of a probe of GenderBench: lines of JSON with `probe_state`"
ANSWERED_STATES = ("GENERATED", "EVALUATED", "FINISHED")
"""The states of a probe whose prompts are answered, as the logs name them behind `status.`."""
STATE_KEY = "probe_state"
LARGEST_LOG = 2**30
"""Bytes that a log may have: that of HiringBloomberg has 100 MiB of prompts."""
LoggedNumber = float | None


class LogPart(BaseModel):
    """A part of a log; it may have other keys than those that are read."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class LoggedPrompt(LogPart):
    """A prompt."""

    uuid: str = Field(description="its name")
    text: str = Field(description="what is asked")
    metadata: dict[str, Any] | None = Field(None, description="its keys")


class Attempt(LogPart):
    """An answer, and what GenderBench found in it."""

    prompt: LoggedPrompt = Field(description="what was asked")
    repetition_id: int = Field(ge=0, description="how often that was asked before")
    answer: str = Field(description="what the model wrote")
    evaluation: Any = Field(None, description="what was found")
    evaluation_undetected: bool | None = Field(
        None, description="whether nothing was found; null before it was looked"
    )


class LoggedItem(LogPart):
    """An item with its prompts and their answers."""

    prompts: list[LoggedPrompt] = Field(description="its prompts")
    attempts: list[Attempt] = Field(description="their answers")
    metadata: dict[str, Any] | None = Field(None, description="its keys")


class MarkOfMetric(LogPart):
    """The mark of a metric."""

    mark_value: LoggedNumber = Field(None, description="0 to 3, NaN where there is none")
    harm_types: list[str] = Field(default_factory=list, description="what it warns of")


class ProbeState(LogPart):
    """The state of a probe."""

    name: str = Field(alias="class", description="the probe's class")
    status: str = Field(description="how far it is")
    probe_items: list[LoggedItem] = Field(min_length=1, description="its items")
    metrics: dict[str, LoggedNumber | tuple[LoggedNumber, LoggedNumber]] = Field(
        default_factory=dict,
        description="of each metric its value or, where there is one, its interval alone",
    )
    marks: dict[str, MarkOfMetric] = Field(default_factory=dict, description="the marks of metrics")

    @property
    def attempts(self) -> list[tuple[int, int, LoggedItem, Attempt]]:
        """The answers with the numbers of their items, and of their prompts within these."""
        numbers = [
            {prompt.uuid: number for number, prompt in enumerate(item.prompts)}
            for item in self.probe_items
        ]
        return [
            (place, numbers[place].get(attempt.prompt.uuid, 0), item, attempt)
            for place, item in enumerate(self.probe_items)
            for attempt in item.attempts
        ]


def read_log(path: Path, answered: bool = True) -> ProbeState:
    """Reads the last state in the log of a probe.

    Args:
        path: the log.
        answered: whether its prompts must be answered.

    Raises:
        InputError: it cannot be read, is no such log, or its prompts are not answered where they
            must be.
    """
    text = read_text(path, PROBE_LOG, LARGEST_LOG)
    lines = [
        (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
    ]
    if not lines:
        raise InputError([Fault(str(path), "", "contains no lines", PROBE_LOG)])
    number, line = lines[-1]
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            [Fault(str(path), f"line {number}", f"not JSON ({error})", PROBE_LOG)]
        ) from None
    if not isinstance(content, Mapping) or STATE_KEY not in content:
        raise InputError([Fault(str(path), f"line {number}", f"has no key {STATE_KEY}", PROBE_LOG)])
    status = content[STATE_KEY].get("status") if isinstance(content[STATE_KEY], Mapping) else None
    if answered and isinstance(status, str) and status.rsplit(".", 1)[-1] not in ANSWERED_STATES:
        raise InputError(
            [
                Fault(
                    str(path),
                    f"line {number}",
                    f"a probe that is {status!r}",
                    "a probe with answers",
                )
            ]
        )
    state = content[STATE_KEY] if answered else state_without_answers(content[STATE_KEY])
    try:
        return ProbeState.model_validate(state)
    except ValidationError as error:
        raise InputError(
            as_fault(detail, f"{path}, line {number}") for detail in error.errors()
        ) from None


def state_without_answers(state: Any) -> Any:
    """Returns a state without its answers: before they are there, their place holds whatever it
    likes.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("probe_items"), list):
        return state
    items = [
        {**item, "attempts": []} if isinstance(item, Mapping) else item
        for item in state["probe_items"]
    ]
    return {**state, "probe_items": items, "metrics": {}, "marks": {}}
