"""Random answers: the control that shows which values a measure has without any model."""

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
"""The texts that it chooses from."""
SCORED_AT_RANDOM = "random"


@dataclass(frozen=True)
class RandomChoices:
    """No choices: the model's record has the seed, which decides the answers."""


@dataclass(frozen=True)
class RandomAnswers(BackEnd):
    """Answers at random: the same prompt key and seed have the same answer.

    Attributes:
        seed: the seed.
        answer_kind: `choice`, `text` or `likelihood`.
        scoring: for `likelihood` the formula that the answers name; "" for other kinds.
    """

    seed: int
    answer_kind: str
    scoring: str = ""

    Choices = RandomChoices

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns `scored_by` of choices and the formula of sentences; the record has the seed."""
        if settings.answer == "choice":
            return {"scored_by": SCORED_AT_RANDOM}
        if settings.answer == LIKELIHOOD:
            return {"scoring": settings.choices["scoring"]}
        return {}

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Reads the seed from the record."""
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

        Each instance must have a candidate. One that is not there has the probability null.
        """
        names = columns_with_prefix(instances, "candidate")
        is_there = instances.select(pl.col(names).is_not_null()).to_numpy()
        weights = np.where(is_there, self.draws(instances, len(names)), 0)
        shares = weights / weights.sum(axis=1, keepdims=True)
        row_count = len(instances)
        mass = pl.repeat(1.0, row_count, dtype=pl.Float32, eager=True)
        scored_by = pl.repeat(SCORED_AT_RANDOM, row_count, eager=True).cast(pl.Categorical)
        return pl.DataFrame(
            [
                to_list_column("probabilities", shares, is_there, pl.Float32),
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
        """Draws a probability for each sentence; its score is in the unit of the formula."""
        probabilities = self.draws(instances, 1)[:, 0]
        is_share = SCORINGS[self.scoring].unit == "probability"
        return pl.DataFrame(
            {
                "score": probabilities if is_share else np.log(probabilities),
                "truncated": pl.repeat(False, len(instances), eager=True),
                "scoring": pl.repeat(self.scoring, len(instances), eager=True).cast(pl.Categorical),
            }
        )

    def draws(self, instances: pl.DataFrame, draw_count: int) -> npt.NDArray[np.float64]:
        """Draws numbers between 0 and 1, both excluded; shape (instances, draw_count).

        They depend on the seed and on the instances' keys alone.
        """
        seeds = mix_bits(instances["key"].to_numpy() + np.uint64(self.seed * int(STEP) % 2**64))
        numbers = mix_bits(seeds[:, None] + np.arange(draw_count, dtype=np.uint64) * STEP)
        # A float has 53 bits; half a step more keeps 0 out, whose logarithm is infinite.
        steps = (numbers >> np.uint64(11)).astype(np.float64)
        draws: npt.NDArray[np.float64] = (steps + 0.5) / 2**53
        return draws
