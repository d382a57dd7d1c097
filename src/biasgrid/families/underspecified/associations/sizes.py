"""How large associations of shares and of the question alone are, and the flags that tell which of them to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.measures import NOTHING_FOUND, prompt_sign
from biasgrid.families.underspecified.associations import intensity
from biasgrid.families.underspecified.associations.by_cluster import ByCluster
from biasgrid.families.underspecified.associations.components import counted_association, two_lists
from biasgrid.families.underspecified.associations.group_sizes import OF_GROUPS, is_of_groups, strengths_of_groups
from biasgrid.families.underspecified.associations.intensity import (
    ASSOCIATION,
    TOO_FEW_KNOWN,
    associations_of_cell,
    interval_row,
    matrix_of,
    of_cell,
    permuted_associations,
    size_row,
    size_without_clusters,
    strength,
)
from biasgrid.families.underspecified.associations.shares import MASS_CHANGE, MASS_PART
from biasgrid.stats.multiplicity import LEVEL
from biasgrid.stats.null import statistic
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Sums, find_sums

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
        """Yields the sizes that are corrected for noise, of what they are; see `intensity.corrected_numbers`."""
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
    found = intensity.derive(estimates, sums, options, settings)
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

    See `PreferencesByCluster.sizes` and `intensity.corrected_numbers`.
    """
    yield from intensity.left_out_of_derived(sums, options, settings)
    if has_shares(sums):
        names = {"share": "share_gamma", "question": "question_association"}
        units = {name: clusters_of(find_sums(sums, each, ASSOCIATION), settings) for name, each in names.items()}
        for _, (name, value, without) in PreferencesByCluster.of(sums, settings).sizes():
            yield name, value, units[name.split("_")[0]], without


def clusters_of(sums: Sums, settings: StatisticsSettings) -> list[str]:
    """Returns the names of the clusters that numbers have anything of."""
    along = sums.clustered(settings.clusters).along[TEMPLATES]
    return [along.units[place] for place in np.flatnonzero(along.present.any(axis=0)).tolist()]
