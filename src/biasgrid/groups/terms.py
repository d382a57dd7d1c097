"""The scores of each term in each case of one bias type, and two analyses of them: the signed
differences of groups, and the permutation test of groups.

A permutation assigns the terms to groups at random, once for all cases. If it assigned them anew in
every case, words that differ from each other would look like groups that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Outputs, PoolingMode, Records
from biasgrid.stats.clusters import cluster_positions, index_templates
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    TEMPLATES,
    Along,
    IntervalMethod,
    SignificanceTest,
    Sums,
    sum_units,
)
from biasgrid.tables.metric import options_text, parse_options

TERM_SCORES = "term_scores"
"""The measure of the inputs of the permutation test in the table of sums."""
GROUP_SEPARATOR = " & "
"""A part of the names of intersections, whose terms must not be permuted."""


@dataclass(frozen=True)
class TermScores:
    """The scores of the terms of a bias type.

    Attributes:
        bias_type: its name.
        groups: the names of its groups.
        group: shape (terms,), the group of each term, an index into `groups`.
        sums: shape (cases, terms), the sum of the scores of a term in a case.
        counts: shape (cases, terms), how many scores these are: usually one, 0 if there is none.
        template: shape (cases,), the template of each case, or its unit
            (`stats.clusters.template_units`).
        terms: the names of the terms; a term of two groups is in the list twice.
    """

    bias_type: str
    groups: Sequence[str]
    group: IntArray
    sums: FloatArray
    counts: FloatArray
    template: IntArray
    terms: Sequence[str]

    @property
    def members(self) -> FloatArray:
        """Membership of terms in groups, 0 or 1, shape (terms, groups)."""
        groups = np.arange(len(self.groups))
        return np.asarray(self.group[:, None] == groups, dtype=np.float64)

    @property
    def can_be_permuted(self) -> bool:
        """Whether terms may be assigned to other groups.

        The terms of an intersection are not free: their parts have groups of their own. Groups of
        one term each have nothing to exchange.
        """
        has_several = bool(np.bincount(self.group).max() > 1)
        return has_several and GROUP_SEPARATOR not in self.bias_type

    @property
    def scores(self) -> FloatArray:
        """The mean score of each group in each case, shape (cases, groups), NaN where there is
        none.
        """
        return divide(self.sums @ self.members, self.counts @ self.members)


def term_scores(records: Records, values: FloatArray) -> Iterator[TermScores]:
    """Yields the scores of each bias type with at least two groups that have values.

    Args:
        records: the records.
        values: shape (records,), their scores, NaN for a record without one.
    """
    has_value = ~np.isnan(values)
    for code in np.unique(records.bias_type):
        rows = np.flatnonzero((records.bias_type == code) & has_value)
        group_codes, group = np.unique(records.group[rows], return_inverse=True)
        if len(group_codes) < 2:
            continue
        # A term may stand for several groups of an intersection's parts; each is a term of its own.
        key = group * len(records.terms) + records.term[rows]
        _, first_of_term, term = np.unique(key, return_index=True, return_inverse=True)
        _, first_of_case, case = np.unique(
            records.case[rows], return_index=True, return_inverse=True
        )
        shape = len(first_of_case), len(first_of_term)
        place = case * shape[1] + term
        size = shape[0] * shape[1]
        sums = np.bincount(place, values[rows], minlength=size)
        counts = np.bincount(place, minlength=size)
        term_codes = records.term[rows][first_of_term]
        yield TermScores(
            bias_type=records.bias_types[code],
            groups=[records.groups[group_code] for group_code in group_codes],
            group=group[first_of_term],
            sums=sums.reshape(shape).astype(np.float64),
            counts=counts.reshape(shape).astype(np.float64),
            template=records.template[rows][first_of_case],
            terms=[records.terms[term_code] for term_code in term_codes],
        )


# Signed differences


def difference(scores: TermScores, *, of_shares: bool = False) -> Sums:
    """Mean over cases of one group's score less another's, over templates and, unless each group
    has one, terms.

    Args:
        scores: the scores of the terms of a bias type.
        of_shares: whether the means of scores are shares, whose differences have an interval of
            their own.

    Returns:
        A number for each pair of groups, without measure and options. `n` counts the cases with
        both groups; `left_out` is 0. A number without such a case is NaN.
    """
    template, templates = index_templates(scores.template)
    pairs = list(combinations(range(len(scores.groups)), 2))
    over_templates = np.zeros((len(pairs), len(templates), 4 if of_shares else 2))
    over_terms = np.zeros((len(pairs), len(scores.terms), 4))
    by_group = scores.scores
    for number, (group, other) in enumerate(pairs):
        differences = by_group[:, group] - by_group[:, other]
        # Only cases that have both groups count.
        has_both = ~np.isnan(differences)
        summands = [differences]
        if of_shares:
            summands = [np.where(has_both, by_group[:, side], np.nan) for side in (group, other)]
        columns = [sum_units(values, template, len(templates)).sums[0] for values in summands]
        over_templates[number] = np.concatenate(columns, axis=1)
        for column, side in ((0, group), (2, other)):
            is_own = scores.group == side
            own_sums = scores.sums[has_both][:, is_own].sum(axis=0)
            own_counts = scores.counts[has_both][:, is_own].sum(axis=0)
            over_terms[number, is_own, column] = own_sums
            over_terms[number, is_own, column + 1] = own_counts
    keys = pl.DataFrame(
        {
            "bias_type": [scores.bias_type] * len(pairs),
            "group": [scores.groups[group] for group, _ in pairs],
            "other": [scores.groups[other] for _, other in pairs],
            "n": over_templates[..., 1].sum(axis=1).astype(np.int64),
            "left_out": [0] * len(pairs),
        }
    )
    along = {
        TEMPLATES: Along(templates, over_templates),
        PAIR_OF_LISTS: Along(scores.terms, over_terms),
    }
    interval: IntervalMethod = "difference of shares" if of_shares else "t"
    # With one term per group there is no spread between terms to generalise from.
    has_several_terms = bool(np.bincount(scores.group).max() > 1)
    return Sums(
        keys,
        along,
        finish=DIFFERENCE if of_shares else MEAN,
        interval=interval,
        test=SignificanceTest.CORRECTED,
        generalises_to_all_factors=has_several_terms,
    )


# The permutation test


MOST_GROUP_PERMUTATIONS = 20_000
"""Up to so many permutations of a bias type all are tried; of more, a sample."""
DISTANCE_DECIMALS = 12
"""A difference of 0.2 with a rounding error must not exceed a threshold of 0.2."""
FOLDED = "folded at 0, where noise alone puts it above 0: see distance_corrected"
"""Why distances have no interval."""
NO_VALUE = "no value"


class GroupStatistic(NamedTuple):
    """A number of the groups of a bias type that the permutation test recomputes.

    Attributes:
        measure: the distance of groups, or the share of cases whose distance exceeds a threshold.
        pairs: whether the distance is the mean over pairs of groups, or that of the largest pair.
        mode: `ALL_CASES` for the distance of pooled groups, `EACH_CASE` for numbers of cases; a
            failure rate is always of cases.
    """

    measure: Literal["distance", "failure_rate"]
    pairs: Literal["mean", "largest"]
    mode: PoolingMode


class GroupTestResult(NamedTuple):
    """The result of the permutation test for one number; all NaN if the number is undefined.

    Attributes:
        value: the number.
        null_mean: its mean over the permutations in which it is defined.
        p: the share of these in which it is at least as large.
    """

    value: float
    null_mean: float
    p: float


class GroupPermutation(NamedTuple):
    """The results of the permutation test for a bias type.

    Attributes:
        results: the result for each number.
        permutation_count: how many permutations there were.
        exact: whether these are all.
    """

    results: Mapping[GroupStatistic, GroupTestResult]
    permutation_count: int
    exact: bool


def permute_groups(
    scores: TermScores, *, threshold: float, most: int, seed: int
) -> GroupPermutation | None:
    """Tests the groups of a bias type: assigns its terms at random to groups of the same sizes.

    Args:
        scores: the scores of its terms.
        threshold: a case whose difference is larger than this fails.
        most: how many permutations are drawn if there are more than `MOST_GROUP_PERMUTATIONS`.
        seed: seed of the random permutations.

    Returns:
        None if terms must not be permuted; see `TermScores.can_be_permuted`.
    """
    if not scores.can_be_permuted:
        return None
    sizes = np.bincount(scores.group)
    count = factorial(int(sizes.sum())) // prod(factorial(int(size)) for size in sizes)
    exact = count <= MOST_GROUP_PERMUTATIONS
    if exact:
        permutations = all_permutations(sizes)
    else:
        permutations = random_permutations(scores.group, count=most, seed=seed)
    observed_values = {}
    for statistic, numbers in group_statistics(scores, scores.group[None], threshold).items():
        observed_values[statistic] = float(numbers[0])
    null = {statistic: NullCounts() for statistic in observed_values}
    permutation_count = 0
    batch_size = max(1, VALUES_AT_ONCE // (len(scores.sums) * len(sizes)))
    for batch in permutation_batches(permutations, batch_size):
        permutation_count += len(batch)
        for statistic, numbers in group_statistics(scores, batch, threshold).items():
            null[statistic] = null[statistic].add(numbers, observed_values[statistic])
    # The observed groups are one of all permutations, but not of random ones. Without them p could
    # be 0 (Phipson and Smyth, 2010).
    extra_count = 0 if exact else 1
    results = {}
    for statistic, value in observed_values.items():
        results[statistic] = null[statistic].result(value, extra_count)
    return GroupPermutation(results, permutation_count, exact)


class NullCounts(NamedTuple):
    """Counts of a number over the permutations in which it is defined.

    Attributes:
        total: the sum of the number.
        at_least: how often it is at least as large as observed.
        permutation_count: how many permutations these are.
    """

    total: float = 0.0
    at_least: int = 0
    permutation_count: int = 0

    def add(self, numbers: FloatArray, observed_value: float) -> NullCounts:
        """Returns the counts with further permutations.

        Args:
            numbers: shape (permutations,), NaN where the number is undefined.
            observed_value: the number as observed.
        """
        defined_numbers = numbers[~np.isnan(numbers)]
        # The same permutation may be rounded differently when computed in a batch.
        at_least = int(np.count_nonzero(defined_numbers >= observed_value - TOLERANCE))
        return NullCounts(
            self.total + float(defined_numbers.sum()),
            self.at_least + at_least,
            self.permutation_count + len(defined_numbers),
        )

    def result(self, observed_value: float, extra_count: int) -> GroupTestResult:
        """Returns the result of the test.

        Args:
            observed_value: the number as observed.
            extra_count: 1 if the observed groups count as one more permutation, else 0.
        """
        # No comparison with NaN is true, so p of NaN would be 0.
        if np.isnan(observed_value) or not self.permutation_count:
            return GroupTestResult(np.nan, np.nan, np.nan)
        p = (self.at_least + extra_count) / (self.permutation_count + extra_count)
        return GroupTestResult(observed_value, self.total / self.permutation_count, p)


def all_permutations(sizes: IntArray) -> Iterator[IntArray]:
    """Yields every way to divide terms into groups of some sizes.

    Args:
        sizes: shape (groups,), the number of terms of each group, at least 1.

    Yields:
        The group of each term, shape (terms,).
    """

    def assign(free: tuple[int, ...], group: int, assignment: IntArray) -> Iterator[IntArray]:
        if group == len(sizes) - 1:
            assignment[list(free)] = group
            yield assignment.copy()
            return
        for members in combinations(free, int(sizes[group])):
            assignment[list(members)] = group
            rest = tuple(term for term in free if term not in members)
            yield from assign(rest, group + 1, assignment)

    terms = int(sizes.sum())
    yield from assign(tuple(range(terms)), 0, np.zeros(terms, dtype=np.int64))


def random_permutations(group: IntArray, *, count: int, seed: int) -> Iterator[IntArray]:
    """Yields random permutations of the group of each term, shape (terms,)."""
    random = np.random.default_rng(seed)
    yield from (random.permutation(group) for _ in range(count))


def permutation_batches(permutations: Iterator[IntArray], size: int) -> Iterator[IntArray]:
    """Yields permutations in batches, shape (permutations, terms); the last may be smaller."""
    batch: list[IntArray] = []
    for permutation in permutations:
        batch.append(permutation)
        if len(batch) == size:
            yield np.stack(batch)
            batch = []
    if batch:
        yield np.stack(batch)


def group_statistics(
    scores: TermScores, permutations: IntArray, threshold: float
) -> dict[GroupStatistic, FloatArray]:
    """Computes distances of groups and failure rates in permutations.

    Args:
        scores: the scores of the terms.
        permutations: shape (permutations, terms), the group of each term.
        threshold: see `permute_groups`.

    Returns:
        Each of shape (permutations,), NaN if no two groups have scores.
    """
    groups = np.arange(int(scores.group.max()) + 1)
    members = np.asarray(permutations[:, :, None] == groups, dtype=np.float64)
    # Shape (permutations, cases, groups).
    sums, counts = (
        np.moveaxis(np.tensordot(terms, members, axes=(1, 1)), 1, 0)
        for terms in (scores.sums, scores.counts)
    )
    mean, largest = pair_distances(divide(sums, counts))
    mean, largest = mean.round(DISTANCE_DECIMALS), largest.round(DISTANCE_DECIMALS)
    pooled_scores = divide(sums.sum(axis=1), counts.sum(axis=1))
    pooled_mean, pooled_largest = pair_distances(pooled_scores)
    has_pair = ~np.isnan(mean)
    cases = has_pair.sum(axis=1)
    mean_over_cases = divide(np.where(has_pair, mean, 0).sum(axis=1), cases)
    largest_over_cases = divide(np.where(has_pair, largest, 0).sum(axis=1), cases)
    # NaN is not larger than any threshold, so cases without a pair do not fail.
    mean_fails = divide((mean > threshold).sum(axis=1), cases)
    largest_fails = divide((largest > threshold).sum(axis=1), cases)
    return {
        GroupStatistic("distance", "mean", EACH_CASE): mean_over_cases,
        GroupStatistic("distance", "mean", ALL_CASES): pooled_mean,
        GroupStatistic("distance", "largest", EACH_CASE): largest_over_cases,
        GroupStatistic("distance", "largest", ALL_CASES): pooled_largest,
        GroupStatistic("failure_rate", "mean", EACH_CASE): mean_fails,
        GroupStatistic("failure_rate", "largest", EACH_CASE): largest_fails,
    }


class PairDistances(NamedTuple):
    """Mean and largest absolute difference of two groups, each of shape (...)."""

    mean: FloatArray
    largest: FloatArray


def pair_distances(groups: FloatArray) -> PairDistances:
    """Computes the absolute differences of all pairs of groups.

    Args:
        groups: scores, shape (..., groups), NaN for a group without one.

    Returns:
        NaN where no two groups have scores.
    """
    total, count, largest = np.zeros((3, *groups.shape[:-1]))
    for group, other in combinations(range(groups.shape[-1]), 2):
        distance = np.abs(groups[..., group] - groups[..., other])
        is_defined = ~np.isnan(distance)
        total += np.where(is_defined, distance, 0)
        count += is_defined
        largest = np.fmax(largest, distance)
    return PairDistances(divide(total, count), np.where(count > 0, largest, np.nan))


def term_score_sums(scores: TermScores, score: str) -> Iterator[Sums]:
    """Yields the scores of terms as inputs of the permutation test, if terms can be permuted.

    Args:
        scores: the scores of the terms of a bias type.
        score: the name of the score.
    """
    if not scores.can_be_permuted:
        return
    keys = pl.DataFrame(
        {
            "measure": TERM_SCORES,
            "options": options_text(score=score),
            "bias_type": scores.bias_type,
            "group": [scores.groups[group] for group in scores.group],
            "subject": scores.terms,
            "n": scores.counts.sum(axis=0).astype(np.int64),
        }
    )
    columns = np.stack([scores.sums, scores.counts], axis=-1).transpose(1, 0, 2)
    # A unit is a case, but has the name of its template: the test needs no more of a case.
    cases = Along([str(template) for template in scores.template.tolist()], columns)
    yield Sums(keys, {"cases": cases}, compares_models=False, is_input=True)


def term_scores_from_sums(sums: Sums) -> TermScores:
    """Reads the scores of terms back from the sums of `term_score_sums`."""
    names = sums.keys["group"].to_list()
    # Terms are in the order of their groups, so first appearances are in the order of `groups`.
    groups = list(dict.fromkeys(names))
    units, columns = sums.along["cases"]
    return TermScores(
        bias_type=sums.keys["bias_type"][0],
        groups=groups,
        group=np.array([groups.index(name) for name in names]),
        sums=columns[..., 0].T,
        counts=columns[..., 1].T,
        # `term_score_sums` names a unit by its number, not by `clusters.unit_name`.
        template=np.array(units, dtype=np.int64),
        terms=sums.keys["subject"].to_list(),
    )


def with_permutation_tests(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    *,
    threshold: float,
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """Adds the results of the permutation test to the numbers of bias types, and removes the
    intervals of distances.

    Args:
        estimates: from `estimate`.
        sums: the sums of the cell, those of terms among them.
        threshold: the threshold of the failure rate by which models are compared.
        settings: how many permutations are drawn, their seed, and the clusters.

    Returns:
        The estimates, whose distances and failure rates of bias types have `null_mean`. For each of
        them a row that generalises to terms, with `null_mean` and p; it is the claim if the number
        is not among the estimates. Then `distance_corrected`, see there.
    """
    estimates = without_folded_intervals(estimates)
    rows: list[dict[str, object]] = []
    for part in sums:
        if part.keys["measure"][0] == TERM_SCORES:
            rows += permutation_rows(part, threshold, settings)
    if not rows:
        return estimates
    number_keys = ["bias_type", "measure", "options"]
    results = pl.DataFrame(rows, infer_schema_length=None)
    results = results.with_columns(generalises_to=pl.lit("terms"))
    part_keys = [key for key in ("group", "other", "subject", "template") if key in estimates]
    is_whole = pl.all_horizontal(pl.col(key).is_null() for key in part_keys)
    null_means = results.select(*number_keys, result_null_mean="null_mean")
    with_results = estimates.join(null_means, on=number_keys, how="left", maintain_order="left")
    null_mean = pl.coalesce("result_null_mean", "null_mean")
    with_null_means = with_results.with_columns(
        null_mean=pl.when(is_whole).then(null_mean).otherwise("null_mean")
    ).drop("result_null_mean")
    wholes = estimates.filter(is_whole).select(
        *number_keys, estimated_n="n", estimated_value="value"
    )
    # A number has an estimate for each scope, all with the same value.
    one_each = wholes.unique(number_keys)
    over_terms = results.join(one_each, on=number_keys, how="left", maintain_order="left")
    is_estimated = over_terms["estimated_n"].is_not_null()
    over_terms = over_terms.with_columns(
        n=pl.coalesce("estimated_n", "n"),
        value=pl.coalesce("estimated_value", "value"),
        is_claim=~is_estimated,
    ).drop("estimated_n", "estimated_value")
    corrected_rows = distance_corrected(over_terms.filter(is_estimated))
    return pl.concat([with_null_means, over_terms, corrected_rows], how="diagonal_relaxed")


def permutation_rows(
    part: Sums, threshold: float, settings: StatisticsSettings
) -> list[dict[str, object]]:
    """Tests the groups of a bias type.

    Args:
        part: scores of terms, from `term_score_sums`.
        threshold: see `with_permutation_tests`.
        settings: see `with_permutation_tests`.

    Returns:
        A row per number of `group_statistics`, empty if terms cannot be permuted. `value`,
        `null_mean` and `p` are NaN, not null, and `method` is None, for an undefined number.
    """
    scores = term_scores_from_sums(part)
    permutation = permute_groups(
        scores, threshold=threshold, most=settings.permutations, seed=settings.seed
    )
    if permutation is None:
        return []
    clusters = np.unique(cluster_positions(scores.template, settings.clusters))
    score = parse_options(part.keys["options"][0])["score"]
    method = f"permutation ({'exact' if permutation.exact else permutation.permutation_count})"
    rows = []
    for statistic, result in permutation.results.items():
        row: dict[str, object] = {
            "bias_type": scores.bias_type,
            "n": len(scores.template),
            "clusters": len(clusters),
            "measure": statistic.measure,
            "options": statistic_options(statistic, score=score, threshold=threshold),
            **result._asdict(),
            "method": None if np.isnan(result.p) else method,
        }
        rows.append(row)
    return rows


def statistic_options(statistic: GroupStatistic, *, score: str, threshold: float) -> str:
    """Returns the options of a number of the permutation test, as its measure has them."""
    if statistic.measure == "failure_rate":
        return options_text(difference=statistic.pairs, threshold=float(threshold))
    comparison = "pairwise" if statistic.pairs == "mean" else "largest"
    return options_text(
        score=score, distance="absolute", comparison=comparison, mode=statistic.mode
    )


def distance_corrected(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns distances less their mean over permutations, with the p of the permutation test.

    They have no interval: the distance is folded at 0, so noise has no two sides.

    Args:
        rows: the rows over terms of `with_permutation_tests`, without numbers that have no
            estimate.
    """
    value = (pl.col("value") - pl.col("null_mean")).fill_nan(None)
    # The rest of the reason refers to this measure.
    folded_reason, _, _ = FOLDED.partition(":")
    reason = pl.when(value.is_null()).then(pl.lit(NO_VALUE)).otherwise(pl.lit(folded_reason))
    return rows.filter(measure="distance").with_columns(
        measure=pl.lit("distance_corrected"),
        value=value,
        null_mean=pl.lit(None, pl.Float64),
        generalises_to=pl.lit(None, pl.String),
        is_claim=pl.lit(value=True),
        reason=reason,
    )


def without_folded_intervals(estimates: pl.DataFrame) -> pl.DataFrame:
    """Removes intervals of distances, which are folded at 0, and their rows over other factors."""
    is_distance = pl.col("measure") == "distance"
    is_claim = pl.col("is_claim").fill_null(value=True)
    claims = estimates.filter(~is_distance | is_claim)
    has_interval = pl.col("low").is_not_null()
    columns = []
    for name in ("low", "high", "se", "df", "method"):
        if name in claims.columns:
            without_distances = pl.when(~is_distance).then(name)
            columns.append(without_distances.cast(claims.schema[name]).alias(name))
    reason = pl.when(is_distance & has_interval).then(pl.lit(FOLDED)).otherwise("reason")
    return claims.with_columns(*columns, reason=reason)


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds the permutation tests of groups; see `with_permutation_tests`.

    Args:
        estimates: those of a cell.
        sums: its sums.
        measure_options: with `failure_threshold`.
        settings: see `with_permutation_tests`.
    """
    threshold = measure_options["failure_threshold"]
    with_tests = with_permutation_tests(estimates, sums, threshold=threshold, settings=settings)
    return CellNumbers(with_tests)


# Records from tables


def make_records(keys: pl.DataFrame, outputs: Outputs) -> Records:
    """Makes records from a table.

    Args:
        keys: for each record `case` and `template`, integers, and `bias_type`, `group` and `term`,
            names; no null.
        outputs: the outputs of the model, in the order of the table.
    """
    bias_type, bias_types = code_values(keys["bias_type"])
    group, groups = code_values(keys["group"])
    term, terms = code_values(keys["term"])
    case, template = (keys[name].to_numpy().astype(np.int64) for name in ("case", "template"))
    return Records(case, template, bias_type, group, term, bias_types, groups, terms, outputs)


def code_values(values: pl.Series) -> tuple[IntArray, list[str]]:
    """Returns the index of each value among the distinct values, and these in the order of their
    first appearance.

    Args:
        values: texts or categories, without null.
    """
    distinct = values.cast(pl.String).unique(maintain_order=True)
    codes = values.cast(pl.Enum(distinct)).to_physical()
    return codes.to_numpy().astype(np.int64), distinct.to_list()
