"""Variance components of comparisons: how much of C is due to subjects, associations, and both with clusters."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray

WANTED_RELIABILITY = 0.8
"""The reliability for which clusters are counted."""


class Components(NamedTuple):
    """Variances in C of subjects, associations, and the two with clusters; not clipped, so some may be negative."""

    subject: float
    association: float
    subject_and_cluster: float
    association_and_cluster: float


class Indices(NamedTuple):
    """Indices of how much depends on the clusters; see `docs/statistics.md`.

    Attributes:
        template_share: how much of what is seen of an association in one cluster is that cluster's.
        reliability: how well other clusters would repeat associations.
        subject_reliability: how well they would repeat the means of subjects over attributes.
        clusters_needed: how many clusters the wanted reliability of associations takes.
    """

    template_share: float
    reliability: float
    subject_reliability: float
    clusters_needed: float


def components_of(utilities: FloatArray) -> Components | None:
    """Divides the variance of utilities.

    Args:
        utilities: shape (subjects, attributes, clusters), none missing; see `permutation.utilities`.

    Returns:
        None for fewer than 3 subjects, 2 attributes or 2 clusters.
    """
    subjects, attributes, clusters = utilities.shape
    if subjects < 3 or attributes < 2 or clusters < 2:
        return None
    return Components(*crossed_components(utilities).values())


def crossed_components(utilities: FloatArray) -> dict[tuple[int, ...], float]:
    """Divides the variance of utilities between subjects and what they are crossed with: all of it is random.

    Args:
        utilities: shape (subjects, ...), none missing; 3 subjects and 2 of all else at least.

    Returns:
        The variance of C by the axes that a subject varies with, `()` for what it has everywhere.
    """
    axes = range(1, utilities.ndim)
    sources = [some for count in range(utilities.ndim) for some in combinations(axes, count)]
    centred = utilities - utilities.mean(axis=0, keepdims=True)
    means = {
        some: centred.mean(axis=tuple(axis for axis in axes if axis not in some), keepdims=True) for some in sources
    }
    repeats = {some: prod(utilities.shape[axis] for axis in axes if axis not in some) for some in sources}
    squares, by_size = {}, sorted(sources, key=len, reverse=True)
    for some in sources:
        parts = [(-1) ** (len(some) - len(part)) * means[part] for part in by_size if {*part} <= {*some}]
        free = (len(utilities) - 1) * prod(utilities.shape[axis] - 1 for axis in some)
        squares[some] = repeats[some] * (sum(parts) ** 2).sum() / free
    doubled = {
        some: sum((-1) ** (len(more) - len(some)) * squares[more] for more in sources if {*some} <= {*more})
        / repeats[some]
        for some in sources
    }
    # C is half a difference of utilities, so its variance is half of theirs.
    return {some: float(each) / 2 for some, each in doubled.items()}


def indices_of(components: Components, attributes: int, clusters: int) -> Indices:
    """Returns template share, reliabilities, and how many clusters a reliability of 0.8 needs.

    Args:
        components: where variance is.
        attributes: over how many attributes the means of subjects are.
        clusters: how many clusters there are.
    """
    subject, association, *with_clusters = (max(each, 0.0) for each in components)
    signal, noise = subject + association, sum(with_clusters)
    if signal + noise == 0:
        return Indices(*[float("nan")] * 4)
    needed = (
        np.ceil(WANTED_RELIABILITY / (1 - WANTED_RELIABILITY) * noise / signal - 1e-9) if signal > 0 else float("nan")
    )
    # Of components that are not clipped: the sum is that of means, whose subject's own part may be 0.
    of_subjects = max(components.subject + components.association / attributes, 0.0)
    with_cluster = components.subject_and_cluster + components.association_and_cluster / attributes
    noise_of_subjects = max(with_cluster, 0.0) / clusters
    return Indices(
        noise / (signal + noise),
        signal / (signal + noise / clusters),
        of_subjects / (of_subjects + noise_of_subjects) if of_subjects > 0 else 0.0,
        float(max(needed, 1.0)),
    )
