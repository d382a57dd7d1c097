"""Simulated worlds: associations by cluster, as arrays straight into the statistics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.groups.terms import TermScores
from biasgrid.stats.intervals import half_width, p_values
from biasgrid.stats.multiplicity import false_discovery_rates
from biasgrid.stats.noise.random_factors import FactorVariance, first_factor_variance
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    SHARED_FINISHES,
    Along,
    IntervalMethod,
    SignificanceTest,
    Sums,
    read_sums,
    sums_table,
)

Array = npt.NDArray[np.float64]
SUBJECTS, ATTRIBUTES = 11, 50


class TestedValues(NamedTuple):
    """What is said of associations over templates; arrays of shape (subjects x attributes,)."""

    value: Array
    half: Array
    p: Array
    q: Array


def world(
    random: np.random.Generator,
    clusters: int,
    effects: Array | float = 0.0,
    *,
    subjects: int = SUBJECTS,
    attributes: int = ATTRIBUTES,
    shared: float = 0.5,
    spread: float = 0.0,
) -> Array:
    """Associations by cluster, shape (subjects, attributes, clusters), with noise of sd 1.

    Args:
        random: where noise comes from.
        clusters: how many clusters.
        effects: what the clusters have in common, shape (subjects, attributes).
        subjects: how many subjects.
        attributes: how many attributes.
        shared: sd of what a subject's associations have in common in a cluster.
        spread: sd of ln of how noisy a subject is.
    """
    noise = random.normal(size=(subjects, attributes, clusters))
    noise += shared * random.normal(size=(subjects, 1, clusters))
    noisy = np.exp(spread * random.normal(size=(subjects, 1, 1)))
    noise *= noisy
    # Subjects are compared with each other, so that noise sums to 0 over them.
    return np.asarray(effects)[..., None] + noise - noise.mean(axis=0, keepdims=True)


def judged(values: Array, alpha: float = 0.05) -> TestedValues:
    """Tests all associations of a world, each cluster counting alike."""
    flat = values.reshape(-1, values.shape[-1])
    sources = over_clusters(
        flat, np.ones_like(flat), "moderated t", keys_of(*values.shape[:2])
    ).sources
    means = flat.mean(axis=1)
    p = p_values(means, sources)
    return TestedValues(means, half_width(sources, alpha), p, false_discovery_rates(p))


def as_of_a_run(sums: Sums) -> Sums:
    """The same sums with the keys of a run: they are written as a table, which has all key columns,
    and read again.
    """
    (part,), _ = read_sums(sums_table([sums]), SHARED_FINISHES)
    return part


def keys_of(subjects: int, attributes: int) -> pl.DataFrame:
    """The keys of associations, subject by subject."""
    names = np.divmod(np.arange(subjects * attributes), attributes)
    columns = {
        key: each.astype(str) for key, each in zip(("subject", "attribute"), names, strict=True)
    }
    return pl.DataFrame({"measure": "gamma", "options": "", **columns})


def over_clusters(
    sums: Array, counts: Array, interval: IntervalMethod = "t", keys: pl.DataFrame | None = None
) -> FactorVariance:
    """How means vary with clusters.

    Args:
        sums: shape (numbers, clusters).
        counts: shape (numbers, clusters), of how much the sums are.
        interval: whether their variances borrow from each other.
        keys: what the numbers are about; None of a list of any.
    """
    along = Along(
        [str(cluster) for cluster in range(sums.shape[1])], np.stack([sums, counts], axis=-1)
    )
    about = pl.DataFrame({"measure": ["number"] * len(sums)}) if keys is None else keys
    return first_factor_variance(as_of_a_run(Sums(about, {"clusters": along}, interval=interval)))


def centred(effects: Array) -> Array:
    """Effects as associations are: subjects are compared with each other."""
    return effects - effects.mean(axis=0, keepdims=True)


def group_difference(one: Array, other: Array) -> Sums:
    """The difference of two groups of terms for each attribute.

    Args:
        one: shape (attributes, terms, clusters), what is said of the terms of one group.
        other: the same of the other, of any number of terms.
    """
    attributes, terms, clusters = one.shape[0], one.shape[1] + other.shape[1], one.shape[2]
    over_terms = np.zeros((attributes, terms, 4))
    over_terms[:, : one.shape[1], 0], over_terms[:, : one.shape[1], 1] = one.sum(axis=2), clusters
    over_terms[:, one.shape[1] :, 2], over_terms[:, one.shape[1] :, 3] = other.sum(axis=2), clusters
    of_clusters = np.stack(
        [
            column
            for side in (one, other)
            for column in (side.sum(axis=1), np.full_like(side[:, 0], side.shape[1]))
        ],
        -1,
    )
    along = {
        "templates": Along(numbered(clusters), of_clusters),
        PAIR_OF_LISTS: Along(numbered(terms), over_terms),
    }
    keys = keys_of_groups(attributes).with_columns(
        bias_type=pl.lit("gender"), group=pl.lit("one"), other=pl.lit("other")
    )
    return as_of_a_run(
        Sums(
            keys,
            along,
            finish=DIFFERENCE,
            interval="moderated t",
            test=SignificanceTest.CORRECTED,
            generalises_to_all_factors=True,
        )
    )


def gamma_of_groups(*groups: Array) -> Sums:
    """Associations of groups of names with each attribute, as swap groups with the names of all
    other groups have them.

    Args:
        groups: of each group shape (attributes, names, clusters), the preference for its names.
    """
    names, group_of = (
        np.concatenate(groups, axis=1),
        np.repeat(range(len(groups)), [each.shape[1] for each in groups]),
    )
    units, parts, keys = numbered(names.shape[1]), [], []
    for group in range(len(groups)):
        own = group_of == group
        left, right = names[:, own].mean(axis=1), names[:, ~own].mean(axis=1)
        sides = np.zeros((2, names.shape[0], names.shape[1], 2))
        sides[0, :, own, 0] = np.moveaxis((names[:, own] - right[:, None]).mean(axis=2) / 2, 1, 0)
        sides[1, :, ~own, 0] = np.moveaxis((left[:, None] - names[:, ~own]).mean(axis=2) / 2, 1, 0)
        sides[0, :, own, 1] = sides[1, :, ~own, 1] = 1
        # Each name has its share of the swap groups.
        sides *= names.shape[2] / np.array([own.sum(), (~own).sum()])[:, None, None, None]
        parts.append((np.stack([(left - right) / 2, np.ones_like(left)], axis=-1), *sides))
        keys.append(keys_of_groups(len(names)).with_columns(subject_group=pl.lit(f"group {group}")))
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    named = zip(
        ("templates", "subjects", "others"),
        (numbered(names.shape[2]), units, units),
        columns,
        strict=True,
    )
    along = {factor: Along(of_factor, sums) for factor, of_factor, sums in named}
    return as_of_a_run(
        Sums(
            pl.concat(keys),
            along,
            finish=MEAN,
            interval="moderated t",
            test=SignificanceTest.CORRECTED,
            generalises_to_all_factors=True,
        )
    )


def keys_of_groups(attributes: int) -> pl.DataFrame:
    """The keys of a number for each attribute."""
    names = [f"attribute {place}" for place in range(attributes)]
    return pl.DataFrame(
        {"measure": "gap", "options": "", "attribute": names, "n": 1, "left_out": 0}
    )


def numbered(count: int) -> list[str]:
    """Names of units."""
    return [str(place) for place in range(count)]


def terms_in_templates(
    random: np.random.Generator,
    templates: int,
    *,
    groups: int = 6,
    terms: int = 3,
    spread: float = 0.03,
) -> TermScores:
    """Scores of terms that differ on their own, in a case for each template; their groups make no
    difference.

    Args:
        random: where noise comes from.
        templates: how many templates.
        groups: how many groups.
        terms: how many terms a group has.
        spread: sd of what a term has in all templates, and of what it has in one.
    """
    count = groups * terms
    scores = (
        0.5 + spread * random.normal(size=count) + spread * random.normal(size=(templates, count))
    )
    return TermScores(
        "people",
        [f"group {place}" for place in range(groups)],
        np.repeat(np.arange(groups), terms),
        scores,
        np.ones_like(scores),
        np.arange(templates),
        numbered(count),
    )
