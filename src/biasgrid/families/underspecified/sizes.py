"""Sizes of all associations of a cell together, corrected for noise, and their variances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.prompt_formats import NOTHING_FOUND, prompt_sign
from biasgrid.families.underspecified.sums import ASSOCIATION, CellSums
from biasgrid.groups.terms import with_permutation_tests
from biasgrid.stats.clusters import cluster_positions, parse_units
from biasgrid.stats.estimate import join_factors
from biasgrid.stats.multiplicity import SIGNIFICANT, is_significant
from biasgrid.stats.noise.association_strength import (
    TOO_FEW_KNOWN,
    AssociationsByCluster,
    interval_row,
    size_row,
    size_without_clusters,
    strength_row,
)
from biasgrid.stats.noise.random_factors import NAMES, first_factor_variance, format_sources
from biasgrid.stats.noise.variance_components import (
    PAIR_COUNTS,
    SQUARES,
    PairVariance,
    block_variances,
    cluster_design_rows,
)
from biasgrid.stats.null import Statistic, held_out_strength
from biasgrid.stats.permutation import permutation_test, utilities
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.reasons import FEWEST_TESTED
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import PROMPT_FORMATS, TEMPLATES, TOTAL, Along, Sums, add_up, find_sums
from biasgrid.tables.measures import MEASURE_KEYS

GROUP_ASSOCIATION = ("subject_group", "attribute")
MASS_PART, MASS_CHANGE = "mass_part", "mass_change"
"""Inputs of the flag `mass`."""
NOT_SIZED = "the strength of gamma is not above 0"
CLAIM = {"options": "", "generalises_to": "clusters", "is_claim": True}
STRENGTHS = {"group_strength": "share_gamma", "question_group_strength": "question_association"}
"""Root mean squares of associations of groups, without the noise of clusters and names, and the
measures whose associations they are of.
"""
TESTS_OF_SIZES = {
    **{size: (measure, GROUP_ASSOCIATION) for size, measure in STRENGTHS.items()},
    "share_strength": ("share_gamma", ASSOCIATION),
    "strength": ("gamma", ASSOCIATION),
}
"""Sizes without a test of their own, and the measures and keys whose tests stand in."""
UNREAD_CORRELATION = 0.5
"""The limit of the flag `negation_unread`."""


def corrected_mu(part: AssociationsByCluster) -> float:
    """Root of mu² less the square of its expectation under noise alone."""
    return part.corrected_size("mu")


def corrected_eta(part: AssociationsByCluster) -> float:
    """Root of eta² less the square of its expectation under noise alone."""
    return part.corrected_size("eta")


CORRECTED: Mapping[str, tuple[str, Callable[[AssociationsByCluster], float]]] = {
    "mu_corrected": ("gamma", corrected_mu),
    # Strengths are root mean squares of associations without noise, signed like an adjusted R².
    "strength": ("gamma", AssociationsByCluster.strength),
    "eta_corrected": ("eta", corrected_eta),
    "share_mu_corrected": ("share_gamma", corrected_mu),
    "share_strength": ("share_gamma", AssociationsByCluster.strength),
    # Of associations in the question alone.
    "question_strength": ("question_association", AssociationsByCluster.strength),
}
"""Sizes that are corrected for noise, and the measures whose associations they are of; models are
compared by them.
"""


class CellAssociations:
    """The associations of a cell by cluster.

    Attributes:
        sums: the sums of a cell in which at least one swap group was answered.
        settings: level, seed, clusters and the like.
        subjects: names of subjects, of two lists the first before those of the second.
        attributes: names of attributes.
        firsts: of two lists, how many subjects are of the first; None for one list.
    """

    def __init__(self, sums: Sequence[Sums], settings: StatisticsSettings) -> None:
        self.sums, self.settings = sums, settings
        along = find_sums(sums, "delta", keys=()).along
        first_list = list(along["subjects"].units) if "subjects" in along else []
        second_list = list(along["others"].units) if "others" in along else []
        self.subjects = first_list + second_list
        self.attributes = [*along["attributes"].units]
        self.firsts = len(first_list) if second_list else None

    def clustered(self, measure: str) -> Sums:
        """Returns the associations of a measure, along clusters of templates."""
        return find_sums(self.sums, measure, keys=ASSOCIATION).clustered(self.settings.clusters)

    def by_cluster(self, measure: str) -> AssociationsByCluster:
        """Returns the associations of a measure by cluster."""
        return self.arranged(self.clustered(measure))

    def arranged(self, sums: Sums) -> AssociationsByCluster:
        """Returns sums of associations in the order of subjects and attributes."""
        return AssociationsByCluster.of(sums, self.subjects, self.attributes)

    @cached_property
    def parts(self) -> dict[str, AssociationsByCluster]:
        """The associations that have corrected sizes by cluster, for each measure."""
        measures = {part.keys["measure"][0] for part in self.sums}
        size_measures = dict.fromkeys(measure for measure, _ in CORRECTED.values())
        return {
            measure: self.by_cluster(measure) for measure in size_measures if measure in measures
        }

    def group_associations(self, measure: str) -> Sums | None:
        """Returns the associations of groups of subjects in a measure, None if there are none."""
        for part in self.sums:
            keys = part.keys
            has_keys = {*GROUP_ASSOCIATION} <= {*keys.columns}
            if keys["measure"][0] != measure or not has_keys:
                continue
            if all(keys[key].count() for key in GROUP_ASSOCIATION):
                return find_sums(self.sums, measure, keys=GROUP_ASSOCIATION)
        return None

    def permutation_columns(self, part: AssociationsByCluster) -> dict[str, Any]:
        """Returns `p` and `method` of the test of whether there is any association.

        See `permutation.permutation_test`. Both are None with few clusters: two are too few to test
        by, whatever they are tested with.
        """
        if part.clusters < FEWEST_TESTED:
            return {"p": None, "method": None}
        values, counts, firsts = part.values, part.counts, self.firsts
        scale = values if firsts is None else utilities(values, firsts)
        permutations, seed = self.settings.permutations, self.settings.seed
        test = permutation_test(scale, counts, firsts, permutations, seed)
        how = "exact" if test.exact else test.tried
        return {"p": test.p, "method": f"permutation ({how})" if test.tried else None}


def corrected_sizes(
    parts: Mapping[str, AssociationsByCluster],
) -> Iterator[tuple[str, tuple[str, float, FloatArray]]]:
    """Yields each size that is corrected for noise, with the measure that it is a size of.

    See `size_without_clusters`.
    """
    for name, (measure, size) in CORRECTED.items():
        if measure in parts:
            yield measure, size_without_clusters(name, parts[measure], size)


def has_associations(sums: Sequence[Sums]) -> bool:
    """Whether anything was answered, so that there are associations."""
    return any(part.keys["measure"][0] == "gamma" for part in sums)


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds the numbers that are made of all associations together, and where their variance is.

    Args:
        estimates: the estimates of the cell.
        sums: its sums.
        measure_options: see `measure.measure`.
        settings: level, seed, clusters and the like.
    """
    if not has_associations(sums):
        return CellNumbers(estimates)
    cell = CellAssociations(sums, settings)
    gamma, eta = cell.parts["gamma"], cell.parts["eta"]
    mu_columns = size_noise(gamma, "mu") | cell.permutation_columns(gamma)
    if not gamma.is_representative:
        # A test of fewer associations would not be of this number.
        mu_columns["p"] = float("nan")
    filled_rows = fill_row(estimates, "mu", mu_columns)
    filled_rows = fill_row(filled_rows, "eta", size_noise(eta, "eta"))
    rows = []
    for measure, size in corrected_sizes(cell.parts):
        part = cell.parts[measure]
        rows.append(with_cluster_counts(part, size_row(part, size, settings)))
    formats = pl.DataFrame()
    if "share_gamma" in cell.parts:
        # The last size is `question_strength`.
        rows[-1]["p"] = cell.permutation_columns(cell.parts["question_association"])["p"]
        filled_rows = fill_row(filled_rows, "share_mu", share_mu_noise(cell))
        flags = [mass(cell), negation_unread(estimates), disagreement(estimates)]
        rows += [{**CLAIM, **row} for row in (*flags, *group_strengths(cell))]
        counted_measure = counted_association(estimates)
        associations = cell.group_associations(counted_measure) or find_sums(
            sums, counted_measure, keys=ASSOCIATION
        )
        formats = prompt_sign([associations], settings)
    # Mean over subjects of the largest association, measured in a cluster that did not choose it:
    # it is the one that is largest in all clusters but this one.
    held_out = {
        "measure": "mu_held_out",
        "value": held_out_strength(gamma.sums, gamma.counts),
        "reason": "measured in what is left out",
    }
    table = pl.DataFrame([*rows, with_cluster_counts(gamma, held_out)], infer_schema_length=None)
    numbers = pl.concat([filled_rows, table, formats], how="diagonal_relaxed")
    threshold = measure_options.get("failure_threshold", 0)
    with_groups = with_permutation_tests(numbers, sums, threshold=threshold, settings=settings)
    return CellNumbers(with_groups, cell_design(cell, estimates))


def share_mu_noise(cell: CellAssociations) -> dict[str, Any]:
    """Returns the columns of `share_mu` that say how much of it is noise.

    Too few known associations have no noise floor; they would be taken for bias, so that the value
    is null.
    """
    share = cell.parts["share_gamma"]
    noise = size_noise(share, "mu") | cell.permutation_columns(share)
    if not share.is_representative:
        noise |= {"value": None, "p": None, "reason": f"noise unknown: {TOO_FEW_KNOWN}"}
    return noise


def jackknife_derived(
    sums: Sequence[Sums], measure_options: Mapping[str, Any], settings: StatisticsSettings
) -> Iterator[tuple[str, float, Sequence[str], FloatArray]]:
    """Yields the sizes that models are compared by, each with the names of its clusters.

    They are made of several sums; see `corrected_sizes`.

    Yields:
        The name of a size, the size, its clusters, and the size without each of these, shape
        (1, clusters).
    """
    if not has_associations(sums):
        return
    cell = CellAssociations(sums, settings)
    for measure, (name, value, without) in corrected_sizes(cell.parts):
        along = cell.clustered(measure).along[TEMPLATES]
        has_numbers = along.present.any(axis=0)
        clusters = [along.units[place] for place in np.flatnonzero(has_numbers).tolist()]
        yield name, value, clusters, without


def size_noise(part: AssociationsByCluster, name: Statistic) -> dict[str, Any]:
    """Returns the expectation of mu or eta under noise alone, and the number of clusters."""
    return {"null_mean": part.null_mean(name), "clusters": part.clusters}


def fill_row(estimates: pl.DataFrame, measure: str, values: Mapping[str, Any]) -> pl.DataFrame:
    """Fills columns in the row of a measure of the whole cell."""
    has_no_keys = [pl.col(key).is_null() for key in MEASURE_KEYS]
    is_row = pl.all_horizontal(pl.col("measure") == measure, *has_no_keys)
    columns = {}
    for name, value in values.items():
        columns[name] = pl.when(is_row).then(pl.lit(value)).otherwise(name)
    return estimates.with_columns(**columns)


def with_cluster_counts(part: AssociationsByCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to the row of a size the numbers of associations and clusters that it is made of."""
    return {**CLAIM, "n": part.known, "left_out": part.left_out, "clusters": part.clusters, **row}


# Flags


def mass(cell: CellAssociations) -> dict[str, Any]:
    """Strength of the mass part of gamma, as a share of the strength of gamma.

    Returns:
        A row, with its jackknife interval and the factor by which masses change with the question
        as `flag`.
    """
    part, whole = cell.by_cluster(MASS_PART), cell.parts["gamma"].strength()
    # NaN is not above 0 either.
    if not whole > 0:
        return with_cluster_counts(part, {"measure": "mass", "value": None, "reason": NOT_SIZED})
    size = size_without_clusters("mass", part, AssociationsByCluster.strength)
    row = interval_row(*size, cell.settings)
    for name in ("value", "low", "high", "se"):
        if row.get(name) is not None:
            row[name] = row[name] / whole
    change = find_sums(cell.sums, MASS_CHANGE, keys=()).values[0]
    return with_cluster_counts(part, {**row, "flag": f"{np.exp(change):.2f}"})


def question_correlation_row(estimates: pl.DataFrame) -> pl.DataFrame:
    """Returns the row of the correlation of log odds in question and negation over clusters."""
    return estimates.filter(measure="negation_reading", generalises_to="clusters")


def negation_unread(estimates: pl.DataFrame) -> dict[str, Any]:
    """The correlation `negation_reading` as a flag.

    Near 1 a model gives the same answers to question and negation.
    """
    row = question_correlation_row(estimates).row(0, named=True)
    columns = ("value", "low", "high", "n", "left_out", "clusters", "se", "df", "method", "reason")
    return {"measure": "negation_unread", **{name: row[name] for name in columns}}


def counted_association(estimates: pl.DataFrame) -> str:
    """Returns the measure of the associations that are counted.

    It is `question_association` if the negation is not read, else `share_gamma`.
    """
    rows = question_correlation_row(estimates)
    is_unread = ((rows["value"] > UNREAD_CORRELATION) & (rows["low"].fill_null(0) > 0)).any()
    return "question_association" if is_unread else "share_gamma"


def disagreement(estimates: pl.DataFrame) -> dict[str, Any]:
    """Share of significant associations that gamma and shares do not agree on.

    They are the associations that are significant in one of both; those that are not so in both, on
    the same side of 0, count.
    """
    rows = estimates.filter(pl.col("measure").is_in(["gamma", "share_gamma"]), "is_claim")
    pairs = rows.drop_nulls(ASSOCIATION)
    side = pl.when(is_significant()).then(pl.col("value").sign()).fill_null(0)
    sides = pairs.with_columns(side=side).pivot("measure", index=ASSOCIATION, values="side")
    significant = sides.filter((pl.col("gamma") != 0) | (pl.col("share_gamma") != 0))
    count = len(significant)
    differing = int((significant["gamma"] != significant["share_gamma"]).sum())
    flag = f"{differing} of {count}"
    row = {"measure": "disagreement", "n": count, "left_out": 0, "flag": flag}
    if not count:
        return {**row, "value": None, "reason": NOTHING_FOUND}
    return {**row, "value": differing / count}


def group_strengths(cell: CellAssociations) -> Iterator[dict[str, Any]]:
    """Yields the strengths of the associations of groups, if subjects have groups."""
    for size, measure in STRENGTHS.items():
        associations = cell.group_associations(measure)
        if associations is not None:
            part = associations.clustered(cell.settings.clusters)
            formats = [PROMPT_FORMATS] if PROMPT_FORMATS in part.along else []
            factors = join_factors([TEMPLATES, NAMES, *formats])
            yield {"measure": size, "generalises_to": factors, **strength_row(part, cell.settings)}


# Variances


def pair_sums(sums: CellSums) -> Iterator[Sums]:
    """Yields the sums from which the variances of pairs and of orders are made."""
    axes = sums.axes
    columns = np.column_stack([sums.squares, sums.pattern])
    counts = sums.squares[:, 2].astype(np.int64)
    keys = pl.DataFrame(
        {"measure": SQUARES, "options": "", "attribute": axes.attributes, "n": counts}
    )
    along = {"cell": Along(["all"], columns[:, None])}
    yield Sums(keys, along, finish=TOTAL, compares_models=False, is_input=True)
    firsts, seconds = np.divmod(axes.pairs, len(axes.subjects))
    units = [f"{x1} {x2}" for x1, x2 in zip(firsts, seconds, strict=True)]
    along = {"pairs": Along(units, sums.pair_counts)}
    pattern_keys = keys[sums.firsts].with_columns(measure=pl.lit(PAIR_COUNTS))
    yield Sums(pattern_keys, along, finish=TOTAL, compares_models=False, is_input=True)


def cell_design(cell: CellAssociations, estimates: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of `DESIGN`.

    Args:
        cell: the associations.
        estimates: the estimates of the cell.
    """
    gamma = cell.parts["gamma"]
    templates, formats = parse_units(find_sums(cell.sums, "delta", keys=()).along[TEMPLATES].units)
    cluster_of = cluster_positions(templates, cell.settings.clusters)
    names, format_of = np.unique(formats, return_inverse=True)
    cell_of = cluster_of * len(names) + format_of
    in_formats = gamma
    if len(names) > 1:
        associations = find_sums(cell.sums, "gamma", keys=ASSOCIATION)
        cell_sums = add_up(associations.along[TEMPLATES].sums, cell_of)
        along = {TEMPLATES: Along([str(number) for number in range(cell_sums.shape[1])], cell_sums)}
        in_formats = cell.arranged(replace(associations, along=along))
    variances = block_variances(
        PairVariance(cell.sums, cell_of), in_formats, cell.firsts, len(names)
    )
    tables = [
        pl.DataFrame(list(variances)),
        pl.DataFrame(
            [{"name": name, "value": value} for name, value in noise_parameters(cell, estimates)]
        ),
        cluster_design_rows(gamma, templates, cluster_of),
    ]
    return pl.concat([table for table in tables if len(table)], how="diagonal_relaxed")


def noise_parameters(
    cell: CellAssociations, estimates: pl.DataFrame
) -> Iterator[tuple[str, float]]:
    """Yields the noise of gamma, and the sizes from which counted associations are found.

    What a gain adds is left out: it is in proportion to an association, and so nothing where there
    is none.
    """
    associations = cell.clustered("gamma")
    plain = first_factor_variance(replace(associations, interval="t"))
    own = (plain.units * plain.source.variance)[~np.isnan(plain.source.variance)]
    if len(own):
        yield "noise_sd", float(np.sqrt(own.mean()))
        yield "prior_df", first_factor_variance(associations).prior.df
    measure = counted_association(estimates)
    part = cell.clustered(measure)
    first = first_factor_variance(part)
    if np.isnan(first.source.variance).all():
        return
    sources = [first.source, *format_sources(part, may_grow=True)[:1]]
    rows = estimates.filter(pl.col("measure") == measure, "is_claim").drop_nulls(ASSOCIATION)
    q = rows["q"].drop_nulls().drop_nans()
    alpha = float("nan")
    if len(q):
        significant = int((q <= SIGNIFICANT).sum())
        alpha = SIGNIFICANT * max(significant, 1) / len(q)
    yield "mde", detectable_effect(sources, SIGNIFICANT)
    yield "mde_fdr", detectable_effect(sources, alpha)
