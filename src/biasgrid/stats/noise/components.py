"""Variance components of comparisons: how much of C is due to subjects, associations, and both with clusters."""

from __future__ import annotations

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
    """Indices of how much depends on the clusters; see `docs/statistics.md`."""

    template_share: float
    reliability: float
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
    centred = utilities - utilities.mean(axis=0, keepdims=True)
    free = subjects - 1
    by_attribute, by_cluster = centred.mean(axis=2, keepdims=True), centred.mean(axis=1, keepdims=True)
    by_subject = centred.mean(axis=(1, 2), keepdims=True)
    rest = ((centred - by_attribute - by_cluster + by_subject) ** 2).sum() / (free * (attributes - 1) * (clusters - 1))
    of_attributes = clusters * ((by_attribute - by_subject) ** 2).sum() / (free * (attributes - 1))
    of_clusters = attributes * ((by_cluster - by_subject) ** 2).sum() / (free * (clusters - 1))
    of_subjects = attributes * clusters * (by_subject**2).sum() / free
    doubled = (
        (of_subjects - of_attributes - of_clusters + rest) / (attributes * clusters),
        (of_attributes - rest) / clusters,
        (of_clusters - rest) / attributes,
        rest,
    )
    # C is half a difference of utilities, so its variance is half of theirs.
    return Components(*(float(each) / 2 for each in doubled))


def indices_of(components: Components, clusters: int) -> Indices:
    """Returns template share, reliability, and how many clusters a reliability of 0.8 needs."""
    subject, association, *with_clusters = (max(each, 0.0) for each in components)
    signal, noise = subject + association, sum(with_clusters)
    if signal + noise == 0:
        return Indices(float("nan"), float("nan"), float("nan"))
    needed = (
        np.ceil(WANTED_RELIABILITY / (1 - WANTED_RELIABILITY) * noise / signal - 1e-9) if signal > 0 else float("nan")
    )
    return Indices(noise / (signal + noise), signal / (signal + noise / clusters), float(max(needed, 1.0)))
