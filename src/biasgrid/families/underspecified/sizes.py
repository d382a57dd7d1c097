"""How large associations are as a whole, what noise makes of them, where their variance is, and which to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.measures import NOTHING_FOUND, prompt_sign
from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.families.underspecified.swap_groups import SwapGroups
from biasgrid.groups.terms import with_permutation_tests
from biasgrid.stats.clusters import clusters_of_templates, parse_units
from biasgrid.stats.estimate import FEWEST_TESTED, join_factors
from biasgrid.stats.multiplicity import LEVEL
from biasgrid.stats.noise.by_cluster import (
    TOO_FEW_KNOWN,
    ByCluster,
    interval_row,
    size_row,
    size_without_clusters,
)
from biasgrid.stats.noise.components import (
    PAIR_COUNTS,
    SQUARES,
    PairVariance,
    variances_of,
)
from biasgrid.stats.noise.factors import over_first_factor, sources_of_formats
from biasgrid.stats.noise.group_strength import strength_of_groups, strength_row
from biasgrid.stats.noise.names import NAMES
from biasgrid.stats.noise.redundancy import (
    clusters_of_cell,
)
from biasgrid.stats.null import held_out_strength, statistic
from biasgrid.stats.permutation import permutation_test, utilities
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import FORMATS, TEMPLATES, TOTAL, Along, Sums, add_up, find_sums
from biasgrid.tables.measures import MEASURE_KEYS

ASSOCIATION = ("subject", "attribute")
MASS_PART, MASS_CHANGE = "mass_part", "mass_change"
"""Inputs of the flag `mass`."""


def mu(gamma: Sums) -> float:
    """Intensity: mean over subjects of the largest |gamma(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of(gamma), "mu"))


def eta_of_cell(eta: Sums) -> float:
    """Mean over subjects and attributes of |eta(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of(eta), "eta"))


def matrix_of(sums: Sums) -> FloatArray:
    """Returns numbers of pairs, shape (subjects, attributes), NaN where nobody asked."""
    wide = sums.keys.select(*ASSOCIATION, value=pl.Series(sums.values)).pivot(
        "attribute", index="subject", values="value"
    )
    return wide.drop("subject").to_numpy().astype(np.float64)


def mu_corrected(gamma: ByCluster) -> float:
    """Root of mu² less the square of what noise alone makes of it."""
    return gamma.corrected("mu")


def eta_corrected(eta: ByCluster) -> float:
    """Root of eta² less the square of what noise alone makes of it."""
    return eta.corrected("eta")


def strength(gamma: ByCluster) -> float:
    """Root mean square of associations without noise, signed like an adjusted R²."""
    return gamma.strength()


def mu_held_out(gamma: ByCluster) -> float:
    """Mean over subjects of the association that is largest in all clusters but one, as measured in that one."""
    return held_out_strength(gamma.sums, gamma.counts)


def associations_of_cell(sums: Sequence[Sums], settings: StatisticsSettings) -> tuple[ByCluster, ByCluster, int | None]:
    """Returns gamma and eta by cluster, and of two lists how many subjects are of the first."""
    of_pairs = [find_sums(sums, name, ASSOCIATION) for name in ("gamma", "eta")]
    subjects, attributes, firsts = two_lists(sums)
    gamma, eta = (ByCluster.of(each.clustered(settings.clusters), subjects, attributes) for each in of_pairs)
    return gamma, eta, firsts


def sizes_of_gamma(
    estimates: pl.DataFrame, sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> CellNumbers:
    """Adds what is made of all associations together, and where their variance is.

    Args:
        estimates: those of the cell.
        sums: its sums.
        options: see `measures.measure`.
        settings: level, seed, clusters and the like.
    """
    if not any(each.keys["measure"][0] == "gamma" for each in sums):
        return CellNumbers(estimates)
    gamma, eta, firsts = associations_of_cell(sums, settings)
    of_mu = {
        "null_mean": gamma.null_mean("mu"),
        "clusters": gamma.clusters,
        **permuted_associations(gamma, firsts, settings),
    }
    if not gamma.is_representative:
        # A test of fewer associations would not be of this number.
        of_mu["p"] = float("nan")
    of_eta = {"null_mean": eta.null_mean("eta"), "clusters": eta.clusters}
    known = estimates.with_columns(of_cell("mu", name, value) for name, value in of_mu.items())
    known = known.with_columns(of_cell("eta", name, value) for name, value in of_eta.items())
    held_out = {"measure": "mu_held_out", "value": mu_held_out(gamma), "reason": "measured in what is left out"}
    rows = [size_row(gamma, size, settings) for size in corrected_numbers(gamma, eta)]
    counts = {"n": gamma.known, "left_out": gamma.left_out}
    shared = {"options": "", **counts, "generalises_to": "clusters"}
    table = pl.DataFrame([{**shared, "clusters": gamma.clusters, "is_claim": True, **row} for row in (*rows, held_out)])
    derived = pl.concat([known, table], how="diagonal_relaxed")
    with_groups = with_permutation_tests(derived, sums, options.get("failure_threshold", 0), settings)
    return CellNumbers(with_groups, design_of_cell(sums, gamma, firsts, estimates, settings))


def permuted_associations(part: ByCluster, firsts: int | None, settings: StatisticsSettings) -> dict[str, Any]:
    """Returns `p` and `method` of the test of any association at all; see `permutation.permutation_test`.

    Two clusters are too few to test by, whatever they are tested with.
    """
    if part.clusters < FEWEST_TESTED:
        return {"p": None, "method": None}
    scale = part.values if firsts is None else utilities(part.values, firsts)
    test = permutation_test(scale, part.counts, firsts, settings.permutations, settings.seed)
    method = f"permutation ({'exact' if test.exact else test.tried})" if test.tried else None
    return {"p": test.p, "method": method}


def of_cell(measure: str, column: str, value: float | int | str | None) -> pl.Expr:
    """Fills a column in the row of a measure of the whole cell."""
    about = pl.all_horizontal(pl.col("measure") == measure, *(pl.col(key).is_null() for key in MEASURE_KEYS))
    return pl.when(about).then(pl.lit(value)).otherwise(column).alias(column)


def corrected_numbers(gamma: ByCluster, eta: ByCluster) -> Iterator[tuple[str, float, FloatArray]]:
    """Yields what is corrected for noise, with what it is without each cluster, shape (1, clusters)."""
    yield size_without_clusters("mu_corrected", gamma, mu_corrected)
    yield size_without_clusters("eta_corrected", eta, eta_corrected)
    yield size_without_clusters("strength", gamma, strength)


def left_out_of_gamma(
    sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> Iterator[tuple[str, float, Sequence[str], FloatArray]]:
    """Yields the numbers that models are compared by and that are made of several sums, with the names of clusters.

    See `corrected_numbers`.
    """
    if any(each.keys["measure"][0] == "gamma" for each in sums):
        along = find_sums(sums, "gamma", ASSOCIATION).clustered(settings.clusters).along[TEMPLATES]
        units = [along.units[place] for place in np.flatnonzero(along.present.any(axis=0)).tolist()]
        for name, value, without in corrected_numbers(*associations_of_cell(sums, settings)[:2]):
            yield name, value, units, without


NOT_SIZED = "the strength of gamma is not above 0"
CLAIM = {"options": "", "generalises_to": "clusters", "is_claim": True}


class PreferencesByCluster(NamedTuple):
    """Associations of preferences by cluster.

    Attributes:
        share: those of shares.
        question: those of the question alone.
        mass: the mass part of gamma.
        firsts: of two lists how many subjects are of the first, None of one list.
    """

    share: ByCluster
    question: ByCluster
    mass: ByCluster
    firsts: int | None

    @classmethod
    def of(cls, sums: Sequence[Sums], settings: StatisticsSettings) -> PreferencesByCluster:
        """Takes the sums of a cell."""
        subjects, attributes, firsts = two_lists(sums)
        names = ("share_gamma", "question_association", MASS_PART)
        of_pairs = [find_sums(sums, name, ASSOCIATION).clustered(settings.clusters) for name in names]
        share, question, mass_part = (ByCluster.of(each, subjects, attributes) for each in of_pairs)
        return cls(share, question, mass_part, firsts)

    def sizes(self) -> Iterator[tuple[ByCluster, tuple[str, float, FloatArray]]]:
        """Yields the sizes that are corrected for noise, of what they are; see `corrected_numbers`."""
        yield self.share, size_without_clusters("share_mu_corrected", self.share, share_mu_corrected)
        yield self.share, size_without_clusters("share_strength", self.share, share_strength)
        yield self.question, size_without_clusters("question_strength", self.question, question_strength)


def share_mu(share_gamma: Sums) -> float:
    """Intensity of shares: mean over subjects of the largest |share_gamma(x, a)|."""
    return float(statistic(matrix_of(share_gamma), "mu"))


def share_mu_corrected(share_gamma: ByCluster) -> float:
    """Root of share_mu² less the square of what noise alone makes of it."""
    return share_gamma.corrected("mu")


def share_strength(share_gamma: ByCluster) -> float:
    """Root mean square of associations of shares without noise, signed like an adjusted R²."""
    return strength(share_gamma)


def question_strength(question_association: ByCluster) -> float:
    """Root mean square of associations in the question alone without noise, signed like an adjusted R²."""
    return strength(question_association)


def derive(
    estimates: pl.DataFrame, sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> CellNumbers:
    """Adds what is made of all associations together: those of gamma, of shares, and of the question alone.

    Args:
        estimates: those of the cell.
        sums: its sums.
        options: see `measures.measure`.
        settings: level, seed, clusters and the like.
    """
    found = sizes_of_gamma(estimates, sums, options, settings)
    if not has_shares(sums):
        return found
    parts = PreferencesByCluster.of(sums, settings)
    of_mu = {
        "null_mean": parts.share.null_mean("mu"),
        "clusters": parts.share.clusters,
        **permuted_associations(parts.share, parts.firsts, settings),
    }
    if not parts.share.is_representative:
        # Without their noise floor they would be taken for bias.
        of_mu |= {"value": None, "p": None, "reason": f"noise unknown: {TOO_FEW_KNOWN}"}
    known = found.estimates.with_columns(of_cell("share_mu", name, value) for name, value in of_mu.items())
    rows = [row_of(part, size_row(part, size, settings)) for part, size in parts.sizes()]
    rows[-1]["p"] = permuted_associations(parts.question, parts.firsts, settings)["p"]
    flags = [
        row_of(parts.mass, mass(parts.mass, sums, settings)),
        {**CLAIM, **negation_unread(estimates)},
        {**CLAIM, **disagreement(estimates)},
    ]
    of_groups = [{**CLAIM, **row} for row in strengths_of_groups(sums, settings)]
    table = pl.DataFrame([*rows, *of_groups, *flags], infer_schema_length=None)
    of_formats = prompt_sign([counted_sums(sums, estimates)], settings)
    return found._replace(estimates=pl.concat([known, table, of_formats], how="diagonal_relaxed"))


def counted_sums(sums: Sequence[Sums], estimates: pl.DataFrame) -> Sums:
    """Returns the associations that are counted: those of groups where there are any, else of single subjects."""
    measure = counted_association(estimates)
    of_groups = any(each.keys["measure"][0] == measure and is_of_groups(each) for each in sums)
    return find_sums(sums, measure, OF_GROUPS if of_groups else ASSOCIATION)


def row_of(part: ByCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a size with what it is made of."""
    return {**CLAIM, "n": part.known, "left_out": part.left_out, "clusters": part.clusters, **row}


def has_shares(sums: Sequence[Sums]) -> bool:
    """Says whether any swap group of a cell was answered."""
    return any(each.keys["measure"][0] == "share_gamma" for each in sums)


def mass(part: ByCluster, sums: Sequence[Sums], settings: StatisticsSettings) -> dict[str, Any]:
    """Strength of the mass part of gamma, as a share of the strength of gamma, with its jackknife interval.

    Args:
        part: the mass part by cluster.
        sums: all sums of the cell.
        settings: clusters and level.

    Returns:
        A row, with the factor by which masses change with the question as `flag`.
    """
    of_gamma = strength(associations_of_cell(sums, settings)[0])
    if not of_gamma > 0:
        return {"measure": "mass", "value": None, "reason": NOT_SIZED}
    row = interval_row(*size_without_clusters("mass", part, strength), settings)
    numbers = {name: row[name] for name in ("value", "low", "high", "se") if row.get(name) is not None}
    change = find_sums(sums, MASS_CHANGE, ()).values[0]
    return {**row, **{name: each / of_gamma for name, each in numbers.items()}, "flag": f"{np.exp(change):.2f}"}


def negation_unread(estimates: pl.DataFrame) -> dict[str, Any]:
    """The correlation `negation_reading` as a flag: near 1 a model gives the same answers to question and negation."""
    row = estimates.filter(measure="negation_reading", generalises_to="clusters").row(0, named=True)
    columns = ("value", "low", "high", "n", "left_out", "clusters", "se", "df", "method", "reason")
    return {"measure": "negation_unread", **{name: row[name] for name in columns}}


def disagreement(estimates: pl.DataFrame) -> dict[str, Any]:
    """Share of the associations significant in gamma or in shares that are not so, on the same side of 0, in both."""
    rows = estimates.filter(pl.col("measure").is_in(["gamma", "share_gamma"]), "is_claim")
    pairs = rows.drop_nulls(ASSOCIATION)
    side = pl.when(pl.col("q").fill_nan(None) <= LEVEL).then(pl.col("value").sign()).fill_null(0)
    sides = pairs.with_columns(side=side).pivot("measure", index=ASSOCIATION, values="side")
    either = sides.filter((pl.col("gamma") != 0) | (pl.col("share_gamma") != 0))
    apart, count = int((either["gamma"] != either["share_gamma"]).sum()), len(either)
    row = {"measure": "disagreement", "n": count, "left_out": 0, "flag": f"{apart} of {count}"}
    return {**row, "value": apart / count} if count else {**row, "value": None, "reason": NOTHING_FOUND}


def left_out_of_derived(
    sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> Iterator[tuple[str, float, Sequence[str], FloatArray]]:
    """Yields the numbers that models are compared by and that are made of several sums, with the names of clusters.

    See `PreferencesByCluster.sizes` and `corrected_numbers`.
    """
    yield from left_out_of_gamma(sums, options, settings)
    if has_shares(sums):
        names = {"share": "share_gamma", "question": "question_association"}
        units = {name: clusters_of(find_sums(sums, each, ASSOCIATION), settings) for name, each in names.items()}
        for _, (name, value, without) in PreferencesByCluster.of(sums, settings).sizes():
            yield name, value, units[name.split("_")[0]], without


def clusters_of(sums: Sums, settings: StatisticsSettings) -> list[str]:
    """Returns the names of the clusters that numbers have anything of."""
    along = sums.clustered(settings.clusters).along[TEMPLATES]
    return [along.units[place] for place in np.flatnonzero(along.present.any(axis=0)).tolist()]


OF_GROUPS = ("subject_group", "attribute")
STRENGTHS = {"group_strength": "share_gamma", "question_group_strength": "question_association"}


def group_strength(share_gamma: Sums) -> float:
    """Root mean square of associations of groups in shares without the noise of clusters and names."""
    return strength_of_groups(share_gamma)


def question_group_strength(question_association: Sums) -> float:
    """Root mean square of associations of groups in the question alone without the noise of clusters and names."""
    return strength_of_groups(question_association)


def strengths_of_groups(sums: Sequence[Sums], settings: StatisticsSettings) -> Iterator[dict[str, Any]]:
    """Yields the rows of the strengths of groups of names, where a cell has any.

    Args:
        sums: all sums of the cell.
        settings: clusters and level.
    """
    for measure, of_what in STRENGTHS.items():
        if any(each.keys["measure"][0] == of_what and is_of_groups(each) for each in sums):
            part = find_sums(sums, of_what, OF_GROUPS).clustered(settings.clusters)
            over = join_factors([TEMPLATES, NAMES, *([FORMATS] if FORMATS in part.along else [])])
            yield {"measure": measure, "generalises_to": over, **strength_row(part, settings)}


def is_of_groups(sums: Sums) -> bool:
    """Says whether numbers are about groups of names with attributes."""
    return all(key in sums.keys.columns and sums.keys[key].null_count() < len(sums.keys) for key in OF_GROUPS)


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
