"""How a shard is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class InferenceSettings:
    """How a shard is predicted.

    Attributes:
        model: the model's name in the config.
        task: what the model is used for.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        token_budget: how many tokens a batch may have, or `auto`, decided by the device; changes
            speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after which the process is ended.
        answer: the kind of the answers, a module of `tables.answers`.
        threads: how many a CPU computes with.
        choices: what decides the answers beside model and precision, see `Choices` of the task's
            back end.
        section: the model's section of the config as it stands there, for what changes no answers.
        able: what the model's back end has found out that the model can do, see
            `registry.RegistryEntry`.
        cell: the folder in which a back end may keep what holds for the cell, whatever decides its
            answers by now.
        kept: the folder in which a back end may keep what holds for all shards of the cell, None
            for nowhere.
        shard_cache: the folder in which it may keep what holds for this shard until it is done.
        log: the log of the job, None where there is none.
        loaded: parts of the model that stay loaded from one shard to the next, which are all of
            one model; see `loading`.
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
    section: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    cell: Path | None = None
    kept: Path | None = None
    shard_cache: Path | None = None
    log: Path | None = None
    loaded: dict[str, Any] = field(default_factory=dict, compare=False)
