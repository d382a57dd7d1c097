"""How a shard is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        scoring: `exact` or `unqover`, which differs where a task's back end says so.
        labels: of classifiers, what the checkpoint calls the dataset's classes, in the dataset's order.
        target_scoring: of masked language models, how words of several pieces are scored; None refuses them.
        ranks: of masked language models, whether ranks are asked for too.
        either_case: of masked language models, the numbers of the candidates that may as well be written with a capital
            letter; the more probable spelling counts.
    """

    model: str
    task: str
    precision: str
    token_budget: int
    device: str
    seconds_without_progress: float
    scoring: str = "exact"
    labels: Sequence[str] = ()
    target_scoring: TargetScoring | None = None
    ranks: bool = False
    either_case: Sequence[int] = ()
