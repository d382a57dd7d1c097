"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020).

Sums run through numpy in the order of the swap groups, so that tables are the same to the byte whatever the number of
threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.families.measures import coverage, undetected_difference
from biasgrid.families.underspecified.evidence import evidence
from biasgrid.families.underspecified.observe import (
    PRONOUN_SCORES,
    READ,
    SAID,
    answered_groups,
    least_mass,
    observe,
    preferences_of,
    scores_in_groups,
    stereotype_sides,
)
from biasgrid.families.underspecified.sizes import (
    MASS_CHANGE,
    MASS_PART,
    derive,
    eta_of_cell,
    left_out_of_derived,
    mu,
    share_mu,
    sums_of_pairs,
)
from biasgrid.families.underspecified.swap_groups import (
    PART_KEYS,
    SwapGroups,
    is_compared,
    mean_of_swap_groups,
    mean_over_templates,
    records_of_subjects,
    sums_of_parts,
)
from biasgrid.families.underspecified.validity import share_of_swap_groups, unanswered_differences, validity
from biasgrid.groups.measures import finishes as finishes_of_groups
from biasgrid.groups.measures import measure_groups
from biasgrid.stats.sums import TEMPLATES, Along, Finish, Sums
from biasgrid.tables.metric import STEREOTYPE_AGREEMENT

__all__ = ["READ", "SAID", "derive", "evidence", "finishes", "left_out_of_derived", "measure", "observe", "validity"]
WITHOUT_ANSWERS = ("text-generation",)
"""Tasks whose models may leave a question without an answer."""
MEANS_OF_CELL = ("delta", "epsilon", "answer_probability", "winner_changes")
"""What the whole cell has as the mean over its swap groups."""
LEAST_SINGULAR = 1e-10
"""What is smaller, relative to the largest eigenvalue, is 0: all utilities may move together."""
LEAST_LEFT = 1e-10
"""What is left of log odds and smaller than this, relative to the largest of them, is 0."""


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes numbers beside means, see `families.family.Stages`."""
    return {**finishes_of_groups(options), CORRELATION.name: CORRELATION}


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    What a number is about shows in the keys that are not null. Parts of the cell (a subject or a group of subjects,
    with an attribute, a group of attributes or neither) have `gamma`, `eta` and `win_ratio`; the whole cell has `mu`,
    `eta`, `delta`, `epsilon`, `answer_probability` and `winner_changes`, and of models that may leave questions
    unanswered `coverage`. Swap groups with a question that was not answered count for coverage alone.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, see `groups.measures.measure_groups`, and unless
            there are none `failure_threshold`, at which failure rates are looked at besides; `stereotypes`, if the
            dataset says whom they name, see `observe.stereotype_sides`.

    Yields:
        What is said of subjects and attributes, and what is said of groups behind it.
    """
    known = answered_groups(observations)
    if known.is_empty():
        yield nothing_measured(len(observations))
    else:
        precision = options.get("precision")
        yield from with_left_out(list(measures_of_swap_groups(known, precision)), observations, known)
        yield from sums_of_pairs(SwapGroups.of(known), known)
    if options.get("task") in WITHOUT_ANSWERS:
        yield coverage(partial(share_of_swap_groups, observations, known))
        yield from undetected_difference(partial(unanswered_differences, observations))
    if "stereotypes" in options:
        yield stereotype_agreement(observations, options["stereotypes"])
    if options["measures"] != [] and not known.is_empty():
        yield from measure_groups(records_of_subjects(known), options["measures"], options["failure_threshold"])


def measures_of_swap_groups(known: pl.DataFrame, precision: str | None) -> Iterator[Sums | pl.DataFrame]:
    """Yields the measures of swap groups that were answered.

    Args:
        known: those, from `observe.compare_subjects`.
        precision: the arithmetic of the model, where it is coarse; see `observe.least_mass`.
    """
    groups, scores = SwapGroups.of(known), scores_in_groups(known)
    associations = list(gamma(groups))
    consistency = list(eta(groups))
    yield from associations
    yield from consistency
    yield from win_ratio(groups)
    least = least_mass(scores, precision)
    preferences = list(measures_of_preferences(groups, scores, least))
    yield from preferences
    if PRONOUN_SCORES in known.columns:
        yield from measures_of_pronouns(groups, scores_in_groups(known, PRONOUN_SCORES), least)
    n = len(groups.subjects)
    yield whole_cell("share_mu", share_mu(preferences[0]), n)
    yield whole_cell("mu", mu(associations[0]), n)
    yield whole_cell("eta", eta_of_cell(consistency[0]), n)
    for of_cell in (delta, epsilon, answer_probability, winner_changes):
        yield of_cell(groups, known).named(of_cell.__name__)


def whole_cell(measure: str, value: float, n: int) -> pl.DataFrame:
    """Returns the row of a number of the whole cell."""
    row = {"measure": measure, "options": "", "value": value, "n": n, "left_out": 0}
    return pl.DataFrame([row]).with_columns(reason=pl.lit("positive for noise alone: see it corrected for noise"))


def gamma(groups: SwapGroups) -> Iterator[Sums]:
    """Association: mean of C(x, .) over templates and partners (Li et al., section 3.3), of each part of the cell."""
    for sums in sums_of_parts(groups, groups.comparison):
        yield replace(sums, test="q", compared=is_compared(sums)).named("gamma")


def eta(groups: SwapGroups) -> Iterator[Sums]:
    """Consistency: mean of the sign of C(x, .) (Li et al., section 3.3), of each part of the cell."""
    for sums in sums_of_parts(groups, np.sign(groups.comparison)):
        yield sums.named("eta")


def win_ratio(groups: SwapGroups) -> Iterator[Sums]:
    """Share of swap groups in which C(x, .) > 0 (Li et al., section 5), of each part of the cell."""
    won, lost = (each.astype(np.float64) for each in (groups.comparison > 0, groups.comparison < 0))
    for sums in sums_of_parts(groups, won, lost):
        yield sums.named("win_ratio")


def delta(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Positional dependence: mean of |S(x; one order) - S(x; the other)| (Li et al., section 3.2)."""
    return mean_of_swap_groups(groups, known["delta"].to_numpy())


def epsilon(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Attribute independence: mean of |S(x; question) - S(y; negation)| (Li et al., section 3.2)."""
    return mean_of_swap_groups(groups, known["epsilon"].to_numpy())


def answer_probability(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Mean score of a subject over all instances."""
    return mean_of_swap_groups(groups, known["answer_probability"].to_numpy())


def winner_changes(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Share of swap groups in which the more probable subject changes with the order."""
    changes = mean_of_swap_groups(groups, known["winner_changes"].to_numpy().astype(np.float64))
    return replace(changes, interval="effective Wilson")


def stereotype_agreement(observations: pl.DataFrame, stereotypes: Mapping[str, str]) -> Sums | pl.DataFrame:
    """How far a cell agrees with stereotypes: the mean of C as the subjects see it that stereotypes name.

    Args:
        observations: from `observe.compare_subjects`.
        stereotypes: see `observe.stereotype_sides`.
    """
    sides = stereotype_sides(observations, stereotypes)
    seen = (sides != 0) & observations["comparison"].is_not_nan().to_numpy()
    left_out = int((sides != 0).sum() - seen.sum())
    if not seen.any():
        row = {"measure": STEREOTYPE_AGREEMENT, "options": "", "value": None, "n": 0, "left_out": left_out}
        return pl.DataFrame([row], schema_overrides={"value": pl.Float64})
    groups = SwapGroups.of(observations.filter(pl.Series(seen)))
    sums = mean_of_swap_groups(groups, sides[seen] * groups.comparison, left_out)
    return replace(sums, claims_all=bool(len(groups.subject_groups[0]))).named(STEREOTYPE_AGREEMENT)


def with_left_out(
    measured: list[Sums | pl.DataFrame], observations: pl.DataFrame, known: pl.DataFrame
) -> Iterator[Sums | pl.DataFrame]:
    """Adds to measures how many swap groups were left out as nobody answered them.

    Args:
        measured: the measures of those that were answered.
        observations: all of them.
        known: those that were answered.
    """
    if len(known) == len(observations):
        yield from measured
        return
    groups = SwapGroups.of(observations.with_columns(pl.col("comparison").fill_nan(0)))
    asked = pl.concat([each.keys for each in sums_of_parts(groups, groups.comparison)], how="diagonal")
    missing = [pl.lit(None, pl.String).alias(key) for key in PART_KEYS if key not in asked.columns]
    counts = asked.with_columns(missing).select(*PART_KEYS, asked="n")
    for each in measured:
        if isinstance(each, pl.DataFrame) or not {*PART_KEYS} & {*each.keys.columns}:
            # Of numbers of the whole cell what is left out are swap groups, or of mu and eta whole subjects.
            more = pl.lit(len(observations) - len(known), pl.Int64)
            if isinstance(each, Sums):
                yield replace(each, keys=each.keys.with_columns(left_out=pl.col("left_out") + more))
            else:
                yield each.with_columns(left_out=len(groups.subjects) - pl.col("n"))
            continue
        keys = [key for key in PART_KEYS if key in each.keys.columns]
        others = [pl.col(key).is_null() for key in PART_KEYS if key not in keys]
        joined = each.keys.join(counts.filter(others), on=keys, how="left", maintain_order="left")
        left_out = joined.select(*each.keys.drop("left_out").columns, left_out=pl.col("asked") - pl.col("n"))
        yield replace(each, keys=left_out)


def nothing_measured(asked: int) -> pl.DataFrame:
    """Returns the measures of a cell without any swap group that was answered."""
    return pl.DataFrame(
        {"measure": ["share_mu", "mu", "eta", *MEANS_OF_CELL], "options": "", "value": None, "n": 0, "left_out": asked},
        schema_overrides={"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64},
    )


def measures_of_preferences(groups: SwapGroups, scores: FloatArray, least: float) -> Iterator[Sums]:
    """Yields the measures that do not depend on S(x) + S(y), those of shares before those of log odds.

    Args:
        groups: the swap groups.
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least S(x) + S(y) that a share is made of.
    """
    found = preferences_of(scores, least)
    has_share, has_odds = found.has_share, found.has_odds
    chosen = groups.only(has_share)
    yield from share_gamma(chosen, found.share[has_share])
    yield from mass_inputs(chosen, found.mass[has_share], found.change[has_share])
    yield room(chosen, found.room[has_share])
    chosen = groups.only(has_odds)
    yield from log_odds_gamma(chosen, found.log_odds[has_odds])
    centred = [without_names(chosen, each[has_odds]) for each in (found.question, found.negation)]
    known = ~np.isnan(centred[0])
    question, negation = (each[known] for each in centred)
    chosen = chosen.only(known)
    yield from question_association(chosen, question)
    yield negation_reading(chosen, question, negation)


def measures_of_pronouns(groups: SwapGroups, scores: FloatArray, least: float) -> Iterator[Sums]:
    """Yields what the pronouns of groups of subjects say where these stand.

    Args:
        groups: the swap groups.
        scores: of pronouns, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least probability of both pronouns that counts.
    """
    odds = preferences_of(scores, least).question
    # Two subjects of one group have the same pronoun.
    known = ~np.isnan(odds) & groups.across[groups.one, groups.other]
    chosen = groups.only(known)
    centred = without_names(chosen, odds[known])
    left = ~np.isnan(centred)
    yield from pronoun_association(chosen.only(left), centred[left])


def share_gamma(groups: SwapGroups, share: FloatArray) -> Iterator[Sums]:
    """Association of shares: mean of C(x, .) of s(x) = S(x) / (S(x) + S(y)) over templates and partners.

    Args:
        groups: the swap groups that have a share.
        share: shape (groups,), C of shares.
    """
    for sums in sums_of_parts(groups, share):
        yield replace(sums, test="q", compared=is_compared(sums)).named("share_gamma")


def log_odds_gamma(groups: SwapGroups, odds: FloatArray) -> Iterator[Sums]:
    """Association of log odds: mean over orders of (L(question) - L(negation)) / 4, L = ln S(x) - ln S(y).

    Args:
        groups: the swap groups whose scores are all above 0.
        odds: shape (groups,), C of log odds.
    """
    for sums in sums_of_parts(groups, odds):
        yield replace(sums, test="q").named("log_odds_gamma")


def room(groups: SwapGroups, values: FloatArray) -> Sums:
    """Room of shares: mean of 4 s (1 - s), s the mean share in question and negation.

    Args:
        groups: the swap groups that have a share.
        values: shape (groups,), see `Preferences.room`.
    """
    return replace(mean_over_templates(groups, values), compared=False).named("room")


def mass_inputs(groups: SwapGroups, mass: FloatArray, change: FloatArray) -> Iterator[Sums]:
    """Yields what the flag `mass` is made of: the mass part of gamma, and how far masses change with the question.

    Args:
        groups: the swap groups that have a share.
        mass: shape (groups,), the mass part of C.
        change: shape (groups,), see `Preferences.change`.
    """
    of_pairs = next(sums_of_parts(groups, mass))
    for measure, sums in ((MASS_PART, of_pairs), (MASS_CHANGE, mean_over_templates(groups, change, left_out=0))):
        by_template = {TEMPLATES: sums.along[TEMPLATES]}
        yield replace(sums, along=by_template, compared=False, is_input=True).named(measure)


def question_association(groups: SwapGroups, question: FloatArray) -> Iterator[Sums]:
    """Log odds of x against its partners in the question alone, centred over subjects and attributes of a template.

    Args:
        groups: the swap groups that have log odds.
        question: shape (groups,), see `without_names`.

    Yields:
        The parts that are about attributes: over all attributes together it is 0 for each subject.
    """
    for sums in sums_of_parts(groups, question):
        if {"attribute", "attribute_group"} & {*sums.keys.columns}:
            yield replace(sums, test="q", compared=is_compared(sums)).named("question_association")


def pronoun_association(groups: SwapGroups, question: FloatArray) -> Iterator[Sums]:
    """Log odds of the pronoun of a group against that of the other in the question alone, centred likewise.

    Args:
        groups: the swap groups of two groups whose pronouns have log odds.
        question: shape (groups,), see `without_names`.

    Yields:
        The parts that are about groups of subjects, which pronouns stand for, and about attributes.
    """
    for sums in sums_of_parts(groups, question):
        keys = {*sums.keys.columns}
        if "subject_group" in keys and {"attribute", "attribute_group"} & keys:
            yield replace(sums, test="q").named("pronoun_association")


def negation_reading(groups: SwapGroups, question: FloatArray, negation: FloatArray) -> Sums:
    """Correlation of log odds in the question and in its negation over subjects and attributes, each centred.

    -1 where the negation is read and believed, 0 where it is read, near 1 where a model gives both the same answers.
    Log odds are means over partners, so that what is noise in single pairs does not hide what is alike.

    Args:
        groups: the swap groups that have log odds.
        question: shape (groups,), see `without_names`.
        negation: the same of the negated question.
    """
    one, other = (mean_over_partners(groups, each) for each in (question, negation))
    products = np.stack([one * other, one**2, other**2], axis=-1)
    columns = np.nansum(products.reshape(-1, *products.shape[2:]), axis=0)
    keys = pl.DataFrame({"measure": [""], "options": [""], "n": [len(question)], "left_out": [groups.left_out]})
    return Sums(keys, {TEMPLATES: Along(groups.templates, columns[None])}, CORRELATION, "t").named("negation_reading")


def mean_over_partners(groups: SwapGroups, odds: FloatArray) -> FloatArray:
    """Returns the means of log odds as each subject sees them, shape (subjects, attributes, templates), NaN of none."""
    shape = (len(groups.subjects), len(groups.attributes), len(groups.templates))
    sums, counts = np.zeros((2, int(np.prod(shape))))
    for subject, seen in ((groups.one, odds), (groups.other, -odds)):
        place = np.ravel_multi_index((subject, groups.attribute, groups.template), shape)
        sums += np.bincount(place, seen, minlength=len(sums))
        counts += np.bincount(place, minlength=len(counts))
    return divide(sums, counts).reshape(shape)


def correlation_of_products(sums: FloatArray) -> FloatArray:
    """Returns the correlation_of_products of what has mean 0, shape (...), NaN where one does not vary.

    Args:
        sums: shape (..., 3), sums of products, and of the squares of each.
    """
    return divide(sums[..., 0], np.sqrt(np.maximum(sums[..., 1] * sums[..., 2], 0)))


CORRELATION = Finish("correlation", correlation_of_products)


def without_names(groups: SwapGroups, odds: FloatArray) -> FloatArray:
    """Takes off log odds what both subjects have over all attributes of their template.

    That is the difference of utilities, one for each subject in each template, by least squares over all pairs that
    were asked: where every pair is asked about every attribute, it is their mean over attributes.

    Args:
        groups: the swap groups.
        odds: shape (groups,), ln S(x) - ln S(y).

    Returns:
        Shape (groups,); NaN in templates that ask about a single attribute, which cannot tell it from a name.
    """
    subjects, templates = len(groups.subjects), len(groups.templates)
    shape = (templates, subjects, subjects)
    place = np.ravel_multi_index((groups.template, groups.one, groups.other), shape)
    counts, sums = (
        np.bincount(place, each, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        for each in (None, odds)
    )
    pairs = counts + np.swapaxes(counts, 1, 2)
    equations = pairs.sum(axis=2)[..., None] * np.eye(subjects) - pairs
    own = (sums.sum(axis=2) - sums.sum(axis=1))[..., None]
    utilities = (np.linalg.pinv(equations, rcond=LEAST_SINGULAR, hermitian=True) @ own)[..., 0]
    left = odds - (utilities[groups.template, groups.one] - utilities[groups.template, groups.other])
    left[np.abs(left) <= LEAST_LEFT * np.abs(odds).max(initial=0)] = 0
    asked = np.zeros((templates, len(groups.attributes)), dtype=np.bool_)
    asked[groups.template, groups.attribute] = True
    left[asked.sum(axis=1)[groups.template] < 2] = np.nan
    return np.asarray(left)
