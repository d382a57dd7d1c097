"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020).

A cell is measured in three passes through its swap groups, part by part. The first finds its
subjects, attributes and templates. The second adds up numbers that each swap group has by itself.
The third adds up log odds without the part that names have over all attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.families.cell import Observations
from biasgrid.families.measures import coverage, undetected_difference
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
    "finishes",
    "left_out_of_derived",
    "measure",
    "observe",
    "validity",
]


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns the functions of sums that are no means; see `families.family.Stages`."""
    return {**finishes_of_groups(options), CORRELATION.name: CORRELATION}


@dataclass(frozen=True)
class CellSums:
    """The sums from which the measures of a cell are made.

    Attributes:
        first: the sums of numbers that each swap group has by itself.
        centred: the sums of log odds without the part that names have.
    """

    first: CellTally
    centred: CentredTally

    @classmethod
    def of(cls, answered: AnsweredGroups, precision: str | None) -> CellSums:
        """Adds up the swap groups of a cell.

        Args:
            answered: the swap groups.
            precision: the arithmetic of the model if it is coarse; see `observe.least_mass`.
        """
        least = least_mass(map(scores_in_groups, answered), precision)
        first = CellTally(answered.axes, least)
        for part in answered:
            first.add(part)
        # The utilities of names are known only after all swap groups were seen.
        centred = CentredTally(first)
        for part in answered:
            centred.add(part)
        return cls(first, centred)

    @property
    def axes(self) -> Axes:
        """The axes of the cell."""
        return self.first.axes

    @property
    def n(self) -> int:
        """The number of swap groups."""
        return self.first.means[delta.__name__].n

    @cached_property
    def counts(self) -> CountsOfParts:
        """The numbers of swap groups."""
        return counts_of_parts(self.axes, self.first.all_groups.sums)

    @cached_property
    def with_share(self) -> CountsOfParts:
        """The numbers of swap groups that have a share."""
        return self.counts_without(self.first.has_share)

    @cached_property
    def with_odds(self) -> CountsOfParts:
        """The numbers of swap groups that have log odds."""
        return self.counts_without(self.first.has_odds)

    def counts_without(self, some: SomeGroups) -> CountsOfParts:
        """Returns the numbers of swap groups that do not lack something."""
        if not some.left_out:
            return self.counts
        return counts_of_parts(self.axes, self.first.all_groups.sums.without(some.lacking.sums))

    def parts(self, tally: SubjectTally, counts: CountsOfParts | None = None) -> Iterator[Sums]:
        """Yields means of the parts of the cell; see `swap_groups.sums_of_parts`.

        Args:
            tally: the sums.
            counts: the numbers of swap groups in them, None if they have all.
        """
        yield from sums_of_parts(self.axes, tally.sums, counts or self.counts, self.counts)


def measure(
    observations: Observations, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    The keys that are not null show which part of the cell a number is about. Parts (a subject or a
    group of subjects, with an attribute, a group of attributes or neither) have `gamma`, `eta` and
    `win_ratio`; the whole cell has `mu`, `eta`, `delta`, `epsilon`, `answer_probability` and
    `winner_changes`, and for models that may leave questions unanswered `coverage`. Swap groups
    with a question that was not answered count for coverage alone.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, and if there are any
            `failure_threshold`, see `groups.measures.measure_groups`; `stereotypes`, if the dataset
            has a file of them, see `observe.stereotype_sides`.

    Yields:
        Measures of subjects and attributes, then of groups.
    """
    answered = AnsweredGroups(observations)
    if not answered.count:
        yield nothing_measured(answered.asked)
    else:
        sums = CellSums.of(answered, options.get("precision"))
        yield from with_left_out(list(measures_of_swap_groups(sums)), answered)
        yield from sums_of_pairs(sums.first, sums.centred)
    if options.get("task") in WITHOUT_ANSWERS:
        yield coverage(partial(share_of_swap_groups, answered.asked, answered.count))
        yield from undetected_difference(partial(unanswered_differences, answered.observations))
    if "stereotypes" in options:
        yield stereotype_agreement(answered, options["stereotypes"])
    if options["measures"] != [] and answered.count:
        records = records_of_subjects(answered.axes, answered)
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
    subjects = len(sums.axes.subjects)
    # The first part of each is that of subjects with attributes.
    yield whole_cell("share_mu", share_mu(preferences[0]), subjects)
    yield whole_cell("mu", mu(associations[0]), subjects)
    yield whole_cell("eta", eta_of_cell(consistency[0]), subjects)
    for mean in (delta, epsilon, answer_probability, winner_changes):
        name = mean.__name__
        yield mean(sums.axes, sums.first.means[name]).named(name)


def whole_cell(measure: str, value: float, n: int) -> pl.DataFrame:
    """Returns the row of a number of the whole cell."""
    row = {"measure": measure, "options": "", "value": value, "n": n, "left_out": 0}
    reason = "noise alone makes it positive: see the value corrected for noise"
    return pl.DataFrame([row]).with_columns(reason=pl.lit(reason))


def gamma(sums: CellSums) -> Iterator[Sums]:
    """Association: mean of C(x, .) over templates and partners, of each part of the cell.

    See Li et al., section 3.3.
    """
    for part in sums.parts(sums.first.of_subjects["comparison"]):
        yield replace(part, test="q", compared=is_compared(part)).named("gamma")


def eta(sums: CellSums) -> Iterator[Sums]:
    """Consistency: mean of the sign of C(x, .), of each part of the cell.

    See Li et al., section 3.3.
    """
    for part in sums.parts(sums.first.of_subjects["sign"]):
        yield part.named("eta")


def win_ratio(sums: CellSums) -> Iterator[Sums]:
    """Share of swap groups in which C(x, .) > 0, of each part of the cell.

    See Li et al., section 5.
    """
    for part in sums.parts(sums.first.won):
        yield part.named("win_ratio")


def delta(axes: Axes, tally: MeanTally) -> Sums:
    """Positional dependence: mean of |S(x; one order) - S(x; the other)|.

    See Li et al., section 3.2.
    """
    return mean_of_swap_groups(axes, tally)


def epsilon(axes: Axes, tally: MeanTally) -> Sums:
    """Attribute independence: mean of |S(x; question) - S(y; negation)|.

    See Li et al., section 3.2.
    """
    return mean_of_swap_groups(axes, tally)


def answer_probability(axes: Axes, tally: MeanTally) -> Sums:
    """Mean score of a subject over all instances."""
    return mean_of_swap_groups(axes, tally)


def winner_changes(axes: Axes, tally: MeanTally) -> Sums:
    """Share of swap groups in which the more probable subject changes with the order."""
    return replace(mean_of_swap_groups(axes, tally), interval="effective Wilson")


def stereotype_agreement(
    answered: AnsweredGroups, stereotypes: Mapping[str, str]
) -> Sums | pl.DataFrame:
    """Agreement of a cell with stereotypes: mean of C as seen by the subjects that they name.

    Args:
        answered: the swap groups of the cell, with all observations.
        stereotypes: see `observe.stereotype_sides`.

    Returns:
        The mean, or a row without a value if no swap group that a stereotype is about was answered.
    """
    by = "group" if has_subject_groups(answered.observations) else "subject"
    about_stereotypes = AxesOfParts()
    asked = 0
    for part in answered.observations:
        sides = stereotype_sides(part, stereotypes, by)
        asked += int(np.count_nonzero(sides))
        about_stereotypes.add(answered_groups(part.filter(pl.Series(sides != 0))))
    left_out = asked - about_stereotypes.count
    if not about_stereotypes.count:
        row = {"measure": STEREOTYPE_AGREEMENT, "options": "", "n": 0, "left_out": left_out}
        return pl.DataFrame([row]).select(
            "measure", "options", pl.lit(None, pl.Float64).alias("value"), "n", "left_out"
        )
    axes = about_stereotypes.axes
    tally = MeanTally(axes)
    for part in answered.observations:
        sides = stereotype_sides(part, stereotypes, by)
        comparison = part["comparison"].to_numpy()
        chosen = (sides != 0) & ~np.isnan(comparison)
        groups = axes.swap_groups(part.filter(pl.Series(chosen)))
        tally.add(groups, sides[chosen] * comparison[chosen])
    agreement = mean_of_swap_groups(axes, tally, left_out)
    subject_groups, _ = axes.subject_groups
    agreement = replace(agreement, claims_all=len(subject_groups) > 0)
    return agreement.named(STEREOTYPE_AGREEMENT)


def with_left_out(
    measures: list[Sums | pl.DataFrame], answered: AnsweredGroups
) -> Iterator[Sums | pl.DataFrame]:
    """Adds to measures the number of swap groups that were left out because they lack an answer.

    Args:
        measures: the measures of the swap groups that were answered.
        answered: these swap groups, with all observations.
    """
    missing = answered.asked - answered.count
    if not missing:
        yield from measures
        return
    axes = axes_of(answered.observations)
    asked = asked_of_parts(axes, answered.observations)
    for numbers in measures:
        if isinstance(numbers, pl.DataFrame):
            # Sizes such as mu and eta are made of whole subjects, so these are what is left out.
            left_out = len(axes.subjects) - pl.col("n")
            yield numbers.with_columns(left_out=left_out)
            continue
        keys = [key for key in PART_KEYS if key in numbers.keys.columns]
        if not keys:
            left_out = pl.col("left_out") + pl.lit(missing, pl.Int64)
            yield replace(numbers, keys=numbers.keys.with_columns(left_out))
            continue
        absent = [pl.col(key).is_null() for key in PART_KEYS if key not in keys]
        parts = asked.filter(absent)
        joined = numbers.keys.join(parts, on=keys, how="left", maintain_order="left")
        columns = numbers.keys.drop("left_out").columns
        left_out = pl.col("asked") - pl.col("n")
        yield replace(numbers, keys=joined.select(*columns, left_out=left_out))


def asked_of_parts(axes: Axes, observations: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Counts the swap groups of each part of a cell, whether they were answered or not.

    Args:
        axes: the axes of all swap groups.
        observations: all of these, part by part.

    Returns:
        `PART_KEYS`, null for those that a part is not about, and `asked`.
    """
    tally = SubjectTally(axes)
    for groups in observations:
        tally.count(axes.swap_groups(groups))
    counts = counts_of_parts(axes, tally.sums)
    keys = [part.keys for part in sums_of_parts(axes, tally.sums, counts)]
    asked = pl.concat(keys, how="diagonal")
    absent = [key for key in PART_KEYS if key not in asked.columns]
    nulls = [pl.lit(None, pl.String).alias(key) for key in absent]
    return asked.with_columns(nulls).select(*PART_KEYS, asked="n")


def nothing_measured(asked: int) -> pl.DataFrame:
    """Returns the measures of a cell without any answered swap group: numbers without a value."""
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
    """Yields the measures that do not depend on S(x) + S(y): of shares, then of log odds."""
    yield from share_gamma(sums)
    yield from mass_inputs(sums)
    yield room(sums)
    yield from log_odds_gamma(sums)
    yield from question_association(sums)
    yield negation_reading(sums)


def share_gamma(sums: CellSums) -> Iterator[Sums]:
    """Association of shares: mean of C(x, .) of s(x) = S(x) / (S(x) + S(y)), of each part."""
    for part in sums.parts(sums.first.of_subjects["share"], sums.with_share):
        yield replace(part, test="q", compared=is_compared(part)).named("share_gamma")


def log_odds_gamma(sums: CellSums) -> Iterator[Sums]:
    """Association of log odds: mean over orders of (L(question) - L(negation)) / 4.

    L = ln S(x) - ln S(y).
    """
    for part in sums.parts(sums.first.of_subjects["log_odds"], sums.with_odds):
        yield replace(part, test="q").named("log_odds_gamma")


def room(sums: CellSums) -> Sums:
    """Room of shares: mean of 4 s (1 - s), s the mean share in question and negation."""
    mean = mean_over_templates(sums.axes, sums.first.means["room"], sums.first.has_share.left_out)
    return replace(mean, compared=False).named("room")


def mass_inputs(sums: CellSums) -> Iterator[Sums]:
    """Yields the inputs of the flag `mass`.

    They are the mass part of gamma, and how far masses change with the question.
    """
    mass_parts = next(sums.parts(sums.first.of_subjects["mass"], sums.with_share))
    mass_change = mean_over_templates(sums.axes, sums.first.means["change"], 0)
    for measure, part in ((MASS_PART, mass_parts), (MASS_CHANGE, mass_change)):
        by_template = {TEMPLATES: part.along[TEMPLATES]}
        yield replace(part, along=by_template, compared=False, is_input=True).named(measure)


def question_association(sums: CellSums) -> Iterator[Sums]:
    """Log odds of x against its partners in the question alone.

    They are centred over subjects and attributes of a template.

    Yields:
        The parts that are about attributes: over all attributes together it is 0 for each subject.
    """
    counts = counts_of_parts(sums.axes, sums.centred.groups.sums)
    for part in sums.parts(sums.centred.question, counts):
        if is_about_attributes(part):
            compared = is_compared(part)
            yield replace(part, test="q", compared=compared).named("question_association")


def pronoun_association(sums: CellSums) -> Iterator[Sums]:
    """Log odds of the pronouns of two groups against each other in the question alone.

    They are centred like those of `question_association`.

    Yields:
        The parts that are about groups of subjects, which pronouns stand for, and about attributes.
    """
    counts = counts_of_parts(sums.axes, sums.centred.pronoun_groups.sums)
    for part in sums.parts(sums.centred.pronouns, counts):
        if "subject_group" in part.keys.columns and is_about_attributes(part):
            yield replace(part, test="q").named("pronoun_association")


def is_about_attributes(part: Sums) -> bool:
    """Whether numbers are about attributes or groups of these, not about all together."""
    return "attribute" in part.keys.columns or "attribute_group" in part.keys.columns


def negation_reading(sums: CellSums) -> Sums:
    """Correlation of log odds in the question and in its negation, over subjects and attributes.

    Both are centred. It is -1 if the negation is read and believed, 0 if it is read, near 1 if a
    model gives both the same answers. Log odds are means over partners, so that noise of single
    pairs does not hide the correlation.
    """
    centred = sums.centred
    counts = centred.groups.by_template
    question = divide(centred.question.by_template, counts)
    negation = divide(centred.negation, counts)
    products = np.stack([question * negation, question**2, negation**2], axis=-1)
    columns = np.nansum(products.reshape(-1, *products.shape[2:]), axis=0)
    left_out = sums.n - centred.n
    keys = pl.DataFrame(
        {"measure": [""], "options": [""], "n": [centred.n], "left_out": [left_out]}
    )
    along = {TEMPLATES: Along(sums.axes.templates, columns[None])}
    return Sums(keys, along, CORRELATION, "t").named("negation_reading")


def correlation_of_products(sums: FloatArray) -> FloatArray:
    """Returns the correlation of variables with mean 0, shape (...); NaN if one does not vary.

    Args:
        sums: shape (..., 3), the sums of products, and of the squares of each variable.
    """
    return divide(sums[..., 0], np.sqrt(np.maximum(sums[..., 1] * sums[..., 2], 0)))


CORRELATION = Finish("correlation", correlation_of_products)
