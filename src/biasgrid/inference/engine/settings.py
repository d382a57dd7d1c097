"""Settings with which a model is opened, and a shard is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROWS_A_PART = 8192
"""Rows of a part of a shard, which are answered together. Batches are made within a part, so that
another number changes last digits.
"""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Settings with which a model is opened.

    Attributes:
        model: the model's name in the config.
        task: the model's task, a key of the registry.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`; the back end decides on the
            meaning of `auto`.
        device: `auto`, `cpu` or `cuda`.
        threads: the number of threads that a CPU computes with.
        section: the model's section of the config. A back end may read from it only settings that
            change no answers.
        capabilities: facts about the model that a probe has found out, see
            `models.registry.RegistryEntry`; empty without a probe, and before it.
        log: the log of the job; None without one.
        loaded_parts: parts of the model that stay loaded for the next shard; see `loading`. All
            settings that share this dictionary must be for one model.
    """

    model: str
    task: str
    precision: str
    device: str
    threads: int = 1
    section: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    log: Path | None = None
    loaded_parts: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, kw_only=True)
class InferenceSettings(ModelSettings):
    """Settings with which a shard is answered.

    Attributes:
        token_budget: the largest number of tokens in a batch; `auto` chooses it by the device. It
            changes speed; answers change by rounding at most.
        seconds_without_progress: after so many seconds without an answer, the process is ended.
        answer: the answer kind, a module of `tables.answers`.
        choices: the settings that decide the answers besides model and precision; the keys of
            `Choices` of the back end.
        cell: a folder for facts about the cell that hold whatever decides its answers; None for
            none.
        cell_cache: a folder for facts that hold for all shards with the same identity; None for
            none.
        shard_cache: a folder for facts that hold for this shard, until it is done; None for none.
    """

    token_budget: int | Literal["auto"]
    seconds_without_progress: float
    answer: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    cell: Path | None = None
    cell_cache: Path | None = None
    shard_cache: Path | None = None
