"""Answers at random: the control that shows what a measure says of no model at all."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.inference.engine.back_end import (
    BackEnd,
    PromptPart,
    columns_with_prefix,
    to_list_column,
    with_instance_and_key,
)
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.scorings import ANSWER_KIND as LIKELIHOOD
from biasgrid.inference.scorings import SCORINGS
from biasgrid.tables.keys import STEP, mix_bits

RANDOM_TEXTS = (
    "Yes.",
    "No.",
    "A",
    "B",
    "The first one.",
    "The second one.",
    "That is hard to say.",
    "I cannot answer that.",
    "It depends on the people themselves.",
    "People differ, and nobody can tell from this alone.",
)
"""What it writes."""
SCORED_AT_RANDOM = "random"


@dataclass(frozen=True)
class RandomChoices:
    """What decides the answers beside the model's record: nothing."""


@dataclass(frozen=True)
class RandomAnswers(BackEnd):
    """Answers by the key of what is asked and a seed, whatever it says.

    Attributes:
        seed: the seed.
        answer_kind: `choice`, `text` or `likelihood`.
        scoring: of `likelihood` the formula whose name the answers get.
    """

    seed: int
    answer_kind: str
    scoring: str = ""

    Choices = RandomChoices

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns how options are scored, or by which formula sentences; the record has the
        seed.
        """
        scoring = {"scoring": settings.choices["scoring"]} if settings.answer == LIKELIHOOD else {}
        return {"scored_by": SCORED_AT_RANDOM} if settings.answer == "choice" else scoring

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Takes the seed."""
        return cls(
            record["keys"]["random"]["seed"], settings.answer, settings.choices.get("scoring", "")
        )

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts."""
        ask = {"choice": self.choose, "text": self.write, LIKELIHOOD: self.score}[self.answer_kind]
        for part in parts:
            yield with_instance_and_key(part.unanswered, ask(part.unanswered))

    def choose(self, instances: pl.DataFrame) -> pl.DataFrame:
        """Draws a number above 0 for each candidate, and divides these by their sum.

        Each instance has a candidate. A candidate that it lacks keeps its place, as null.
        """
        names = columns_with_prefix(instances, "candidate")
        known = instances.select(pl.col(names).is_not_null()).to_numpy()
        drawn = np.where(known, self.draws(instances, len(names)), 0)
        shares = drawn / drawn.sum(axis=1, keepdims=True)
        count = len(instances)
        mass = pl.repeat(1.0, count, dtype=pl.Float32, eager=True)
        scored_by = pl.repeat(SCORED_AT_RANDOM, count, eager=True).cast(pl.Categorical)
        return pl.DataFrame(
            [
                to_list_column("probabilities", shares, known, pl.Float32),
                mass.alias("mass"),
                scored_by.alias("scored_by"),
            ]
        )

    def write(self, instances: pl.DataFrame) -> pl.DataFrame:
        """Draws a text for each instance."""
        places = (self.draws(instances, 1)[:, 0] * len(RANDOM_TEXTS)).astype(np.int64)
        texts = pl.Series("response", RANDOM_TEXTS).gather(places)
        status = pl.repeat("ok", len(texts), eager=True).cast(pl.Categorical)
        return pl.DataFrame([texts, status.alias("status")])

    def score(self, instances: pl.DataFrame) -> pl.DataFrame:
        """Draws a probability for each sentence; its score is that or, by most formulas, its
        logarithm.
        """
        drawn = self.draws(instances, 1)[:, 0]
        is_share = SCORINGS[self.scoring].unit == "probability"
        return pl.DataFrame(
            {
                "score": drawn if is_share else np.log(drawn),
                "truncated": pl.repeat(False, len(drawn), eager=True),
                "scoring": pl.repeat(self.scoring, len(drawn), eager=True).cast(pl.Categorical),
            }
        )

    def draws(self, instances: pl.DataFrame, count: int) -> npt.NDArray[np.float64]:
        """Draws numbers between 0 and 1 for instances, by their keys; shape (instances, count)."""
        seeds = mix_bits(instances["key"].to_numpy() + np.uint64(self.seed * int(STEP) % 2**64))
        numbers = mix_bits(seeds[:, None] + np.arange(count, dtype=np.uint64) * STEP)
        # A float has 53 bits; half a step more keeps 0 out, whose logarithm is infinite.
        steps = (numbers >> np.uint64(11)).astype(np.float64)
        draws: npt.NDArray[np.float64] = (steps + 0.5) / 2**53
        return draws
