"""Settings with which a shard is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class InferenceSettings:
    """Settings with which a shard is answered.

    Attributes:
        model: the model's name in the config.
        task: the model's task, a key of the registry.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        token_budget: the largest number of tokens in a batch; `auto` chooses it by the device. It
            changes speed; answers change by rounding at most.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after so many seconds without an answer, the process is ended.
        answer: the answer kind, a module of `tables.answers`.
        threads: the number of threads that a CPU computes with.
        choices: the settings that decide the answers besides model and precision; the keys of
            `Choices` of the back end.
        section: the model's section of the config. A back end may read from it only settings that
            change no answers.
        capabilities: facts about the model that its back end has found out, see
            `models.registry.RegistryEntry`.
        cell: a folder for facts about the cell that hold whatever decides its answers; None for
            none.
        cell_cache: a folder for facts that hold for all shards with the same identity; None for
            none.
        shard_cache: a folder for facts that hold for this shard, until it is done; None for none.
        log: the log of the job; None without one.
        loaded_parts: parts of the model that stay loaded for the next shard; see `loading`. All
            settings that share this dictionary must be for one model.
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
    cell_cache: Path | None = None
    shard_cache: Path | None = None
    log: Path | None = None
    loaded_parts: dict[str, Any] = field(default_factory=dict, compare=False)
