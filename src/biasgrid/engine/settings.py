"""How a shard is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """How a shard is predicted.

    Attributes:
        model: the model's name in the config.
        task: what the model is used for.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        token_budget: how many tokens a batch may have; changes speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after which the process is ended.
        answer: the kind of the answers, a module of `tables.answers`.
        threads: how many a CPU computes with.
        choices: what decides the answers beside model and precision, see `Choices` of the task's back end.
    """

    model: str
    task: str
    precision: str
    token_budget: int
    device: str
    seconds_without_progress: float
    answer: str
    threads: int = 1
    choices: Mapping[str, Any] = field(default_factory=dict)
