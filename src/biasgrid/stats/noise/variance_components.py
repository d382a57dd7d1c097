"""Variance components of comparisons, and clusters that are redundant or noisier than others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.noise.association_strength import AssociationsByCluster
from biasgrid.stats.noise.jackknife import RELATIVE_ROUNDING
from biasgrid.stats.noise.moderated_variances import attribute_blocks, cluster_factors
from biasgrid.stats.null import statistic
from biasgrid.stats.permutation import utilities
from biasgrid.stats.sums import Sums, find_sums

WANTED_RELIABILITY = 0.8
"""The reliability for which clusters are counted."""
FORMAT_VARIANCE_AXES: Mapping[str, tuple[int, ...]] = {
    "subject": (),
    "association": (1,),
    "subject x cluster": (2,),
    "subject x format": (3,),
    "association x cluster": (1, 2),
    "association x format": (1, 3),
    "subject x cluster x format": (2, 3),
    "association x cluster x format": (1, 2, 3),
}
"""The sources of variance of cells with several prompt formats, in the order of their rows: by name
the axes of `crossed_components`, of utilities of shape (subjects, attributes, clusters, formats).
"""
INDEX_NAMES = ("template_share", "reliability", "subject_reliability", "templates_for_0.8")
FORMAT_INDEX_NAMES = ("format_share", "format_reliability")
"""What the first two are with formats in the place of clusters."""
SQUARES = "comparison_squares"
PAIR_COUNTS = "pair_counts"
"""Inputs of the variance of pairs and orders: by attribute the sums of squares, their number, and
the place of the attribute's pattern; and by pattern how often each pair is asked, of the first
attribute that has it.
"""


class Components(NamedTuple):
    """Variances in C of subjects, associations, and the two with clusters; not clipped, so some may
    be negative.
    """

    subject: float
    association: float
    subject_and_cluster: float
    association_and_cluster: float

    @property
    def by_name(self) -> dict[str, float]:
        """The variances by the names of their rows, in the order of the rows."""
        return {
            "subject": self.subject,
            "association": self.association,
            "subject x cluster": self.subject_and_cluster,
            "association x cluster": self.association_and_cluster,
        }


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


def variance_components(utilities: FloatArray) -> Components | None:
    """Divides the variance of C, half a difference of utilities, over subjects, attributes and
    clusters.

    Args:
        utilities: shape (subjects, attributes, clusters), none missing; see
            `permutation.utilities`. There may be prompt formats in the place of clusters.

    Returns:
        Variances of C; None for fewer than 3 subjects, 2 attributes or 2 clusters.
    """
    subjects, attributes, clusters = utilities.shape
    if subjects < 3 or attributes < 2 or clusters < 2:
        return None
    components = crossed_components(utilities)
    return Components(
        subject=components[()],
        association=components[1,],
        subject_and_cluster=components[2,],
        association_and_cluster=components[1, 2],
    )


def crossed_components(utilities: FloatArray) -> dict[tuple[int, ...], float]:
    """Divides the variance of C between subjects and the axes that they are crossed with.

    All effects are random.

    Args:
        utilities: shape (subjects, ...), none missing; 3 subjects and 2 of all else at least.

    Returns:
        The variances of C, half a difference of utilities, by the axes that the effect of a subject
        varies with; `()` is its effect everywhere. Not clipped.
    """
    axes = range(1, utilities.ndim)
    effects: list[tuple[int, ...]] = []
    for size in range(utilities.ndim):
        effects += combinations(axes, size)
    squares, repeats = mean_squares(utilities, effects)
    components = {}
    for effect in effects:
        # The mean square of an effect has the variances of all larger ones in it.
        doubled = sum(
            (-1) ** (len(larger) - len(effect)) * squares[larger]
            for larger in effects
            if {*effect} <= {*larger}
        )
        # C is half a difference of utilities, so its variance is half of theirs.
        components[effect] = float(doubled / repeats[effect]) / 2
    return components


def mean_squares(
    utilities: FloatArray, effects: Sequence[tuple[int, ...]]
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], int]]:
    """Returns the mean square of each effect, as in an analysis of variance.

    Args:
        utilities: see `crossed_components`.
        effects: all sets of the axes behind the first, each set an interaction of subjects.

    Returns:
        The mean squares, and over how many values each mean of an effect is taken.
    """
    centred = utilities - utilities.mean(axis=0, keepdims=True)
    means: dict[tuple[int, ...], FloatArray] = {}
    repeats = {}
    for effect in effects:
        averaged = tuple(axis for axis in range(1, utilities.ndim) if axis not in effect)
        means[effect] = centred.mean(axis=averaged, keepdims=True)
        repeats[effect] = prod(utilities.shape[axis] for axis in averaged)
    squares = {}
    largest_first = sorted(effects, key=len, reverse=True)
    for effect in effects:
        # What the means have beyond those of all smaller effects.
        interaction = sum(
            (-1) ** (len(effect) - len(part)) * means[part]
            for part in largest_first
            if {*part} <= {*effect}
        )
        df = (len(utilities) - 1) * prod(utilities.shape[axis] - 1 for axis in effect)
        squares[effect] = repeats[effect] * (interaction**2).sum() / df
    return squares, repeats


def reliability_indices(components: Components, attributes: int, clusters: int) -> Indices:
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
        np.ceil(WANTED_RELIABILITY / (1 - WANTED_RELIABILITY) * noise / signal - 1e-9)
        if signal > 0
        else float("nan")
    )
    # Of components that are not clipped: the sum is that of means, whose subject's own part may be
    # 0.
    of_subjects = max(components.subject + components.association / attributes, 0.0)
    with_cluster = components.subject_and_cluster + components.association_and_cluster / attributes
    noise_of_subjects = max(with_cluster, 0.0) / clusters
    return Indices(
        noise / (signal + noise),
        signal / (signal + noise / clusters),
        of_subjects / (of_subjects + noise_of_subjects) if of_subjects > 0 else 0.0,
        float(max(needed, 1.0)),
    )


class PairVariance:
    """How far single pairs of subjects are from the difference of their utilities."""

    def __init__(self, sums: Sequence[Sums], cluster_of: IntArray):
        """Takes the sums of a cell, and the cluster (or cluster and format) of each template."""
        self.squares = find_sums(sums, SQUARES, keys=("attribute",)).along["cell"].sums[:, 0]
        self.pattern = self.squares[:, 3].astype(np.int64)
        counts = find_sums(sums, PAIR_COUNTS, keys=("attribute",)).along["pairs"]
        places = [unit.split() for unit in counts.units]
        self.pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
        clusters = np.arange(int(cluster_of.max(initial=-1)) + 1)
        membership = np.asarray(cluster_of[:, None] == clusters, dtype=np.float64)
        self.counts = counts.sums @ membership

    def of(
        self,
        scale: FloatArray,
        gamma: AssociationsByCluster,
        attributes: IntArray,
        clusters: BoolArray,
    ) -> tuple[float, float]:
        """Returns the variance of pairs and the variance of orders in a block.

        With u the utilities of a cluster, the mean over swap groups of (C - (u(x1) - u(x2)) / 2)².

        Args:
            scale: u, shape (subjects, attributes of the block, clusters of the block).
            gamma: the associations by cluster.
            attributes: shape (attributes of the block,).
            clusters: shape (clusters,), which clusters the block has.
        """
        squares, orders, n = self.squares[attributes, :3].sum(axis=0)
        own = gamma.sums[:, attributes][:, :, clusters]
        counts = gamma.counts[:, attributes][:, :, clusters]
        one, other = self.pairs.T
        products = 0.0
        # Attribute by attribute: all pairs of a large cell at once take more memory than all else.
        for place, pattern in enumerate(self.pattern[attributes]):
            pair_counts = self.counts[pattern][:, clusters]
            products += (scale[one, place] * scale[other, place] * pair_counts).sum()
        spread = (scale**2 * counts).sum() - 2 * products
        return float((squares - (scale * own).sum() + spread / 4) / n), float(orders / n)


def block_variances(
    pair: PairVariance, gamma: AssociationsByCluster, first_list_size: int | None, formats: int = 1
) -> Iterator[dict[str, Any]]:
    """Yields the sources of variance, and indices, of each block of attributes.

    A block has the attributes that are asked in the same clusters.

    Args:
        pair: the variance of single pairs.
        gamma: the associations by cluster or, with several prompt formats, by cluster and format,
            the latter varying fastest.
        first_list_size: see `permutation.permutation_test`.
        formats: how many prompt formats there are.
    """
    asked = gamma.counts > 0
    if gamma.clusters % formats:
        return
    patterns, block_of = np.unique(asked.any(axis=0), axis=0, return_inverse=True)
    for block, pattern in enumerate(patterns):
        attributes = np.flatnonzero(block_of.reshape(-1) == block)
        is_complete = bool(pattern.any() and asked[:, attributes][:, :, pattern].all())
        if not (is_complete and is_crossed(pattern, formats)):
            continue
        scale = utilities(gamma.values[:, attributes][:, :, pattern], first_list_size)
        crossed = scale.reshape(*scale.shape[:2], -1, formats)
        components = variance_components(crossed.mean(axis=3))
        if components is None:
            continue
        variances = components.by_name if formats == 1 else format_variances(crossed)
        variances["pair"], variances["order"] = pair.of(scale, gamma, attributes, pattern)
        total = sum(max(variance, 0.0) for variance in variances.values())
        for name, variance in variances.items():
            share = max(variance, 0.0) / total if total else None
            yield {"block": block, "name": name, "value": variance, "share": share}
        for name, value in block_indices(components, crossed).items():
            yield {"block": block, "name": name, "value": value, "share": None}


def format_variances(utilities: FloatArray) -> dict[str, float]:
    """Returns the variances of C by the names of `FORMAT_VARIANCE_AXES`, in their order.

    Args:
        utilities: shape (subjects, attributes, clusters, formats), see `crossed_components`.
    """
    by_axes = crossed_components(utilities)
    return {name: by_axes[axes] for name, axes in FORMAT_VARIANCE_AXES.items()}


def is_crossed(pattern: BoolArray, formats: int) -> bool:
    """Whether each cluster of a block is asked in all prompt formats or in none.

    Args:
        pattern: shape (clusters x formats,), what is asked, formats varying fastest.
        formats: how many prompt formats there are.
    """
    in_formats = pattern.reshape(-1, formats)
    return bool((in_formats.all(axis=1) == in_formats.any(axis=1)).all())


def block_indices(components: Components, crossed: FloatArray) -> dict[str, float]:
    """Returns the indices of a block by name, of several prompt formats also those over formats.

    Args:
        components: the variances over clusters.
        crossed: utilities, shape (subjects, attributes, clusters, formats).
    """
    _, attributes, clusters, formats = crossed.shape
    of_clusters = reliability_indices(components, attributes, clusters)
    indices = dict(zip(INDEX_NAMES, of_clusters, strict=True))
    over_formats = variance_components(crossed.mean(axis=2)) if formats > 1 else None
    if over_formats is not None:
        of_formats = reliability_indices(over_formats, attributes, formats)
        shares = of_formats.template_share, of_formats.reliability
        indices |= zip(FORMAT_INDEX_NAMES, shares, strict=True)
    return indices


FEWEST_CLUSTERS = 3
"""The noise of two clusters is the same but for its sign, whatever they say."""
FEWEST_ATTRIBUTES = 2


def cluster_noise(sums: FloatArray, counts: FloatArray) -> FloatArray:
    """Returns each cluster's own noise, shape (subjects, attributes, clusters), NaN if unknown.

    That is what is left of its associations without what all clusters have in common, multiplied by
    its factor (see `noise.moderated_variances`), and without what it does to a subject as such:
    two clusters that multiply alike, or that like the same subjects, do not therefore say the same.

    Args:
        sums: of C.
        counts: how many comparisons there are.
    """
    subjects, attributes, clusters = sums.shape
    # Associations in one row each, subject by subject.
    values = divide(sums, counts).reshape(-1, clusters)
    means = divide(sums.sum(axis=2), counts.sum(axis=2)).ravel()
    attribute_of = np.tile(np.arange(attributes), subjects)
    blocks = attribute_blocks(counts.reshape(-1, clusters) > 0, attribute_of)
    noise = np.full(values.shape, np.nan)
    noise_of_pairs = noise.reshape(sums.shape)
    for block in range(blocks.max(initial=-1) + 1):
        inside = np.flatnonzero(blocks == block)
        own_attributes = inside[: len(inside) // subjects]
        is_asked = (counts[:, own_attributes] > 0).any(axis=(0, 1))
        if len(own_attributes) < FEWEST_ATTRIBUTES or is_asked.sum() < FEWEST_CLUSTERS:
            continue
        factors = cluster_factors(
            values[inside], means[inside], np.ones(len(inside), dtype=np.bool_)
        )
        # Without any association there is nothing to multiply.
        in_common = means[inside, None] * np.nan_to_num(factors)
        noise[inside] = values[inside] - in_common
        of_block = noise_of_pairs[:, own_attributes]
        known = ~np.isnan(of_block)
        of_subjects = divide(np.where(known, of_block, 0).sum(axis=1), known.sum(axis=1))
        noise_of_pairs[:, own_attributes] = of_block - of_subjects[:, None]
    largest = np.nanmax(np.abs(values), initial=0)
    is_rounding = np.abs(noise_of_pairs) <= np.sqrt(RELATIVE_ROUNDING) * largest
    return np.where(is_rounding, 0, noise_of_pairs)


def likeness(noise: FloatArray, asked: BoolArray) -> FloatArray:
    """Returns the correlation of the noise of each two clusters, shape (clusters, clusters).

    The noise of clusters sums to nearly 0, so that of two independent ones of F correlates by -1 /
    (F - 1). 1 / (F - 1) is added, so a correlation may exceed 1. Two clusters without any noise are
    the same. NaN on the diagonal, where no noise is known in both, and where that of one does not
    vary.

    Args:
        noise: from `cluster_noise`.
        asked: the same shape, what each cluster asks.
    """
    clusters = noise.shape[2]
    correlations = np.full((clusters, clusters), np.nan)
    clusters_of_attributes = asked.any(axis=0).sum(axis=1)
    for one, other in combinations(range(clusters), 2):
        known = ~np.isnan(noise[..., one]) & ~np.isnan(noise[..., other])
        if not known.any():
            continue
        are_equal = not noise[..., [one, other]][known].any()
        correlation = 1.0 if are_equal else known_correlation(noise[..., one], noise[..., other])
        asking = np.broadcast_to(clusters_of_attributes, known.shape)[known].mean()
        correlations[one, other] = correlations[other, one] = correlation + 1 / (asking - 1)
    return correlations


def noise_ratio(noise: FloatArray) -> FloatArray:
    """Returns how many times as noisy each cluster is as the one in the middle, shape (clusters,).

    Args:
        noise: from `cluster_noise`.
    """
    known = ~np.isnan(noise)
    squares = (np.where(known, noise, 0) ** 2).sum(axis=(0, 1))
    spread = np.sqrt(divide(squares, known.sum(axis=(0, 1))))
    known_spread = spread[~np.isnan(spread)]
    return divide(spread, float(np.median(known_spread)) if len(known_spread) else np.nan)


def known_correlation(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of numbers that are known in both; NaN where one does not vary."""
    known = ~np.isnan(one) & ~np.isnan(other)
    if not known.any():
        return float("nan")
    deviations = one[known] - one[known].mean()
    other_deviations = other[known] - other[known].mean()
    norm = np.sqrt((deviations**2).sum() * (other_deviations**2).sum())
    return float((deviations * other_deviations).sum() / norm) if norm > 0 else float("nan")


def cluster_design_rows(
    gamma: AssociationsByCluster, templates: IntArray, cluster_of: IntArray
) -> pl.DataFrame:
    """Returns rows of `DESIGN` about clusters: mu without each, and clusters with like noise.

    Args:
        gamma: the associations by cluster.
        templates: shape (units,), their numbers, again in each prompt format.
        cluster_of: shape (units,), the cluster of each.
    """
    noise = cluster_noise(gamma.sums, gamma.counts)
    correlations = likeness(noise, gamma.counts > 0)
    ratios = noise_ratio(noise)
    rows: list[dict[str, Any]] = []
    for cluster in range(gamma.clusters):
        numbers: dict[str, float | None] = dict.fromkeys(("mu_without", "correlation", "likeness"))
        if gamma.clusters > 1:
            without = gamma.without(cluster)
            numbers["mu_without"] = float(statistic(without.means, "mu"))
            own = gamma.values[..., cluster]
            numbers["correlation"] = known_correlation(own, without.means)
        most_like = None
        if not np.isnan(correlations[cluster]).all():
            most_like = int(np.nanargmax(correlations[cluster]))
            numbers["likeness"] = float(correlations[cluster, most_like])
        numbers["noise_ratio"] = float(ratios[cluster])
        own_templates = np.unique(templates[cluster_of == cluster])
        shared = {"cluster": cluster, "templates": ", ".join(map(str, own_templates))}
        for name, value in numbers.items():
            rows.append({**shared, "name": name, "value": value, "like": most_like})
    types = {
        "cluster": pl.UInt16,
        "templates": pl.String,
        "name": pl.String,
        "value": pl.Float64,
        "like": pl.UInt16,
    }
    return pl.DataFrame(rows, schema=types)
