"""Worlds of swap groups whose odds are known: words with probabilities of their own, and masses
that move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from small_cells import design, with_scores

from biasgrid.families.underspecified.axes import AnsweredGroups
from biasgrid.families.underspecified.measure import swap_group_measures
from biasgrid.families.underspecified.sizes import CellAssociations, mass
from biasgrid.families.underspecified.sums import ASSOCIATION, CellSums
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, find_sums

Array = npt.NDArray[np.float64]


class Size(NamedTuple):
    """How many subjects, attributes and templates a world has."""

    subjects: int = 8
    attributes: int = 12
    templates: int = 7


class Places(NamedTuple):
    """Swap groups of all pairs; arrays of shape (groups,)."""

    table: pl.DataFrame
    one: Array
    other: Array
    attribute: Array
    template: Array


def places_of(size: Size) -> Places:
    """All pairs of subjects with all attributes in all templates."""
    table = design(
        [f"s{subject}" for subject in range(size.subjects)], size.attributes, size.templates
    )
    numbers = [
        table[name].cast(pl.String).str.slice(1).cast(pl.Int64).to_numpy()
        for name in ("subject1", "subject2")
    ]
    attribute = table["attribute"].cast(pl.String).str.slice(1).cast(pl.Int64).to_numpy()
    return Places(table, *numbers, attribute, table["template"].to_numpy().astype(np.int64))


def observed(places: Places, odds: Array, mass: Array | float) -> pl.DataFrame:
    """Swap groups whose instances have given log odds and masses.

    Args:
        places: the swap groups.
        odds: ln S(x1) - ln S(x2), shape (groups, 2 orders, 2 questions).
        mass: S(x1) + S(x2), of a shape that fits.
    """
    share = 1 / (1 + np.exp(-odds))
    scores = np.stack([mass * share, mass * (1 - share)], axis=-1)
    return with_scores(places.table, scores.reshape(len(odds), 8))


def preferences(places: Places, words: Array, effects: Array, reading: float = -1.0) -> Array:
    """Log odds of words and of associations, shape (groups, 2 orders, 2 questions).

    Args:
        places: the swap groups.
        words: shape (subjects,), how probable each is, on the logarithm.
        effects: shape (subjects, attributes), or with templates behind, added to it in the
            question.
        reading: times this, they are added in the negation.
    """
    if effects.ndim == 2:
        effects = effects[..., None]
    template = places.template if effects.shape[2] > 1 else 0
    of_words = words[places.one] - words[places.other]
    of_pairs = (
        effects[places.one, places.attribute, template]
        - effects[places.other, places.attribute, template]
    )
    questions = of_words[:, None] + of_pairs[:, None] * np.array([1.0, reading])
    return np.repeat(questions[:, None], 2, axis=1)


def moving_mass(random: np.random.Generator, places: Places, size: Size, shift: float) -> Array:
    """Masses of question and negation, up to a factor exp(shift) apart in an attribute, shape
    (groups, 2, 2).
    """
    drawn = 0.5 * np.exp(random.uniform(-shift, shift, (size.attributes, 2)) / 2)
    noise = np.exp(random.normal(0, 0.1, (len(places.one), 2, 2)))
    return np.minimum(drawn[places.attribute][:, None] * noise, 0.99)


class World(NamedTuple):
    """What is estimated of associations of subject and attribute over clusters."""

    rows: pl.DataFrame
    sums: list[Sums]

    def of(self, measure: str) -> pl.DataFrame:
        """The rows of a measure, by subject and attribute."""
        return self.rows.filter(pl.col("measure") == measure).sort("subject", "attribute")

    def values(self, measure: str) -> Array:
        """Its values."""
        return self.of(measure)["value"].to_numpy()

    def found(self, measure: str) -> npt.NDArray[np.bool_]:
        """Which are significant."""
        return np.asarray(self.of(measure)["q"].fill_null(1).to_numpy() <= 0.05)

    def flag(self) -> Mapping[str, Any]:
        """The row of the flag `mass`."""
        cell = CellAssociations(self.sums, StatisticsSettings())
        return mass(cell)

    def reading(self) -> Mapping[str, Any]:
        """The row of the correlation of question and negation."""
        found = estimate([find_sums(self.sums, "negation_reading", keys=())], StatisticsSettings())
        return found.row(0, named=True)


def estimated(observations: pl.DataFrame) -> World:
    """Estimates associations of subject and attribute, without what is made of whole cells."""
    sums = [
        each
        for each in swap_group_measures(CellSums(AnsweredGroups(observations), None))
        if isinstance(each, Sums)
    ]
    pairs = [each for each in sums if {*ASSOCIATION} <= {*each.keys.columns} and each.is_tested]
    rows = estimate(pairs, StatisticsSettings()).filter(pl.col("generalises_to") == "clusters")
    return World(rows.with_columns(pl.col(pl.Float64).fill_nan(None)), sums)
