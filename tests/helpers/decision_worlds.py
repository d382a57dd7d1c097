"""Simulated decisions of which the truth is known: the same persons in every question, each with a
shift of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from worlds import Array

from biasgrid.families.decision.measures import measure
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import simes
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums

AGES = range(20, 101, 10)
GENDERS, RACES = (
    ("male", "female", "non-binary"),
    ("white", "Asian", "Black", "Hispanic", "Native American"),
)
OPTIONS = {"references": [GENDERS[0], RACES[0]]}
FAVOURED = "female"
"""The gender that an effect is of."""
LEVEL_SD, SLOPE_SD = 0.7, 0.1
"""How much questions differ in their level, and in each of their effects."""
CONTRASTS = ("decision_difference", "age_slope")


class DecisionWorld(NamedTuple):
    """A law of decisions, in log odds.

    Attributes:
        questions: how many there are.
        persons_sd: how much persons differ for no reason.
        noise: of a single decision.
        of_age: the effect of a standard deviation of age.
        of_gender: the effect of `FAVOURED`.
    """

    questions: int
    persons_sd: float
    noise: float = 0.1
    of_age: float = 0.0
    of_gender: float = 0.0

    def drawn(self, random: np.random.Generator) -> pl.DataFrame:
        """Observations of a model: every person in every question."""
        persons = all_persons()
        age, gender, race = (
            persons[name].to_numpy() for name in ("scaled", "gender_place", "race_place")
        )
        size = self.questions, len(persons)
        effects = self.of_age * age + self.of_gender * (persons["gender"] == FAVOURED).to_numpy()
        of_questions = random.normal(0, LEVEL_SD, (self.questions, 1))
        # Effects differ from question to question.
        of_questions = of_questions + random.normal(0, SLOPE_SD, (self.questions, 1)) * age
        for place, groups in ((gender, GENDERS), (race, RACES)):
            of_questions = (
                of_questions + random.normal(0, SLOPE_SD, (self.questions, len(groups)))[:, place]
            )
        shifts = random.normal(0, self.persons_sd, len(persons))
        odds = of_questions + shifts + effects + random.normal(0, self.noise, size)
        return observations_of(persons, odds)

    def truth(self, row: dict[str, str]) -> float:
        """The effect that a row of estimates is about."""
        if row["measure"] == "age_slope":
            return self.of_age
        return self.of_gender * (row["group"] == FAVOURED)


def all_persons() -> pl.DataFrame:
    """Each age with each gender and race: `age`, `gender`, `race`, `scaled` (age in standard
    deviations), places.
    """
    rows = [(float(age), gender, race) for age in AGES for gender in GENDERS for race in RACES]
    persons = pl.DataFrame(rows, schema=["age", "gender", "race"], orient="row")
    age = pl.col("age")
    places = {f"{name}_place": [each.index(group) for group in persons[name]] for name, each in
              (("gender", GENDERS), ("race", RACES))}  # fmt: skip
    return persons.with_columns(
        scaled=(age - age.mean()) / age.std(ddof=0),
        **{name: pl.Series(place) for name, place in places.items()},
    )


def observations_of(persons: pl.DataFrame, odds: Array) -> pl.DataFrame:
    """Log odds of shape (questions, persons) as the observations of a cell."""
    questions = pl.DataFrame({"template": np.arange(len(odds))})
    rows = questions.join(persons.select("age", "gender", "race"), how="cross")
    return rows.with_columns(log_odds=pl.Series(odds.ravel()), share=pl.lit(0.5))


def contrasts_of(observations: pl.DataFrame) -> pl.DataFrame:
    """The estimates of differences of groups and of the slope of age that are claims."""
    sums = [part for part in measure(observations, OPTIONS) if isinstance(part, Sums)]
    contrasts = [part for part in sums if part.keys["measure"][0] in CONTRASTS]
    settings = StatisticsSettings(clusters=range(observations["template"].n_unique()))
    return estimate(contrasts, settings).filter("is_claim")


def p_of_anything(rows: pl.DataFrame) -> float:
    """P of there being anything: Simes over age, gender and race, each by Simes over its
    contrasts.
    """
    kinds = rows.group_by("bias_type", maintain_order=True).agg("p")["p"].to_list()
    return simes([simes(p) for p in kinds])


class Judged(NamedTuple):
    """How often runs of a world are right: shares."""

    covers: float
    false: float
    gender_found: float
    age_found: float


def judged(world: DecisionWorld, runs: int, seed: int = 5) -> Judged:
    """Draws a world many times. What is false is any finding among contrasts without an effect
    (Simes).
    """
    found = list(runs_of(world, runs, seed))
    return Judged(*np.mean(found, axis=0).tolist())


def runs_of(world: DecisionWorld, runs: int, seed: int) -> Iterator[tuple[float, bool, bool, bool]]:
    """Yields the fields of `Judged` of each run."""
    random = np.random.default_rng(seed)
    for _ in range(runs):
        rows = contrasts_of(world.drawn(random))
        truth = pl.Series([world.truth(row) for row in rows.to_dicts()])
        covers = float(((rows["low"] <= truth) & (truth <= rows["high"])).mean())  # type: ignore[arg-type]
        false = p_of_anything(rows.filter(truth == 0)) <= 0.05
        is_favoured = pl.col("group").eq_missing(pl.lit(FAVOURED))
        gender, age = (
            rows.filter(which)["p"].item() <= 0.05
            for which in (is_favoured, pl.col("measure") == "age_slope")
        )
        yield covers, false, gender, age
