"""Signed differences of groups: which of two fares better, and whether other templates and terms would say so too."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, ratio
from biasgrid.groups.uncertainty.matrix import TermScores
from biasgrid.stats.estimate import jackknife_of_means, leave_one_out
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, p_values
from biasgrid.stats.multiplicity import false_discovery_rates, holm, selected_ends
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.tables.statistics import NO_METHOD

WITHIN = (-1.0, 1.0)


class GroupPairs(NamedTuple):
    """Pairs of groups, arrays of shape (pairs,).

    Attributes:
        group: names.
        other: names.
        value: the mean over cases of what the score of the group is more than that of the other.
        cases: how many cases have both.
        clusters: how many clusters have such cases.
        without: shape (pairs, clusters), the value without each cluster.
        templates: how much the value varies with clusters.
        terms: how much it varies with terms.
    """

    group: list[str]
    other: list[str]
    value: FloatArray
    cases: FloatArray
    clusters: FloatArray
    without: FloatArray
    templates: VarianceSource
    terms: VarianceSource


def group_pairs(scores: TermScores) -> GroupPairs:
    """Compares all pairs of groups, each in the cases that have both."""
    pairs = list(combinations(range(len(scores.groups)), 2))
    of_groups, clusters = scores.scores, int(scores.cluster.max()) + 1
    found = [compare_two_groups(scores, of_groups, clusters, one, other) for one, other in pairs]
    sums, counts, terms, df = (np.stack(each) for each in zip(*found, strict=True))
    variance, _ = jackknife_of_means(sums, counts)
    units = (counts > 0).sum(axis=1).astype(np.float64)
    names = [[scores.groups[pair[side]] for pair in pairs] for side in (0, 1)]
    value, cases = ratio(sums.sum(axis=1), counts.sum(axis=1)), counts.sum(axis=1)
    without = leave_one_out(sums, counts)
    return GroupPairs(
        names[0], names[1], value, cases, units, without, VarianceSource(variance, units - 1), VarianceSource(terms, df)
    )


def compare_two_groups(
    scores: TermScores, of_groups: FloatArray, clusters: int, one: int, other: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compares two groups.

    Returns:
        By cluster, shape (clusters,), the sum of their differences and the number of cases; the variance of their
        terms, and its degrees of freedom.
    """
    apart = of_groups[:, one] - of_groups[:, other]
    both = ~np.isnan(apart)
    sums = np.bincount(scores.cluster[both], apart[both], minlength=clusters).astype(np.float64)
    counts = np.bincount(scores.cluster[both], minlength=clusters).astype(np.float64)
    if np.bincount(scores.group_of)[[one, other]].min() < 2:
        return sums, counts, np.array(np.nan), np.array(np.nan)
    means = ratio(scores.sums[both].sum(axis=0), scores.counts[both].sum(axis=0))
    sides = [means[(scores.group_of == group) & ~np.isnan(means)] for group in (one, other)]
    if min(map(len, sides)) < 2:
        return sums, counts, np.array(np.nan), np.array(np.nan)
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    free = np.array([len(side) - 1 for side in sides])
    # Welch and Satterthwaite.
    df = ratio(parts.sum() ** 2, (parts**2 / free).sum())
    return sums, counts, parts.sum(), df


def difference_rows(scores: TermScores, settings: StatisticsSettings) -> pl.DataFrame:
    """Returns rows of `STATISTICS` of the differences of all pairs of groups, without measure and options.

    Tests are corrected for all pairs of the bias type.
    """
    pairs = group_pairs(scores)
    sources = {
        "templates": ([pairs.templates], "jackknife t"),
        "subjects": ([pairs.terms], "Welch t"),
        "all": ([pairs.templates, pairs.terms], "combined"),
    }
    tables = {
        generalises_to: rows_over(scores.bias_type, pairs, generalises_to, *each, settings)
        for generalises_to, each in sources.items()
    }
    tables["templates"] = tables["templates"].with_columns(**jackknife_columns(pairs.without))
    return pl.concat(tables.values(), how="diagonal")


def rows_over(
    bias_type: str,
    pairs: GroupPairs,
    generalises_to: str,
    sources: list[VarianceSource],
    method: str,
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """Returns rows of `STATISTICS` over one thing."""
    low, high = interval_ends(pairs.value, half_width(sources, settings.alpha), WITHIN)
    p = p_values(pairs.value, sources)
    q = false_discovery_rates(p, settings.fdr)
    selected = selected_ends(pairs.value, q, sources, WITHIN, settings.alpha)
    single = sources[0] if len(sources) == 1 else VarianceSource(*np.full((2, len(p)), np.nan))
    return pl.DataFrame(
        {
            "bias_type": [bias_type] * len(p),
            "group": pairs.group,
            "other": pairs.other,
            "generalises_to": generalises_to,
            "value": pairs.value,
            "low": low,
            "high": high,
            "selected_low": selected[0],
            "selected_high": selected[1],
            "se": np.sqrt(single.variance),
            "df": single.df,
            "p": p,
            "q": q,
            "holm": holm(p),
            "clusters": pairs.clusters.astype(np.int64),
            "n": pairs.cases.astype(np.int64),
            "method": np.where(np.isnan(low), NO_METHOD, method),
        },
        schema_overrides={"generalises_to": pl.String},
    )
