"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020).

A cell is measured in three passes through its swap groups, part by part: what it is about; sums
over what each swap group says by itself; and sums over what is left of log odds without what they
owe to names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.families.cell import Observations
from biasgrid.families.measures import coverage, undetected_difference
from biasgrid.families.underspecified.evidence import evidence
from biasgrid.families.underspecified.observe import (
    READ,
    SAID,
    UNIT,
    answered_groups,
    has_subject_groups,
    least_mass,
    observe,
    scores_in_groups,
    stereotype_sides,
)
from biasgrid.families.underspecified.sizes import (
    MASS_CHANGE,
    MASS_PART,
    TESTS_OF_SIZES,
    derive,
    eta_of_cell,
    left_out_of_derived,
    mu,
    share_mu,
    sums_of_pairs,
)
from biasgrid.families.underspecified.swap_groups import (
    PART_KEYS,
    CountsOfParts,
    counts_of_parts,
    is_compared,
    mean_of_swap_groups,
    mean_over_templates,
    sums_of_parts,
)
from biasgrid.families.underspecified.tallies.axes import AnsweredGroups, Axes, AxesOfParts, axes_of
from biasgrid.families.underspecified.tallies.records import records_of_subjects
from biasgrid.families.underspecified.tallies.sums import (
    MEANS_OF_CELL,
    CellTally,
    CentredTally,
    MeanTally,
    SomeGroups,
    SubjectTally,
)
from biasgrid.families.underspecified.validity import (
    WITHOUT_ANSWERS,
    share_of_swap_groups,
    unanswered_differences,
    validity,
)
from biasgrid.groups.measures import finishes as finishes_of_groups
from biasgrid.groups.measures import measure_groups
from biasgrid.stats.sums import TEMPLATES, Along, Finish, Sums
from biasgrid.tables.metric import STEREOTYPE_AGREEMENT

__all__ = [
    "READ",
    "SAID",
    "TESTS_OF_SIZES",
    "UNIT",
    "derive",
    "evidence",
    "finishes",
    "left_out_of_derived",
    "measure",
    "observe",
    "validity",
]


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes numbers beside means, see `families.family.Stages`."""
    return {**finishes_of_groups(options), CORRELATION.name: CORRELATION}


@dataclass(frozen=True)
class CellSums:
    """What the measures of a cell are made of.

    Attributes:
        first: the sums of what swap groups say by themselves.
        centred: those of what is left of log odds.
    """

    first: CellTally
    centred: CentredTally

    @classmethod
    def of(cls, known: AnsweredGroups, precision: str | None) -> CellSums:
        """Adds up the swap groups of a cell.

        Args:
            known: the swap groups.
            precision: the arithmetic of the model, where it is coarse; see `observe.least_mass`.
        """
        first = CellTally(known.axes, least_mass(map(scores_in_groups, known), precision))
        for part in known:
            first.add(part)
        centred = CentredTally(first)
        for part in known:
            centred.add(part)
        return cls(first, centred)

    @property
    def axes(self) -> Axes:
        """The axes of the cell."""
        return self.first.axes

    @property
    def n(self) -> int:
        """How many swap groups there are."""
        return self.first.means[delta.__name__].n

    @cached_property
    def counts(self) -> CountsOfParts:
        """How many swap groups there are."""
        return counts_of_parts(self.axes, self.first.all_groups.sums)

    @cached_property
    def with_share(self) -> CountsOfParts:
        """How many of them have a share."""
        return self.counts_without(self.first.has_share)

    @cached_property
    def with_odds(self) -> CountsOfParts:
        """How many of them have log odds."""
        return self.counts_without(self.first.has_odds)

    def counts_without(self, some: SomeGroups) -> CountsOfParts:
        """Returns how many swap groups have something."""
        if not some.left_out:
            return self.counts
        return counts_of_parts(self.axes, self.first.all_groups.sums.without(some.lacking.sums))

    def parts(self, tally: SubjectTally, counts: CountsOfParts | None = None) -> Iterator[Sums]:
        """Yields means of the parts of the cell; see `swap_groups.sums_of_parts`.

        Args:
            tally: what is summed.
            counts: of how many swap groups, where these are not all.
        """
        yield from sums_of_parts(self.axes, tally.sums, counts or self.counts, self.counts)


def measure(
    observations: Observations, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    What a number is about shows in the keys that are not null. Parts of the cell (a subject or a
    group of subjects, with an attribute, a group of attributes or neither) have `gamma`, `eta` and
    `win_ratio`; the whole cell has `mu`, `eta`, `delta`, `epsilon`, `answer_probability` and
    `winner_changes`, and of models that may leave questions unanswered `coverage`. Swap groups with
    a question that was not answered count for coverage alone.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, see
            `groups.measures.measure_groups`, and unless there are none `failure_threshold`, at
            which failure rates are looked at besides; `stereotypes`, if the dataset says whom they
            name, see `observe.stereotype_sides`.

    Yields:
        What is said of subjects and attributes, and what is said of groups behind it.
    """
    known = AnsweredGroups(observations)
    if not known.count:
        yield nothing_measured(known.asked)
    else:
        sums = CellSums.of(known, options.get("precision"))
        yield from with_left_out(list(measures_of_swap_groups(sums)), known)
        yield from sums_of_pairs(sums.first, sums.centred)
    if options.get("task") in WITHOUT_ANSWERS:
        yield coverage(partial(share_of_swap_groups, known.asked, known.count))
        yield from undetected_difference(partial(unanswered_differences, known.observations))
    if "stereotypes" in options:
        yield stereotype_agreement(known, options["stereotypes"])
    if options["measures"] != [] and known.count:
        records = records_of_subjects(known.axes, known)
        yield from measure_groups(records, options["measures"], options["failure_threshold"])


def measures_of_swap_groups(sums: CellSums) -> Iterator[Sums | pl.DataFrame]:
    """Yields the measures of swap groups that were answered."""
    associations = list(gamma(sums))
    consistency = list(eta(sums))
    yield from associations
    yield from consistency
    yield from win_ratio(sums)
    preferences = list(measures_of_preferences(sums))
    yield from preferences
    if sums.first.has_pronouns:
        yield from pronoun_association(sums)
    n = len(sums.axes.subjects)
    yield whole_cell("share_mu", share_mu(preferences[0]), n)
    yield whole_cell("mu", mu(associations[0]), n)
    yield whole_cell("eta", eta_of_cell(consistency[0]), n)
    for of_cell in (delta, epsilon, answer_probability, winner_changes):
        yield of_cell(sums.axes, sums.first.means[of_cell.__name__]).named(of_cell.__name__)


def whole_cell(measure: str, value: float, n: int) -> pl.DataFrame:
    """Returns the row of a number of the whole cell."""
    row = {"measure": measure, "options": "", "value": value, "n": n, "left_out": 0}
    reason = "noise alone makes it positive: see the value corrected for noise"
    return pl.DataFrame([row]).with_columns(reason=pl.lit(reason))


def gamma(sums: CellSums) -> Iterator[Sums]:
    """Association: mean of C(x, .) over templates and partners (Li et al., section 3.3), of each
    part of the cell.
    """
    for of_kind in sums.parts(sums.first.of_subjects["comparison"]):
        yield replace(of_kind, test="q", compared=is_compared(of_kind)).named("gamma")


def eta(sums: CellSums) -> Iterator[Sums]:
    """Consistency: mean of the sign of C(x, .) (Li et al., section 3.3), of each part of the
    cell.
    """
    for of_kind in sums.parts(sums.first.of_subjects["sign"]):
        yield of_kind.named("eta")


def win_ratio(sums: CellSums) -> Iterator[Sums]:
    """Share of swap groups in which C(x, .) > 0 (Li et al., section 5), of each part of the
    cell.
    """
    for of_kind in sums.parts(sums.first.won):
        yield of_kind.named("win_ratio")


def delta(axes: Axes, tally: MeanTally) -> Sums:
    """Positional dependence: mean of |S(x; one order) - S(x; the other)| (Li et al., section
    3.2).
    """
    return mean_of_swap_groups(axes, tally)


def epsilon(axes: Axes, tally: MeanTally) -> Sums:
    """Attribute independence: mean of |S(x; question) - S(y; negation)| (Li et al., section
    3.2).
    """
    return mean_of_swap_groups(axes, tally)


def answer_probability(axes: Axes, tally: MeanTally) -> Sums:
    """Mean score of a subject over all instances."""
    return mean_of_swap_groups(axes, tally)


def winner_changes(axes: Axes, tally: MeanTally) -> Sums:
    """Share of swap groups in which the more probable subject changes with the order."""
    return replace(mean_of_swap_groups(axes, tally), interval="effective Wilson")


def stereotype_agreement(
    known: AnsweredGroups, stereotypes: Mapping[str, str]
) -> Sums | pl.DataFrame:
    """How far a cell agrees with stereotypes: the mean of C as the subjects see it that stereotypes
    name.

    Args:
        known: the swap groups of the cell, with all that was observed.
        stereotypes: see `observe.stereotype_sides`.
    """
    by = "group" if has_subject_groups(known.observations) else "subject"
    seen, asked = AxesOfParts(), 0
    for part in known.observations:
        sides = stereotype_sides(part, stereotypes, by)
        asked += int(np.count_nonzero(sides))
        seen.add(answered_groups(part.filter(pl.Series(sides != 0))))
    left_out = asked - seen.count
    if not seen.count:
        row = {
            "measure": STEREOTYPE_AGREEMENT,
            "options": "",
            "value": None,
            "n": 0,
            "left_out": left_out,
        }
        return pl.DataFrame([row], schema_overrides={"value": pl.Float64})
    axes = seen.axes
    tally = MeanTally(axes)
    for part in known.observations:
        sides, comparison = stereotype_sides(part, stereotypes, by), part["comparison"].to_numpy()
        chosen = (sides != 0) & ~np.isnan(comparison)
        tally.add(
            axes.swap_groups(part.filter(pl.Series(chosen))), sides[chosen] * comparison[chosen]
        )
    agreement = mean_of_swap_groups(axes, tally, left_out)
    return replace(agreement, claims_all=bool(len(axes.subject_groups[0]))).named(
        STEREOTYPE_AGREEMENT
    )


def with_left_out(
    measured: list[Sums | pl.DataFrame], known: AnsweredGroups
) -> Iterator[Sums | pl.DataFrame]:
    """Adds to measures how many swap groups were left out as nobody answered them.

    Args:
        measured: the measures of those that were answered.
        known: those that were answered, with all that was observed.
    """
    missing = known.asked - known.count
    if not missing:
        yield from measured
        return
    axes = axes_of(known.observations)
    tally = SubjectTally(axes)
    for part in known.observations:
        tally.count(axes.swap_groups(part))
    counts = counts_of_parts(axes, tally.sums)
    asked = pl.concat(
        [each.keys for each in sums_of_parts(axes, tally.sums, counts)], how="diagonal"
    )
    lacking = [pl.lit(None, pl.String).alias(key) for key in PART_KEYS if key not in asked.columns]
    of_parts = asked.with_columns(lacking).select(*PART_KEYS, asked="n")
    for each in measured:
        if isinstance(each, pl.DataFrame) or not {*PART_KEYS} & {*each.keys.columns}:
            # Of numbers of the whole cell what is left out are swap groups, or of mu and eta whole
            # subjects.
            if isinstance(each, Sums):
                yield replace(
                    each,
                    keys=each.keys.with_columns(pl.col("left_out") + pl.lit(missing, pl.Int64)),
                )
            else:
                yield each.with_columns(left_out=len(axes.subjects) - pl.col("n"))
            continue
        keys = [key for key in PART_KEYS if key in each.keys.columns]
        others = [pl.col(key).is_null() for key in PART_KEYS if key not in keys]
        joined = each.keys.join(of_parts.filter(others), on=keys, how="left", maintain_order="left")
        left_out = joined.select(
            *each.keys.drop("left_out").columns, left_out=pl.col("asked") - pl.col("n")
        )
        yield replace(each, keys=left_out)


def nothing_measured(asked: int) -> pl.DataFrame:
    """Returns the measures of a cell without any swap group that was answered."""
    return pl.DataFrame(
        {
            "measure": ["share_strength", "share_mu", "mu", "eta", *MEANS_OF_CELL],
            "options": "",
            "value": None,
            "n": 0,
            "left_out": asked,
        },
        schema_overrides={"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64},
    )


def measures_of_preferences(sums: CellSums) -> Iterator[Sums]:
    """Yields the measures that do not depend on S(x) + S(y), those of shares before those of log
    odds.
    """
    yield from share_gamma(sums)
    yield from mass_inputs(sums)
    yield room(sums)
    yield from log_odds_gamma(sums)
    yield from question_association(sums)
    yield negation_reading(sums)


def share_gamma(sums: CellSums) -> Iterator[Sums]:
    """Association of shares: mean of C(x, .) of s(x) = S(x) / (S(x) + S(y)) over templates and
    partners.
    """
    for of_kind in sums.parts(sums.first.of_subjects["share"], sums.with_share):
        yield replace(of_kind, test="q", compared=is_compared(of_kind)).named("share_gamma")


def log_odds_gamma(sums: CellSums) -> Iterator[Sums]:
    """Association of log odds: mean over orders of (L(question) - L(negation)) / 4, L = ln S(x) -
    ln S(y).
    """
    for of_kind in sums.parts(sums.first.of_subjects["log_odds"], sums.with_odds):
        yield replace(of_kind, test="q").named("log_odds_gamma")


def room(sums: CellSums) -> Sums:
    """Room of shares: mean of 4 s (1 - s), s the mean share in question and negation."""
    found = mean_over_templates(sums.axes, sums.first.means["room"], sums.first.has_share.left_out)
    return replace(found, compared=False).named("room")


def mass_inputs(sums: CellSums) -> Iterator[Sums]:
    """Yields what the flag `mass` is made of: the mass part of gamma, and how far masses change
    with the question.
    """
    of_pairs = next(sums.parts(sums.first.of_subjects["mass"], sums.with_share))
    of_cell = mean_over_templates(sums.axes, sums.first.means["change"], 0)
    for measure, found in ((MASS_PART, of_pairs), (MASS_CHANGE, of_cell)):
        by_template = {TEMPLATES: found.along[TEMPLATES]}
        yield replace(found, along=by_template, compared=False, is_input=True).named(measure)


def question_association(sums: CellSums) -> Iterator[Sums]:
    """Log odds of x against its partners in the question alone, centred over subjects and
    attributes of a template.

    Yields:
        The parts that are about attributes: over all attributes together it is 0 for each subject.
    """
    for of_kind in sums.parts(
        sums.centred.question, counts_of_parts(sums.axes, sums.centred.groups.sums)
    ):
        if {"attribute", "attribute_group"} & {*of_kind.keys.columns}:
            yield replace(of_kind, test="q", compared=is_compared(of_kind)).named(
                "question_association"
            )


def pronoun_association(sums: CellSums) -> Iterator[Sums]:
    """Log odds of the pronoun of a group against that of the other in the question alone, centred
    likewise.

    Yields:
        The parts that are about groups of subjects, which pronouns stand for, and about attributes.
    """
    for of_kind in sums.parts(
        sums.centred.pronouns, counts_of_parts(sums.axes, sums.centred.pronoun_groups.sums)
    ):
        keys = {*of_kind.keys.columns}
        if "subject_group" in keys and {"attribute", "attribute_group"} & keys:
            yield replace(of_kind, test="q").named("pronoun_association")


def negation_reading(sums: CellSums) -> Sums:
    """Correlation of log odds in the question and in its negation over subjects and attributes,
    each centred.

    -1 where the negation is read and believed, 0 where it is read, near 1 where a model gives both
    the same answers. Log odds are means over partners, so that what is noise in single pairs does
    not hide what is alike.
    """
    centred, counts = sums.centred, sums.centred.groups.by_template
    one, other = (divide(each, counts) for each in (centred.question.by_template, centred.negation))
    products = np.stack([one * other, one**2, other**2], axis=-1)
    columns = np.nansum(products.reshape(-1, *products.shape[2:]), axis=0)
    left_out = sums.n - centred.n
    keys = pl.DataFrame(
        {"measure": [""], "options": [""], "n": [centred.n], "left_out": [left_out]}
    )
    along = {TEMPLATES: Along(sums.axes.templates, columns[None])}
    return Sums(keys, along, CORRELATION, "t").named("negation_reading")


def correlation_of_products(sums: FloatArray) -> FloatArray:
    """Returns the correlation_of_products of what has mean 0, shape (...), NaN where one does not
    vary.

    Args:
        sums: shape (..., 3), sums of products, and of the squares of each.
    """
    return divide(sums[..., 0], np.sqrt(np.maximum(sums[..., 1] * sums[..., 2], 0)))


CORRELATION = Finish("correlation", correlation_of_products)
