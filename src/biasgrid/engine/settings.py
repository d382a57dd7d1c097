"""How a shard is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Settings:
    """How a shard is predicted.

    Attributes:
        model: the model's name in the config.
        task: what the model is used for.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        token_budget: how many tokens a batch may have, or `auto`, decided by the device; changes speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after which the process is ended.
        answer: the kind of the answers, a module of `tables.answers`.
        threads: how many a CPU computes with.
        choices: what decides the answers beside model and precision, see `Choices` of the task's back end.
        kept: the folder in which a back end may keep what holds for all shards of the cell, None for nowhere.
        kept_of_shard: the folder in which it may keep what holds for this shard until it is done.
    """

    model: str
    task: str
    precision: str
    token_budget: int | Literal["auto"]
    device: str
    seconds_without_progress: float
    answer: str
    threads: int = 1
    choices: Mapping[str, Any] = field(default_factory=dict)
    kept: Path | None = None
    kept_of_shard: Path | None = None
