"""Worlds of associations whose truth is known: 11 subjects, 30 or 50 attributes, few clusters of
templates.

C of two subjects is half the difference of their utilities u, which are an effect and noise of sd 1
of each subject, attribute and cluster; an association is its mean over partners.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from worlds import as_of_a_run, keys_of

from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Along, SignificanceTest, Sums

Array = npt.NDArray[np.float64]
SUBJECTS, ATTRIBUTES = 11, 50
GainOf = Literal["all", "subject", "association"]
FRAMES_OF_TRUTH = 4800
SPREAD = 0.5
"""Standard deviation of all that moves logits."""


class World(NamedTuple):
    """Associations by cluster, shape (subjects, attributes, clusters), and their truth, (subjects,
    attributes).
    """

    values: Array
    truth: Array


def centred_over_partners(utilities: Array) -> Array:
    """Associations of utilities: mean over the partners of half the difference."""
    count = len(utilities)
    return count / (2 * (count - 1)) * (utilities - utilities.mean(axis=0, keepdims=True))


def shape_of(clusters: int, attributes: int = ATTRIBUTES) -> tuple[int, int, int]:
    return SUBJECTS, attributes, clusters


def effects(random: np.random.Generator, name: str, attributes: int = ATTRIBUTES) -> Array:
    """Effects of a name: `none`, `dense`, `weak`, `large`, or `sparse`, of sizes around 3 in 5
    %.
    """
    shape = SUBJECTS, attributes
    if name == "sparse":
        return np.where(random.random(shape) < 0.05, random.uniform(2.5, 4, size=shape), 0.0)
    return {"none": 0.0, "weak": 0.4, "dense": 1.0, "large": 3.0}[name] * random.normal(size=shape)


def additive(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Normal noise of one sd."""
    noise = random.normal(size=(*theta.shape, clusters))
    return of_utilities(theta, noise)


def of_utilities(theta: Array, noise: Array) -> World:
    return World(centred_over_partners(theta[..., None] + noise), centred_over_partners(theta))


def heavy(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Noise of Student's t with 3 degrees of freedom."""
    return of_utilities(theta, random.standard_t(3, size=(*theta.shape, clusters)) / np.sqrt(3))


def skewed(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Lognormal noise."""
    noise = np.exp(random.normal(size=(*theta.shape, clusters)))
    return of_utilities(theta, (noise - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e))


def loud(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Clusters of which 15 % are five times as noisy."""
    factors = np.where(random.random(clusters) < 0.15, 5.0, 1.0)
    return of_utilities(theta, factors * random.normal(size=(*theta.shape, clusters)))


def rewordings(
    random: np.random.Generator, theta: Array, clusters: int, correlation: float = 0.5
) -> World:
    """Pairs of clusters whose noise correlates."""
    shared = np.repeat(random.normal(size=(*theta.shape, -(-clusters // 2))), 2, axis=2)[
        ..., :clusters
    ]
    own = random.normal(size=(*theta.shape, clusters))
    return of_utilities(theta, np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)


def unequal_subjects(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Some subjects are noisier than others."""
    factors = np.exp(0.6 * random.normal(size=(len(theta), 1, 1)))
    return of_utilities(theta, factors * random.normal(size=(*theta.shape, clusters)))


def unequal_attributes(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Some attributes are noisier than others."""
    factors = np.exp(0.8 * random.normal(size=(1, theta.shape[1], 1)))
    return of_utilities(theta, factors * random.normal(size=(*theta.shape, clusters)))


def subject_in_cluster(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """A cluster likes some subjects as such."""
    shared = 1.5 * random.normal(size=(len(theta), 1, clusters))
    return of_utilities(theta, shared + random.normal(size=(*theta.shape, clusters)))


def gain(spread: float, of: GainOf = "all") -> Callable[[np.random.Generator, Array, int], World]:
    """Clusters multiply all, a subject's, or every association by a lognormal factor of mean 1."""

    def make(random: np.random.Generator, theta: Array, clusters: int) -> World:
        shape = {"all": (1, 1), "subject": (len(theta), 1), "association": theta.shape}[of]
        factors = np.exp(spread * random.normal(size=(*shape, clusters)) - spread**2 / 2)
        utilities = factors * (theta[..., None] + random.normal(size=(*theta.shape, clusters)))
        return World(centred_over_partners(utilities), centred_over_partners(theta))

    return make


def zeros_and_ones(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """The sign of utilities that are large enough."""

    def scored(utilities: Array) -> Array:
        return np.sign(utilities) * (np.abs(utilities) > 1.5)

    found = scored(theta[..., None] + random.normal(size=(*theta.shape, clusters)))
    many = scored(theta[..., None] + random.normal(size=(*theta.shape, FRAMES_OF_TRUTH))).mean(
        axis=2
    )
    return World(centred_over_partners(found), centred_over_partners(many))


def bounded(random: np.random.Generator, theta: Array, clusters: int) -> World:
    """Probabilities near 0, of a logit around -5, whose clusters and subjects move them."""
    preference = SPREAD * random.normal(size=(len(theta), 1, 1))

    def scored(count: int) -> Array:
        of_frames = random.normal(size=(1, 1, count)) + random.normal(size=(len(theta), 1, count))
        logits = -5 + SPREAD * of_frames + preference
        sides = (
            1
            / (
                1
                + np.exp(
                    -(
                        logits
                        + SPREAD
                        * (sign * theta[..., None] + random.normal(size=(*theta.shape, count)))
                    )
                )
            )
            for sign in (1, -1)
        )
        question, negation = sides
        return question - negation

    parts = [scored(FRAMES_OF_TRUTH // 8).mean(axis=2) for _ in range(8)]
    return World(
        centred_over_partners(scored(clusters)), centred_over_partners(np.mean(parts, axis=0))
    )


def sums_of(values: Array) -> Sums:
    """Associations as sums, each cluster counting alike."""
    flat = values.reshape(-1, values.shape[2])
    along = Along(
        [str(cluster) for cluster in range(values.shape[2])],
        np.stack([flat, np.ones_like(flat)], axis=-1),
    )
    return as_of_a_run(
        Sums(
            keys_of(*values.shape[:2]),
            {"clusters": along},
            interval="moderated t",
            test=SignificanceTest.CORRECTED,
        )
    )


def estimates(values: Array) -> pl.DataFrame:
    """What is said of all associations, subject by subject."""
    keyed = sums_of(values)
    counted = keyed.keys.with_columns(
        options=pl.lit(""), n=pl.lit(values.shape[2]), left_out=pl.lit(0)
    )
    return estimate([replace(keyed, keys=counted)], StatisticsSettings())


def largest_tenth(truth: Array) -> npt.NDArray[np.bool_]:
    """Which associations are truly among the largest tenth, by size."""
    sizes = np.abs(truth).ravel()
    return np.asarray(sizes >= np.quantile(sizes, 0.9))
