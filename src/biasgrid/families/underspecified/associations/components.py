"""Where the variance of a cell is, what hangs on each of its clusters, and which clusters say nearly the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.underspecified.associations.by_cluster import ByCluster
from biasgrid.families.underspecified.associations.swap_groups import SwapGroups
from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.stats.clusters import clusters_of_templates, parse_units
from biasgrid.stats.multiplicity import LEVEL
from biasgrid.stats.noise.components import components_of, crossed_components, indices_of
from biasgrid.stats.noise.factors import over_first_factor, sources_of_formats
from biasgrid.stats.noise.redundancy import known_correlation, likeness, noise_of_clusters, noise_ratio
from biasgrid.stats.null import statistic
from biasgrid.stats.permutation import utilities
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, TOTAL, Along, Sums, add_up, find_sums

VARIANCE_NAMES = ("subject", "association", "subject x cluster", "association x cluster")
VARIANCE_NAMES_OF_FORMATS = (
    "subject", "association", "subject x cluster", "subject x format", "association x cluster", "association x format",
    "subject x cluster x format", "association x cluster x format",
)  # fmt: skip
"""The same of cells with several prompt formats."""
INDEX_NAMES = ("template_share", "reliability", "subject_reliability", "templates_for_0.8")
FORMAT_INDEX_NAMES = ("format_share", "format_reliability")
"""What the first two are with formats in the place of clusters."""
SQUARES = "comparison_squares"
PAIR_COUNTS = "pair_counts"
"""Inputs of the variance of pairs and orders."""
UNREAD_CORRELATION = 0.5
"""The limit of the flag `negation_unread`."""


def sums_of_pairs(groups: SwapGroups, known: pl.DataFrame) -> Iterator[Sums]:
    """Yields what the variances of pairs and of orders are made of.

    Args:
        groups: the swap groups.
        known: the same, from `observe.compare_subjects`.
    """
    attributes, count = groups.attributes.to_list(), len(groups.attributes)
    squares = (groups.comparison**2, order_effects(known) ** 2, np.ones(len(groups.comparison)))
    columns = [np.bincount(groups.attribute, each, minlength=count) for each in squares]
    keys = pl.DataFrame({"measure": SQUARES, "options": "", "attribute": attributes, "n": columns[2].astype(np.int64)})
    along = {"cell": Along(["all"], np.stack(columns, axis=-1)[:, None].astype(np.float64))}
    yield Sums(keys, along, TOTAL, compared=False, is_input=True)
    subjects, templates = len(groups.subjects), len(groups.templates)
    pairs, pair = np.unique(groups.one * subjects + groups.other, return_inverse=True)
    place = (groups.attribute * len(pairs) + pair) * templates + groups.template
    counts = np.bincount(place, minlength=count * len(pairs) * templates).reshape(count, len(pairs), templates)
    units = [f"{one} {other}" for one, other in zip(*np.divmod(pairs, subjects), strict=True)]
    along = {"pairs": Along(units, counts.astype(np.float64))}
    yield Sums(keys.with_columns(measure=pl.lit(PAIR_COUNTS)), along, TOTAL, compared=False, is_input=True)


def two_lists(sums: Sequence[Sums]) -> tuple[list[str], list[str], int | None]:
    """Returns the names of subjects and attributes, and how many subjects are of the first list, None of one list."""
    along = find_sums(sums, "delta", ()).along
    firsts = list(along["subjects"].units)
    others = list(along["others"].units) if "others" in along else []
    return firsts + others, list(along["attributes"].units), len(firsts) if others else None


def design_of_cell(
    sums: Sequence[Sums], gamma: ByCluster, firsts: int | None, estimates: pl.DataFrame, settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns rows of `DESIGN`.

    Args:
        sums: the sums of the cell.
        gamma: its associations by cluster.
        firsts: of two lists how many subjects are of the first.
        estimates: those of the cell.
        settings: its clusters.
    """
    templates, formats = parse_units(find_sums(sums, "delta", ()).along["templates"].units)
    cluster_of = clusters_of_templates(templates, settings.clusters)
    names = sorted({*formats})
    cell_of = cluster_of * len(names) + np.array([names.index(each) for each in formats])
    cells = gamma if len(names) == 1 else associations_by_cell(sums, cell_of)
    tables = [
        pl.DataFrame(list(variances_of(PairVariance(sums, cell_of), cells, firsts, len(names)))),
        noise_of(sums, settings),
        effects_of(sums, estimates, settings),
        clusters_of_cell(gamma, templates, cluster_of),
    ]
    return pl.concat([table for table in tables if len(table)], how="diagonal_relaxed")


def associations_by_cell(sums: Sequence[Sums], cell_of: IntArray) -> ByCluster:
    """Returns gamma by cluster and prompt format.

    Args:
        sums: the sums of the cell.
        cell_of: shape (units,), the cluster and format of each template in a format.
    """
    subjects, attributes, _ = two_lists(sums)
    gamma = find_sums(sums, "gamma", ("subject", "attribute"))
    added = add_up(gamma.along[TEMPLATES].sums, cell_of)
    along = {TEMPLATES: Along([str(cell) for cell in range(added.shape[1])], added)}
    return ByCluster.of(replace(gamma, along=along), subjects, attributes)


class PairVariance:
    """How far single pairs of subjects are from the difference of their utilities."""

    def __init__(self, sums: Sequence[Sums], cluster_of: IntArray):
        """Takes the sums of a cell, and the cluster, or the cluster and format, of each of its templates."""
        self.squares = find_sums(sums, SQUARES, ("attribute",)).along["cell"].sums[:, 0]
        counts = find_sums(sums, PAIR_COUNTS, ("attribute",)).along["pairs"]
        self.pairs = np.array([unit.split() for unit in counts.units], dtype=np.int64).reshape(-1, 2)
        membership = np.asarray(cluster_of[:, None] == np.arange(int(cluster_of.max(initial=-1)) + 1), dtype=np.float64)
        self.counts = counts.sums @ membership

    def of(self, scale: FloatArray, gamma: ByCluster, attributes: IntArray, clusters: BoolArray) -> tuple[float, float]:
        """Returns the variance of pairs and that of orders in a block.

        With u the utilities of a cluster, the mean over swap groups of (C - (u(x1) - u(x2)) / 2)².

        Args:
            scale: u, shape (subjects, attributes of the block, clusters of the block).
            gamma: the associations by cluster.
            attributes: shape (attributes of the block,).
            clusters: shape (clusters,), which clusters the block has.
        """
        squares, orders, n = self.squares[attributes].sum(axis=0)
        own, counts = (each[:, attributes][:, :, clusters] for each in (gamma.sums, gamma.counts))
        of_pairs = self.counts[attributes][:, :, clusters]
        both = np.moveaxis(scale[self.pairs[:, 0]] * scale[self.pairs[:, 1]], 0, 1)
        spread = (scale**2 * counts).sum() - 2 * (both * of_pairs).sum()
        return float((squares - (scale * own).sum() + spread / 4) / n), float(orders / n)


def variances_of(
    pair: PairVariance, gamma: ByCluster, firsts: int | None, formats: int = 1
) -> Iterator[dict[str, Any]]:
    """Yields the sources of variance of each block of attributes that are asked in the same clusters, and indices.

    Args:
        pair: the variance of single pairs.
        gamma: the associations by cluster or, with several prompt formats, by cluster and format, the latter varying
            fastest.
        firsts: of two lists how many subjects are of the first.
        formats: how many prompt formats there are.
    """
    asked = gamma.counts > 0
    if gamma.clusters % formats:
        return
    patterns, block_of = np.unique(asked.any(axis=0), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        attributes = np.flatnonzero(block_of.reshape(-1) == number)
        in_formats = pattern.reshape(-1, formats)
        is_crossed = bool((in_formats.all(axis=1) == in_formats.any(axis=1)).all())
        if not (pattern.any() and is_crossed and asked[:, attributes][:, :, pattern].all()):
            continue
        scale = utilities(gamma.values[:, attributes][:, :, pattern], firsts)
        crossed = scale.reshape(*scale.shape[:2], -1, formats)
        by_cluster = crossed.mean(axis=3)
        components = components_of(by_cluster)
        if components is None:
            continue
        own = dict(zip(VARIANCE_NAMES, components, strict=True))
        if formats > 1:
            own = dict(zip(VARIANCE_NAMES_OF_FORMATS, crossed_components(crossed).values(), strict=True))
        rest = dict(zip(("pair", "order"), pair.of(scale, gamma, attributes, pattern), strict=True))
        variances = own | rest
        total = sum(max(each, 0.0) for each in variances.values())
        for name, variance in variances.items():
            share = max(variance, 0.0) / total if total else None
            yield {"block": number, "name": name, "value": variance, "share": share}
        indices = dict(zip(INDEX_NAMES, indices_of(components, *by_cluster.shape[1:]), strict=True))
        if formats > 1 and (over_formats := components_of(by_format := crossed.mean(axis=2))) is not None:
            of_formats = indices_of(over_formats, *by_format.shape[1:])
            indices |= zip(FORMAT_INDEX_NAMES, (of_formats.template_share, of_formats.reliability), strict=True)
        for name, value in indices.items():
            yield {"block": number, "name": name, "value": value, "share": None}


def order_effects(observations: pl.DataFrame) -> FloatArray:
    """Returns half of what C is in one order of the subjects less what it is in the other, shape (groups,)."""
    scores = scores_in_groups(observations)
    bias = scores[:, :, 0] - scores[:, :, 1]
    in_order = (bias[..., 0] - bias[..., 1]) / 2
    return np.asarray((in_order[:, 0] - in_order[:, 1]) / 2)


def noise_of(sums: Sequence[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Returns rows of `DESIGN` that say how much gamma differs between clusters."""
    of_pairs = find_sums(sums, "gamma", ("subject", "attribute")).clustered(settings.clusters)
    plain = over_first_factor(replace(of_pairs, interval="t"))
    own = (plain.units * plain.source.variance)[~np.isnan(plain.source.variance)]
    if not len(own):
        return pl.DataFrame()
    found = {"noise_sd": float(np.sqrt(own.mean())), "prior_df": over_first_factor(of_pairs).prior.df}
    return pl.DataFrame([{"name": name, "value": value} for name, value in found.items()])


def effects_of(sums: Sequence[Sums], estimates: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Returns rows of `DESIGN` that say how large associations that are counted must be to be found.

    What a gain adds is left out: it is in proportion to an association, and so nothing where there is none.
    """
    measure = counted_association(estimates)
    part = find_sums(sums, measure, ("subject", "attribute")).clustered(settings.clusters)
    first = over_first_factor(part)
    if np.isnan(first.source.variance).all():
        return pl.DataFrame()
    sources = [first.source, *sources_of_formats(part, may_grow=True)[:1]]
    rows = estimates.filter(pl.col("measure") == measure, "is_claim")
    q = rows.drop_nulls(["subject", "attribute"])["q"].fill_null(float("nan")).to_numpy()
    tests = np.count_nonzero(~np.isnan(q))
    alpha = LEVEL * max(int(np.count_nonzero(q <= LEVEL)), 1) / tests if tests else float("nan")
    found = {
        "mde": detectable_effect(sources, LEVEL),
        "mde_fdr": detectable_effect(sources, alpha),
    }
    return pl.DataFrame([{"name": name, "value": value} for name, value in found.items()])


def counted_association(estimates: pl.DataFrame) -> str:
    """Returns the measure whose associations are counted: of the question alone where the negation is not read."""
    rows = estimates.filter(measure="negation_reading", generalises_to="clusters")
    is_unread = ((rows["value"] > UNREAD_CORRELATION) & (rows["low"].fill_null(0) > 0)).any()
    return "question_association" if is_unread else "share_gamma"


def clusters_of_cell(gamma: ByCluster, templates: IntArray, cluster_of: IntArray) -> pl.DataFrame:
    """Returns rows of `DESIGN` of the clusters of a cell: what it is without each, and which noise is alike.

    Args:
        gamma: the associations by cluster.
        templates: shape (units,), their numbers, again in each prompt format.
        cluster_of: shape (units,), the cluster of each.
    """
    noise = noise_of_clusters(gamma.sums, gamma.counts)
    alike, loudness = likeness(noise, gamma.counts > 0), noise_ratio(noise)
    rows: list[dict[str, Any]] = []
    for cluster in range(gamma.clusters):
        names = {"cluster": cluster, "templates": ", ".join(map(str, np.unique(templates[cluster_of == cluster])))}
        without = gamma.without(cluster) if gamma.clusters > 1 else None
        like = int(np.nanargmax(alike[cluster])) if not np.isnan(alike[cluster]).all() else None
        of_others = known_correlation(gamma.values[..., cluster], without.means) if without else None
        found = {
            "mu_without": float(statistic(without.means, "mu")) if without else None,
            "correlation": of_others,
            "likeness": float(alike[cluster, like]) if like is not None else None,
            "noise_ratio": float(loudness[cluster]),
        }
        rows += [{**names, "name": name, "value": value, "like": like} for name, value in found.items()]
    types = {"cluster": pl.UInt16, "templates": pl.String, "name": pl.String, "value": pl.Float64, "like": pl.UInt16}
    return pl.DataFrame(rows, schema=types)
