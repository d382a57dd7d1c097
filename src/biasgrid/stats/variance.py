"""Variance components of comparisons, and moderated variances.

Components divide the variance of C between subjects, their associations, and both with clusters. Moderated variances
(Smyth, 2004; the method of limma) of few clusters borrow from those of similar numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma, psi

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource

WANTED_RELIABILITY = 0.8
"""The reliability for which clusters are counted."""
FEWEST_VARIANCES = 10
"""With fewer variances no prior is known well enough."""


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


class Prior(NamedTuple):
    """What the variances of like numbers have in common.

    Attributes:
        df: how many degrees of freedom it is worth; 0 where there is none, infinite where all variances are one.
        variance: the variance of a cluster's value.
    """

    df: float
    variance: float


NO_PRIOR = Prior(0.0, float("nan"))


def variance_prior(variances: FloatArray, df: FloatArray) -> Prior:
    """Estimates the prior of variances.

    Args:
        variances: shape (numbers,), s², of a cluster's value; those that are 0 do not count.
        df: shape (numbers,), degrees of freedom: how many clusters there are less 1.
    """
    usable = (variances > 0) & (df >= 1)
    if np.count_nonzero(usable) < FEWEST_VARIANCES:
        return NO_PRIOR
    half = df[usable] / 2
    logs = np.log(variances[usable]) - psi(half) + np.log(half)
    mean, spread = logs.mean(), logs.var(ddof=1) - polygamma(1, half).mean()
    if spread <= 0:
        return Prior(float("inf"), float(np.exp(mean)))
    strength = 2 * inverse_trigamma(float(spread))
    return Prior(strength, float(np.exp(mean + psi(strength / 2) - np.log(strength / 2))))


def inverse_trigamma(value: float) -> float:
    """Returns x with trigamma(x) = value, for a positive value, by Newton's method."""
    if value > 1e7:
        return float(value**-0.5)
    x = 0.5 + 1 / value
    for _ in range(100):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def moderate_variances(variance: FloatArray, clusters: FloatArray) -> tuple[VarianceSource, Prior]:
    """Returns the moderated variances of numbers over clusters.

    Args:
        variance: shape (numbers,), jackknife variances.
        clusters: shape (numbers,), of how many clusters.

    Returns:
        The source, with variances NaN where nothing is known: one cluster alone, or no variance and no prior. And the
        prior.
    """
    df = np.maximum(clusters - 1.0, 0)
    own = clusters * variance
    prior = variance_prior(own, df)
    if prior.df == 0:
        strengthened = np.where(own > 0, own, np.nan)
    elif np.isinf(prior.df):
        strengthened = np.full(len(own), prior.variance)
    else:
        strengthened = (prior.df * prior.variance + df * own) / (prior.df + df)
    known = (clusters > 1) & ~np.isnan(own)
    of_mean = np.where(known, strengthened / np.maximum(clusters, 1), np.nan)
    return VarianceSource(of_mean, np.where(df > 0, prior.df + df, 0)), prior
