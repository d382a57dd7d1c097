"""Simulated worlds: associations by cluster, as arrays straight into the statistics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.stats.estimate import OverFactor, over_first_factor
from biasgrid.stats.intervals import half_width, p_values
from biasgrid.stats.multiplicity import false_discovery_rates
from biasgrid.stats.sums import Along, IntervalMethod, Sums

Array = npt.NDArray[np.float64]
SUBJECTS, ATTRIBUTES = 11, 50


class Tested(NamedTuple):
    """What is said of associations over templates; arrays of shape (subjects x attributes,)."""

    value: Array
    half: Array
    p: Array
    q: Array


def world(
    random: np.random.Generator,
    clusters: int,
    effects: Array | float = 0.0,
    *,
    subjects: int = SUBJECTS,
    attributes: int = ATTRIBUTES,
    shared: float = 0.5,
    spread: float = 0.0,
) -> Array:
    """Associations by cluster, shape (subjects, attributes, clusters), with noise of sd 1.

    Args:
        random: where noise comes from.
        clusters: how many clusters.
        effects: what the clusters have in common, shape (subjects, attributes).
        subjects: how many subjects.
        attributes: how many attributes.
        shared: sd of what a subject's associations have in common in a cluster.
        spread: sd of ln of how noisy a subject is.
    """
    noise = random.normal(size=(subjects, attributes, clusters))
    noise += shared * random.normal(size=(subjects, 1, clusters))
    noisy = np.exp(spread * random.normal(size=(subjects, 1, 1)))
    noise *= noisy
    # Subjects are compared with each other, so that noise sums to 0 over them.
    return np.asarray(effects)[..., None] + noise - noise.mean(axis=0, keepdims=True)


def judged(values: Array, alpha: float = 0.05) -> Tested:
    """Tests all associations of a world, each cluster counting alike."""
    flat = values.reshape(-1, values.shape[-1])
    sources = over_clusters(flat, np.ones_like(flat), "moderated t", keys_of(*values.shape[:2])).sources
    means = flat.mean(axis=1)
    p = p_values(means, sources)
    return Tested(means, half_width(sources, alpha), p, false_discovery_rates(p))


def keys_of(subjects: int, attributes: int) -> pl.DataFrame:
    """The keys of associations, subject by subject."""
    names = np.divmod(np.arange(subjects * attributes), attributes)
    columns = {key: each.astype(str) for key, each in zip(("subject", "attribute"), names, strict=True)}
    return pl.DataFrame({"measure": ["gamma"] * len(names[0]), **columns})


def over_clusters(
    sums: Array, counts: Array, interval: IntervalMethod = "t", keys: pl.DataFrame | None = None
) -> OverFactor:
    """How means vary with clusters.

    Args:
        sums: shape (numbers, clusters).
        counts: shape (numbers, clusters), of how much the sums are.
        interval: whether their variances borrow from each other.
        keys: what the numbers are about; None of a list of any.
    """
    along = Along([str(cluster) for cluster in range(sums.shape[1])], np.stack([sums, counts], axis=-1))
    about = pl.DataFrame({"measure": ["number"] * len(sums)}) if keys is None else keys
    return over_first_factor(Sums(about, {"clusters": along}, interval=interval))


def centred(effects: Array) -> Array:
    """Effects as associations are: subjects are compared with each other."""
    return effects - effects.mean(axis=0, keepdims=True)
