"""Sizes of all associations of a cell together, corrected for noise, and their variances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.measures import NOTHING_FOUND, prompt_sign
from biasgrid.families.underspecified.swap_groups import ASSOCIATION
from biasgrid.families.underspecified.tallies.sums import CellTally, CentredTally
from biasgrid.groups.terms import with_permutation_tests
from biasgrid.stats.clusters import clusters_of_templates, parse_units
from biasgrid.stats.estimate import join_factors
from biasgrid.stats.multiplicity import SIGNIFICANT, is_significant
from biasgrid.stats.noise.by_cluster import (
    TOO_FEW_KNOWN,
    ByCluster,
    interval_row,
    size_row,
    size_without_clusters,
)
from biasgrid.stats.noise.components import PAIR_COUNTS, SQUARES, PairVariance, variances_of
from biasgrid.stats.noise.factors import over_first_factor, sources_of_formats
from biasgrid.stats.noise.group_strength import strength_of_groups, strength_row
from biasgrid.stats.noise.names import NAMES
from biasgrid.stats.noise.redundancy import clusters_of_cell
from biasgrid.stats.null import Statistic, held_out_strength, statistic
from biasgrid.stats.permutation import permutation_test, utilities
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.reasons import FEWEST_TESTED
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import FORMATS, TEMPLATES, TOTAL, Along, Sums, add_up, find_sums
from biasgrid.tables.measures import MEASURE_KEYS

GROUP_ASSOCIATION = ("subject_group", "attribute")
MASS_PART, MASS_CHANGE = "mass_part", "mass_change"
"""Inputs of the flag `mass`."""
NOT_SIZED = "the strength of gamma is not above 0"
CLAIM = {"options": "", "generalises_to": "clusters", "is_claim": True}
STRENGTHS = {"group_strength": "share_gamma", "question_group_strength": "question_association"}
"""Sizes of associations of groups, and the measures that they are sizes of."""
TESTS_OF_SIZES = {
    **{size: (measure, GROUP_ASSOCIATION) for size, measure in STRENGTHS.items()},
    "share_strength": ("share_gamma", ASSOCIATION),
    "strength": ("gamma", ASSOCIATION),
}
"""Sizes without a test of their own, and the measures and keys whose tests stand in."""
UNREAD_CORRELATION = 0.5
"""The limit of the flag `negation_unread`."""


def mu(gamma: Sums) -> float:
    """Intensity: mean over subjects of the largest |gamma(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of_pairs(gamma), "mu"))


def eta_of_cell(eta: Sums) -> float:
    """Mean over subjects and attributes of |eta(x, a)| (Li et al., section 3.3)."""
    return float(statistic(matrix_of_pairs(eta), "eta"))


def share_mu(share_gamma: Sums) -> float:
    """Intensity of shares: mean over subjects of the largest |share_gamma(x, a)|."""
    return float(statistic(matrix_of_pairs(share_gamma), "mu"))


def matrix_of_pairs(sums: Sums) -> FloatArray:
    """Returns numbers of pairs, shape (subjects, attributes), NaN where a pair is not asked."""
    pairs = sums.keys.select(*ASSOCIATION, value=pl.Series(sums.values))
    wide = pairs.pivot("attribute", index="subject", values="value")
    return wide.drop("subject").to_numpy().astype(np.float64)


def mu_corrected(gamma: ByCluster) -> float:
    """Root of mu² less the square of its expectation under noise alone."""
    return gamma.corrected("mu")


def eta_corrected(eta: ByCluster) -> float:
    """Root of eta² less the square of its expectation under noise alone."""
    return eta.corrected("eta")


def strength(gamma: ByCluster) -> float:
    """Root mean square of associations without noise, signed like an adjusted R²."""
    return gamma.strength()


def mu_held_out(gamma: ByCluster) -> float:
    """Mean over subjects of the largest association, measured in a cluster that did not choose it.

    The association is the one that is largest in all clusters but this one.
    """
    return held_out_strength(gamma.sums, gamma.counts)


def share_mu_corrected(share_gamma: ByCluster) -> float:
    """Root of share_mu² less the square of its expectation under noise alone."""
    return share_gamma.corrected("mu")


def share_strength(share_gamma: ByCluster) -> float:
    """Root mean square of associations of shares without noise, signed like an adjusted R²."""
    return share_gamma.strength()


def question_strength(question_association: ByCluster) -> float:
    """Root mean square of associations in the question alone without noise.

    It is signed like an adjusted R².
    """
    return question_association.strength()


def group_strength(share_gamma: Sums) -> float:
    """Root mean square of associations of groups in shares, without noise of clusters and names."""
    return strength_of_groups(share_gamma)


def question_group_strength(question_association: Sums) -> float:
    """Root mean square of associations of groups in the question alone.

    The noise of clusters and names is taken off.
    """
    return strength_of_groups(question_association)


CORRECTED: Mapping[str, Sequence[Callable[[ByCluster], float]]] = {
    "gamma": (mu_corrected, strength),
    "eta": (eta_corrected,),
    "share_gamma": (share_mu_corrected, share_strength),
    "question_association": (question_strength,),
}
"""The sizes that are corrected for noise, by measure; models are compared by them."""


class CellAssociations:
    """The associations of a cell of subjects and attributes.

    Attributes:
        subjects: names of subjects, of two lists those of the first before those of the second.
        attributes: names of attributes.
        firsts: of two lists, how many subjects are of the first; None for one list.
    """

    def __init__(self, sums: Sequence[Sums], settings: StatisticsSettings):
        """Takes the sums of a cell in which at least one swap group was answered."""
        self.sums, self.settings = sums, settings
        along = find_sums(sums, "delta", ()).along
        firsts = list(along["subjects"].units) if "subjects" in along else []
        others = list(along["others"].units) if "others" in along else []
        self.subjects = firsts + others
        self.attributes = [*along["attributes"].units]
        self.firsts = len(firsts) if others else None

    def clustered(self, measure: str) -> Sums:
        """Returns the associations of a measure, along clusters of templates."""
        return find_sums(self.sums, measure, ASSOCIATION).clustered(self.settings.clusters)

    def by_cluster(self, measure: str) -> ByCluster:
        """Returns the associations of a measure by cluster."""
        return ByCluster.of(self.clustered(measure), self.subjects, self.attributes)

    def parts(self) -> dict[str, ByCluster]:
        """Returns the associations that have corrected sizes by cluster, for each measure."""
        measures = {part.keys["measure"][0] for part in self.sums}
        return {measure: self.by_cluster(measure) for measure in CORRECTED if measure in measures}

    def of_groups(self, measure: str) -> Sums | None:
        """Returns the associations of groups of subjects in a measure, None if there are none."""
        for part in self.sums:
            keys = part.keys
            has_keys = {*GROUP_ASSOCIATION} <= {*keys.columns}
            if keys["measure"][0] != measure or not has_keys:
                continue
            if all(keys[key].count() for key in GROUP_ASSOCIATION):
                return find_sums(self.sums, measure, GROUP_ASSOCIATION)
        return None

    def permuted(self, part: ByCluster) -> dict[str, Any]:
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
        permuted = "exact" if test.exact else test.tried
        return {"p": test.p, "method": f"permutation ({permuted})" if test.tried else None}


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds the numbers that are made of all associations together, and where their variance is.

    Args:
        estimates: the estimates of the cell.
        sums: its sums.
        options: see `measures.measure`.
        settings: level, seed, clusters and the like.
    """
    if not any(part.keys["measure"][0] == "gamma" for part in sums):
        return CellNumbers(estimates)
    cell = CellAssociations(sums, settings)
    parts = cell.parts()
    gamma, eta = parts["gamma"], parts["eta"]
    of_mu = noise_of_size(gamma, "mu") | cell.permuted(gamma)
    if not gamma.is_representative:
        # A test of fewer associations would not be of this number.
        of_mu["p"] = float("nan")
    filled = fill_row(estimates, "mu", of_mu)
    filled = fill_row(filled, "eta", noise_of_size(eta, "eta"))
    rows = []
    for measure, size in corrected_sizes(parts):
        rows.append(row_of(parts[measure], size_row(parts[measure], size, settings)))
    formats = pl.DataFrame()
    if "share_gamma" in parts:
        # The last size is that of associations in the question alone.
        rows[-1]["p"] = cell.permuted(parts["question_association"])["p"]
        share = parts["share_gamma"]
        of_share_mu = noise_of_size(share, "mu") | cell.permuted(share)
        if not share.is_representative:
            # Without their noise floor they would be taken for bias.
            reason = f"noise unknown: {TOO_FEW_KNOWN}"
            of_share_mu |= {"value": None, "p": None, "reason": reason}
        filled = fill_row(filled, "share_mu", of_share_mu)
        rows.append(mass(cell, gamma))
        rows += [{**CLAIM, **row} for row in rows_of_preferences(cell, estimates)]
        counted = counted_association(estimates)
        associations = cell.of_groups(counted) or find_sums(sums, counted, ASSOCIATION)
        formats = prompt_sign([associations], settings)
    held_out = {
        "measure": "mu_held_out",
        "value": mu_held_out(gamma),
        "reason": "measured in what is left out",
    }
    table = pl.DataFrame([*rows, row_of(gamma, held_out)], infer_schema_length=None)
    numbers = pl.concat([filled, table, formats], how="diagonal_relaxed")
    threshold = options.get("failure_threshold", 0)
    with_groups = with_permutation_tests(numbers, sums, threshold, settings)
    return CellNumbers(with_groups, design_of_cell(cell, gamma, estimates))


def left_out_of_derived(
    sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> Iterator[tuple[str, float, Sequence[str], FloatArray]]:
    """Yields the sizes that models are compared by, each with the names of its clusters.

    They are made of several sums; see `corrected_sizes`.

    Yields:
        The name of a size, the size, its clusters, and the size without each of these, shape
        (1, clusters).
    """
    if not any(part.keys["measure"][0] == "gamma" for part in sums):
        return
    cell = CellAssociations(sums, settings)
    for measure, (name, value, without) in corrected_sizes(cell.parts()):
        along = cell.clustered(measure).along[TEMPLATES]
        has_numbers = along.present.any(axis=0)
        clusters = [along.units[place] for place in np.flatnonzero(has_numbers).tolist()]
        yield name, value, clusters, without


def corrected_sizes(
    parts: Mapping[str, ByCluster],
) -> Iterator[tuple[str, tuple[str, float, FloatArray]]]:
    """Yields each size that is corrected for noise, with the measure that it is a size of.

    See `size_without_clusters`.
    """
    for measure, part in parts.items():
        for size in CORRECTED[measure]:
            yield measure, size_without_clusters(size.__name__, part, size)


def noise_of_size(part: ByCluster, name: Statistic) -> dict[str, Any]:
    """Returns the expectation of mu or eta under noise alone, and the number of clusters."""
    return {"null_mean": part.null_mean(name), "clusters": part.clusters}


def fill_row(estimates: pl.DataFrame, measure: str, values: Mapping[str, Any]) -> pl.DataFrame:
    """Fills columns in the row of a measure of the whole cell."""
    of_cell = [pl.col(key).is_null() for key in MEASURE_KEYS]
    is_row = pl.all_horizontal(pl.col("measure") == measure, *of_cell)
    filled = {}
    for name, value in values.items():
        filled[name] = pl.when(is_row).then(pl.lit(value)).otherwise(name)
    return estimates.with_columns(**filled)


def row_of(part: ByCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to the row of a size the numbers of associations and clusters that it is made of."""
    return {**CLAIM, "n": part.known, "left_out": part.left_out, "clusters": part.clusters, **row}


def mass(cell: CellAssociations, gamma: ByCluster) -> dict[str, Any]:
    """Strength of the mass part of gamma, as a share of the strength of gamma.

    Args:
        cell: the associations.
        gamma: the associations of probabilities by cluster.

    Returns:
        A row, with its jackknife interval and the factor by which masses change with the question
        as `flag`.
    """
    part, whole = cell.by_cluster(MASS_PART), strength(gamma)
    # NaN is not above 0 either.
    if not whole > 0:
        return row_of(part, {"measure": "mass", "value": None, "reason": NOT_SIZED})
    row = interval_row(*size_without_clusters("mass", part, strength), cell.settings)
    for name in ("value", "low", "high", "se"):
        if row.get(name) is not None:
            row[name] = row[name] / whole
    change = find_sums(cell.sums, MASS_CHANGE, ()).values[0]
    return row_of(part, {**row, "flag": f"{np.exp(change):.2f}"})


def rows_of_preferences(
    cell: CellAssociations, estimates: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yields the flags of shares and of the question alone, and their strengths in groups."""
    yield negation_unread(estimates)
    yield disagreement(estimates)
    for size, measure in STRENGTHS.items():
        associations = cell.of_groups(measure)
        if associations is None:
            continue
        part = associations.clustered(cell.settings.clusters)
        formats = [FORMATS] if FORMATS in part.along else []
        factors = join_factors([TEMPLATES, NAMES, *formats])
        yield {"measure": size, "generalises_to": factors, **strength_row(part, cell.settings)}


def negation_unread(estimates: pl.DataFrame) -> dict[str, Any]:
    """The correlation `negation_reading` as a flag.

    Near 1 a model gives the same answers to question and negation.
    """
    row = estimates.filter(measure="negation_reading", generalises_to="clusters").row(0, named=True)
    columns = ("value", "low", "high", "n", "left_out", "clusters", "se", "df", "method", "reason")
    return {"measure": "negation_unread", **{name: row[name] for name in columns}}


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


def sums_of_pairs(first: CellTally, centred: CentredTally) -> Iterator[Sums]:
    """Yields the sums from which the variances of pairs and of orders are made.

    Args:
        first: the sums of the cell, also its squares.
        centred: the sums that follow, also how often each pair is asked.
    """
    axes = first.axes
    columns = np.column_stack([first.squares, centred.pattern])
    counts = first.squares[:, 2].astype(np.int64)
    keys = pl.DataFrame(
        {"measure": SQUARES, "options": "", "attribute": axes.attributes, "n": counts}
    )
    along = {"cell": Along(["all"], columns[:, None])}
    yield Sums(keys, along, TOTAL, compared=False, is_input=True)
    firsts, seconds = np.divmod(axes.pairs, len(axes.subjects))
    units = [f"{x1} {x2}" for x1, x2 in zip(firsts, seconds, strict=True)]
    along = {"pairs": Along(units, centred.pair_counts)}
    pattern_keys = keys[centred.firsts].with_columns(measure=pl.lit(PAIR_COUNTS))
    yield Sums(pattern_keys, along, TOTAL, compared=False, is_input=True)


def design_of_cell(
    cell: CellAssociations, gamma: ByCluster, estimates: pl.DataFrame
) -> pl.DataFrame:
    """Returns rows of `DESIGN`.

    Args:
        cell: the associations.
        gamma: those of probabilities by cluster.
        estimates: those of the cell.
    """
    templates, formats = parse_units(find_sums(cell.sums, "delta", ()).along[TEMPLATES].units)
    cluster_of = clusters_of_templates(templates, cell.settings.clusters)
    names = sorted({*formats})
    cell_of = cluster_of * len(names) + np.array([names.index(each) for each in formats])
    in_formats = gamma
    if len(names) > 1:
        of_pairs = find_sums(cell.sums, "gamma", ASSOCIATION)
        added = add_up(of_pairs.along[TEMPLATES].sums, cell_of)
        along = {TEMPLATES: Along([str(number) for number in range(added.shape[1])], added)}
        in_formats = ByCluster.of(replace(of_pairs, along=along), cell.subjects, cell.attributes)
    variances = variances_of(PairVariance(cell.sums, cell_of), in_formats, cell.firsts, len(names))
    tables = [
        pl.DataFrame(list(variances)),
        pl.DataFrame([{"name": name, "value": value} for name, value in noise_of(cell, estimates)]),
        clusters_of_cell(gamma, templates, cluster_of),
    ]
    return pl.concat([table for table in tables if len(table)], how="diagonal_relaxed")


def noise_of(cell: CellAssociations, estimates: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Yields the noise of gamma, and the sizes from which counted associations are found.

    What a gain adds is left out: it is in proportion to an association, and so nothing where there
    is none.
    """
    of_pairs = cell.clustered("gamma")
    plain = over_first_factor(replace(of_pairs, interval="t"))
    own = (plain.units * plain.source.variance)[~np.isnan(plain.source.variance)]
    if len(own):
        yield "noise_sd", float(np.sqrt(own.mean()))
        yield "prior_df", over_first_factor(of_pairs).prior.df
    measure = counted_association(estimates)
    part = cell.clustered(measure)
    first = over_first_factor(part)
    if np.isnan(first.source.variance).all():
        return
    sources = [first.source, *sources_of_formats(part, may_grow=True)[:1]]
    rows = estimates.filter(pl.col("measure") == measure, "is_claim").drop_nulls(ASSOCIATION)
    q = rows["q"].fill_null(float("nan")).to_numpy()
    tests = np.count_nonzero(~np.isnan(q))
    alpha = (
        SIGNIFICANT * max(int(np.count_nonzero(q <= SIGNIFICANT)), 1) / tests
        if tests
        else float("nan")
    )
    yield "mde", detectable_effect(sources, SIGNIFICANT)
    yield "mde_fdr", detectable_effect(sources, alpha)


def counted_association(estimates: pl.DataFrame) -> str:
    """Returns the measure whose associations are counted.

    It is that of the question alone if the negation is not read, else that of shares.
    """
    rows = estimates.filter(measure="negation_reading", generalises_to="clusters")
    is_unread = ((rows["value"] > UNREAD_CORRELATION) & (rows["low"].fill_null(0) > 0)).any()
    return "question_association" if is_unread else "share_gamma"
