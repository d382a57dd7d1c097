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
    """An answer, and the findings of GenderBench in it."""

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
        attempts = []
        for place, item in enumerate(self.probe_items):
            numbers = {prompt.uuid: number for number, prompt in enumerate(item.prompts)}
            for attempt in item.attempts:
                attempts.append((place, numbers.get(attempt.prompt.uuid, 0), item, attempt))
        return attempts


def read_log(path: Path, answered: bool = True) -> ProbeState:
    """Reads the last state in the log of a probe.

    Args:
        path: the log.
        answered: whether its prompts must be answered; otherwise answers are ignored.

    Raises:
        InputError: it cannot be read, is no such log, or its prompts are not answered, although
            they must be.
    """
    where, state = last_state(path)
    if answered:
        status = state.get("status") if isinstance(state, Mapping) else None
        # A status that is no text is refused below, as all other fields of the wrong type.
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
    """Returns the place of the last line that is not blank, and the state in it, unchecked.

    Raises:
        InputError: there is no such line, or it holds no state.
    """
    lines = read_text(path, PROBE_LOG, LARGEST_LOG).split("\n")
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbers:
        raise InputError([Fault(str(path), "", "contains no lines", PROBE_LOG)])
    where = f"line {numbers[-1]}"
    try:
        content = json.loads(lines[numbers[-1] - 1])
    except (ValueError, RecursionError) as error:
        raise InputError([Fault(str(path), where, f"not JSON ({error})", PROBE_LOG)]) from None
    if not isinstance(content, Mapping) or STATE_KEY not in content:
        raise InputError([Fault(str(path), where, f"has no key {STATE_KEY}", PROBE_LOG)])
    return where, content[STATE_KEY]


def state_without_answers(state: Any) -> Any:
    """Returns a state without answers, metrics and marks.

    Before they are there, GenderBench writes unfinished values in their place.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("probe_items"), list):
        return state
    items = []
    for item in state["probe_items"]:
        items.append({**item, "attempts": []} if isinstance(item, Mapping) else item)
    return {**state, "probe_items": items, "metrics": {}, "marks": {}}
