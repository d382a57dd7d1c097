"""How much contrasts of persons, such as a difference of genders, vary with the persons who stand
in all questions.
"""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.variance import without_rounding
from biasgrid.stats.sums import Along, Sums

PERSONS = "persons"
"""The factor of persons. Its columns are no sums of numbers but residuals and their degrees of
freedom; see `residuals_along`.
"""
FEWEST_FREE = 3
"""So many degrees of freedom residuals need at least to say anything of other persons."""
DECIMALS_OF_DF = 9
"""Degrees of freedom are added up from leverages, and whole but for rounding."""


def residuals_along(
    persons: list[str], means: FloatArray, design: FloatArray, squared_weights: FloatArray
) -> Along:
    """Returns how far persons are from an additive model, for each of some contrasts of their
    means.

    A plain variance within groups would take effects of other factors for noise.

    Args:
        persons: their names.
        means: shape (persons,), the mean of each over questions.
        design: shape (persons, parameters), of the additive model of all factors, with an
            intercept.
        squared_weights: shape (contrasts,), the sum of squares of the weights that a contrast gives
            to persons.

    Returns:
        Shape (contrasts, persons, 2): the residual times the root of `squared_weights`, and the
        part of the degrees of freedom that is a person's, 1 less the leverage. So the variance of a
        contrast is the sum of squares of the one by the sum of the other, and residuals of two
        models can be taken from each other.
    """
    hat = design @ np.linalg.pinv(design)
    residuals, free = means - hat @ means, 1 - np.diag(hat)
    scaled = np.sqrt(squared_weights)[:, None] * residuals
    return Along(persons, np.stack([scaled, np.broadcast_to(free, scaled.shape)], axis=-1))


def unknown_along(persons: list[str], contrasts: int) -> Along:
    """Returns that nothing is known of how contrasts vary with persons, as these do not stand in
    all questions.
    """
    return Along(persons, np.zeros((contrasts, len(persons), 2)))


def persons_source(sums: Sums) -> VarianceSource | None:
    """Returns how much contrasts vary with persons.

    Returns:
        V = s² times the sum of squared weights, s² the variance of residuals. NaN for a contrast
        with fewer than `FEWEST_FREE` degrees of freedom; None where that is so of all, or where
        there are no persons.
    """
    if PERSONS not in sums.along:
        return None
    persons, columns = sums.along[PERSONS]
    df = columns[..., 1].sum(axis=1).round(DECIMALS_OF_DF)
    is_known = df >= FEWEST_FREE
    if not is_known.any():
        return None
    variance = divide((columns[..., 0] ** 2).sum(axis=1), df)
    variance = without_rounding(variance, np.full(len(variance), len(persons)), sums.values)
    return VarianceSource(np.where(is_known, variance, np.nan), np.where(is_known, df, 0.0))
