"""The persons whom decisions are about, a random factor: they are the same in all questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.decision.keys import COMPARED
from biasgrid.stats.noise.persons import residuals_along, unknown_along
from biasgrid.stats.sums import Along

DESCRIBED = ("age", *COMPARED)
"""What is known of a person, and what tells persons apart."""


class Persons(NamedTuple):
    """All persons of a dataset.

    Attributes:
        table: a row for each, with `DESCRIBED` and `mean`, the mean over questions of the log odds
            of Yes.
        stand_in_all: whether each question has an answer about every person.
    """

    table: pl.DataFrame
    stand_in_all: bool

    @classmethod
    def of(cls, observations: pl.DataFrame) -> Persons:
        """Gathers the persons of observations."""
        rows = observations.with_columns(pl.col(COMPARED).cast(pl.String))
        table = rows.group_by(DESCRIBED).agg(mean=pl.col("log_odds").mean()).sort(DESCRIBED)
        answers = observations["log_odds"].count()
        complete = len(table) * observations["template"].n_unique()
        # Only a complete design tells the effects of persons from those of questions.
        return cls(table, stand_in_all=answers == complete)

    @property
    def names(self) -> list[str]:
        """Their names, such as `20, female, white`."""
        persons = self.table.select(DESCRIBED).rows()
        return [f"{age:g}, {gender}, {race}" for age, gender, race in persons]

    @property
    def design(self) -> FloatArray:
        """The additive model of age (a factor), gender and race; shape (persons, parameters)."""
        columns = [np.ones((len(self.table), 1))]
        for name in DESCRIBED:
            level = self.table.select(pl.col(name).rank("dense") - 1).to_series().to_numpy()
            # The first level has no indicator: it is the intercept.
            columns.append(level[:, None] == np.arange(1, level.max() + 1))
        return np.column_stack(columns).astype(np.float64)

    def along(self, squared_weights: FloatArray) -> Along:
        """Returns how contrasts of the persons vary with them; unknown if answers are missing.

        Args:
            squared_weights: shape (contrasts,), the sum of squares of the weights that a contrast
                gives to persons.
        """
        if not self.stand_in_all:
            return unknown_along(self.names, len(squared_weights))
        means = self.table["mean"].to_numpy()
        return residuals_along(self.names, means, self.design, squared_weights)

    def of_differences(self, name: str, groups: pl.Series, reference: str) -> Along:
        """Returns how differences of groups from their reference vary with persons.

        Args:
            name: the column of the groups, one of `COMPARED`.
            groups: the groups.
            reference: the group that they are compared with.
        """
        persons = dict(self.table.group_by(name).len().rows())
        squares = [1 / persons[group] + 1 / persons[reference] for group in groups]
        return self.along(np.array(squares))

    def of_slope(self) -> Along:
        """Returns how the slope of age, per standard deviation of age, varies with persons."""
        # The squares of its weights, (a - mean) / (persons * sd), add up to this.
        return self.along(np.array([1 / len(self.table)]))
