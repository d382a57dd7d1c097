"""How a shard is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

TargetScoring = Literal["joint", "pll", "pll-l2r"]


@dataclass(frozen=True)
class Settings:
    """How a shard is predicted.

    Attributes:
        model: the model's name in the config.
        task: `fill-mask`, `question-answering` or `text-classification`.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        token_budget: how many tokens a batch may have; changes speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after which the process is ended.
        instances: what the instances are: `pairs` of subjects (`INSTANCES`) or `cases` (`CASES`).
        scoring: of pairs, `exact` or `unqover`.
        pronouns: of pairs and masked language models, the pronoun of each cluster of subjects, empty for none.
        labels: of classifiers, what the checkpoint calls the dataset's classes, in the dataset's order.
        target_scoring: of masked language models, how words of several pieces are scored; None refuses them.
    """

    model: str
    task: str
    precision: str
    token_budget: int
    device: str
    seconds_without_progress: float
    instances: Literal["pairs", "cases"]
    scoring: str = "exact"
    pronouns: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    target_scoring: TargetScoring | None = None
