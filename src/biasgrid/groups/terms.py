"""The scores of each term in each case, of one bias type, and the permutation test of its groups.

The terms are assigned to groups at random once for all cases. If they were assigned anew in every
case, words that merely differ would pass for groups that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Outputs, Records
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
"""What the inputs of the permutation test are called in the table of sums."""


@dataclass(frozen=True)
class TermScores:
    """The scores of the terms of a bias type.

    Attributes:
        bias_type: its name.
        groups: the names of its groups.
        group_of: shape (terms,), the group of each term.
        sums: shape (cases, terms), the sum of the scores of a term in a case.
        counts: shape (cases, terms), how many scores there are: usually one.
        template: shape (cases,), the template of each case.
        terms: the names of the terms.
    """

    bias_type: str
    groups: Sequence[str]
    group_of: IntArray
    sums: FloatArray
    counts: FloatArray
    template: IntArray
    terms: Sequence[str]

    @property
    def members(self) -> FloatArray:
        """Membership of terms in groups, 0 or 1, shape (terms, groups)."""
        groups = np.arange(len(self.groups))
        return np.asarray(self.group_of[:, None] == groups, dtype=np.float64)

    @property
    def can_be_permuted(self) -> bool:
        """Whether terms may be assigned to other groups.

        Terms of intersections are not free, and groups of one term each have nothing to
        exchange.
        """
        has_several = bool(np.bincount(self.group_of).max() > 1)
        return has_several and GROUP_SEPARATOR not in self.bias_type

    @property
    def scores(self) -> FloatArray:
        """The mean score of each group in each case, shape (cases, groups), NaN where there is
        none.
        """
        return divide(self.sums @ self.members, self.counts @ self.members)


def scores_of_terms(records: Records, values: FloatArray) -> Iterator[TermScores]:
    """Yields the scores of each bias type that has several groups.

    Args:
        records: the records.
        values: shape (records,), their scores, NaN where there is none.
    """
    known = ~np.isnan(values)
    for code in np.unique(records.bias_type):
        rows = np.flatnonzero((records.bias_type == code) & known)
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
        counts = np.bincount(place, minlength=size).astype(np.float64)
        yield TermScores(
            records.bias_types[code],
            [records.groups[group_code] for group_code in group_codes],
            group[first_of_term],
            sums.reshape(shape).astype(np.float64),
            counts.reshape(shape),
            records.template[rows][first_of_case],
            [records.terms[number] for number in records.term[rows][first_of_term]],
        )


OF_SHARES: IntervalMethod = "difference of shares"
PLAIN: IntervalMethod = "t"
"""How intervals of differences are made."""


def difference(scores: TermScores, of_shares: bool = False) -> Sums:
    """Mean over cases of one group's score less another's, over templates and, unless each group
    has one, terms.

    Args:
        scores: the scores of the terms of a bias type.
        of_shares: whether the means of scores are shares, whose differences have an interval of
            their own.
    """
    template, templates = index_templates(scores.template)
    pairs = list(combinations(range(len(scores.groups)), 2))
    over_templates = np.zeros((len(pairs), len(templates), 4 if of_shares else 2))
    over_terms = np.zeros((len(pairs), len(scores.group_of), 4))
    by_group = scores.scores
    for number, (one, other) in enumerate(pairs):
        apart = by_group[:, one] - by_group[:, other]
        # Only cases that have both groups count.
        has_both = ~np.isnan(apart)
        means = [apart]
        if of_shares:
            means = [np.where(has_both, by_group[:, group], np.nan) for group in (one, other)]
        columns = [sum_units(values, template, len(templates)).sums[0] for values in means]
        over_templates[number] = np.concatenate(columns, axis=1)
        for column, group in ((0, one), (2, other)):
            is_own = scores.group_of == group
            own_sums = scores.sums[has_both][:, is_own].sum(axis=0)
            own_counts = scores.counts[has_both][:, is_own].sum(axis=0)
            over_terms[number, is_own, column] = own_sums
            over_terms[number, is_own, column + 1] = own_counts
    keys = pl.DataFrame(
        {
            "bias_type": [scores.bias_type] * len(pairs),
            "group": [scores.groups[one] for one, _ in pairs],
            "other": [scores.groups[other] for _, other in pairs],
            "n": over_templates[..., 1].sum(axis=1).astype(np.int64),
            "left_out": [0] * len(pairs),
        }
    )
    along = {
        TEMPLATES: Along(templates, over_templates),
        PAIR_OF_LISTS: Along(scores.terms, over_terms),
    }
    finish, interval = (DIFFERENCE, OF_SHARES) if of_shares else (MEAN, PLAIN)
    has_groups_of_terms = bool(np.bincount(scores.group_of).max() > 1)
    return Sums(
        keys,
        along,
        finish=finish,
        interval=interval,
        test=SignificanceTest.CORRECTED,
        generalises_to_all_factors=has_groups_of_terms,
    )


def right_class_difference(scores: TermScores, of_shares: bool = False) -> Sums:
    """Mean over cases of the probability of the right class for one group less that for another;
    see `difference`.
    """
    return difference(scores, of_shares)


MOST_GROUP_PERMUTATIONS = 20_000
DISTANCE_DECIMALS = 12
"""What is 0.2 but for rounding is not larger than 0.2."""
FOLDED = "folded at 0, where noise alone puts it above 0: see distance_corrected"
"""Why distances have no interval."""
NO_VALUE = "no value"
GROUP_SEPARATOR = " & "
"""Stands in the names of intersections, whose terms are not free to be permuted."""


class PermutedGroups(NamedTuple):
    """What the permutation test found of a number.

    Attributes:
        value: the number.
        null_mean: its mean over the permutations in which it is defined.
        p: the share of these in which it is at least as large.

    All are NaN where it is not defined itself.
    """

    value: float
    null_mean: float
    p: float


class GroupPermutation(NamedTuple):
    """What the permutation test found of a bias type.

    Attributes:
        found: by name: `pairwise in cases`, `pairwise`, `largest in cases`, `largest`, and of a
            threshold the share of cases whose mean (`fails by mean`) or largest (`fails by
            largest`) difference is beyond it.
        tried: how many permutations there were.
        exact: whether these are all.
    """

    found: Mapping[str, PermutedGroups]
    tried: int
    exact: bool


def permute_groups(
    scores: TermScores, threshold: float, most: int, seed: int
) -> GroupPermutation | None:
    """Assigns the terms of a bias type at random to groups of the same sizes.

    Args:
        scores: the scores of its terms.
        threshold: from what difference on a case fails.
        most: how many permutations are drawn where there are too many to try all.
        seed: seed of what is drawn.

    Returns:
        None where there is nothing to deal: groups of one term each, and intersections.
    """
    if not scores.can_be_permuted:
        return None
    sizes = np.bincount(scores.group_of)
    count = factorial(int(sizes.sum())) // prod(factorial(int(size)) for size in sizes)
    exact = count <= MOST_GROUP_PERMUTATIONS
    if exact:
        permutations = all_permutations(sizes)
    else:
        permutations = drawn_permutations(scores.group_of, most, seed)
    measured = {}
    for name, values in permuted_distances(scores, scores.group_of[None], threshold).items():
        measured[name] = float(values[0])
    # By name: the sum of what is defined, how often it is as large as measured, and how often it is
    # defined.
    totals, tried = {name: np.zeros(3) for name in measured}, 0
    size = max(1, VALUES_AT_ONCE // (len(scores.sums) * len(sizes)))
    for some in together(permutations, size):
        tried += len(some)
        for name, values in permuted_distances(scores, some, threshold).items():
            known = values[~np.isnan(values)]
            at_least = np.count_nonzero(known >= measured[name] - TOLERANCE)
            totals[name] += np.array([known.sum(), at_least, len(known)])
    # Of drawn permutations the measured groups are one more.
    more = 0 if exact else 1
    numbers = {name: permuted_number(value, totals[name], more) for name, value in measured.items()}
    return GroupPermutation(numbers, tried, exact)


def permuted_number(value: float, totals: FloatArray, more: int) -> PermutedGroups:
    """Returns the result of the permutation test for a number.

    All of it is NaN if the number is: NaN is never as large, so that p would be 0.

    Args:
        value: the number as measured.
        totals: over permutations in which it is defined its sum, how often it is as large as
            measured, and their count.
        more: how many permutations are counted besides.
    """
    total, at_least, known = totals.tolist()
    if np.isnan(value) or not known:
        return PermutedGroups(np.nan, np.nan, np.nan)
    return PermutedGroups(value, total / known, (at_least + more) / (known + more))


def all_permutations(sizes: IntArray) -> Iterator[IntArray]:
    """Yields every way to divide terms into groups of some sizes: the group of each term."""

    def assign(free: tuple[int, ...], group: int, group_of: IntArray) -> Iterator[IntArray]:
        if group == len(sizes) - 1:
            group_of[list(free)] = group
            yield group_of.copy()
            return
        for chosen in combinations(free, int(sizes[group])):
            group_of[list(chosen)] = group
            others = tuple(term for term in free if term not in chosen)
            yield from assign(others, group + 1, group_of)

    terms = int(sizes.sum())
    yield from assign(tuple(range(terms)), 0, np.zeros(terms, dtype=np.int64))


def drawn_permutations(group_of: IntArray, count: int, seed: int) -> Iterator[IntArray]:
    """Yields random ways to divide terms into groups."""
    random = np.random.default_rng(seed)
    yield from (random.permutation(group_of) for _ in range(count))


def together(permutations: Iterator[IntArray], size: int) -> Iterator[IntArray]:
    """Yields permutations some at a time, shape (permutations, terms)."""
    waiting: list[IntArray] = []
    for permutation in permutations:
        waiting.append(permutation)
        if len(waiting) == size:
            yield np.stack(waiting)
            waiting = []
    if waiting:
        yield np.stack(waiting)


def permuted_distances(
    scores: TermScores, permutations: IntArray, threshold: float
) -> dict[str, FloatArray]:
    """Returns the distances of groups in permutations, by the names in `GroupPermutation`.

    Each has the shape (permutations,).
    """
    groups = np.arange(int(scores.group_of.max()) + 1)
    members = np.asarray(permutations[:, :, None] == groups, dtype=np.float64)
    # Shape (permutations, cases, groups).
    sums, counts = (
        np.moveaxis(np.tensordot(terms, members, axes=(1, 1)), 1, 0)
        for terms in (scores.sums, scores.counts)
    )
    mean, largest = group_ranges(divide(sums, counts))
    mean, largest = mean.round(DISTANCE_DECIMALS), largest.round(DISTANCE_DECIMALS)
    pooled = divide(sums.sum(axis=1), counts.sum(axis=1))
    mean_pooled, largest_pooled = group_ranges(pooled)
    compared = ~np.isnan(mean)
    cases = compared.sum(axis=1)
    return {
        "pairwise in cases": divide(np.where(compared, mean, 0).sum(axis=1), cases),
        "pairwise": mean_pooled,
        "largest in cases": divide(np.where(compared, largest, 0).sum(axis=1), cases),
        "largest": largest_pooled,
        "fails by mean": divide((mean > threshold).sum(axis=1), cases),
        "fails by largest": divide((largest > threshold).sum(axis=1), cases),
    }


def group_ranges(groups: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns mean and largest difference of two groups, shape (...); NaN where there are no two.

    The argument has the shape (..., groups).
    """
    total, count, largest = np.zeros((3, *groups.shape[:-1]))
    for one, other in combinations(range(groups.shape[-1]), 2):
        apart = np.abs(groups[..., one] - groups[..., other])
        known = ~np.isnan(apart)
        total += np.where(known, apart, 0)
        count += known
        largest = np.fmax(largest, apart)
    return divide(total, count), np.where(count > 0, largest, np.nan)


def sums_of_terms(scores: TermScores, score: str) -> Iterator[Sums]:
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
            "group": [scores.groups[group] for group in scores.group_of],
            "subject": scores.terms,
            "n": scores.counts.sum(axis=0).astype(np.int64),
        }
    )
    columns = np.stack([scores.sums, scores.counts], axis=-1).transpose(1, 0, 2)
    cases = Along([str(template) for template in scores.template.tolist()], columns)
    yield Sums(keys, {"cases": cases}, compares_models=False, is_input=True)


def terms_of_sums(sums: Sums) -> TermScores:
    """Returns the scores of terms that `sums_of_terms` was given."""
    names = sums.keys["group"].to_list()
    groups = list(dict.fromkeys(names))
    units, columns = sums.along["cases"]
    return TermScores(
        bias_type=sums.keys["bias_type"][0],
        groups=groups,
        group_of=np.array([groups.index(name) for name in names]),
        sums=columns[..., 0].T,
        counts=columns[..., 1].T,
        template=np.array(units, dtype=np.int64),
        terms=sums.keys["subject"].to_list(),
    )


def with_permutation_tests(
    estimates: pl.DataFrame, sums: Sequence[Sums], threshold: float, settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds to distances and failure rates of bias types the result of their permutation test.

    The test assigns terms to arbitrary groups.

    Args:
        estimates: from `estimate`.
        sums: the sums of the cell, those of terms among them.
        threshold: from what difference on a case fails.
        settings: how many permutations are drawn, their seed, and the clusters.

    Returns:
        The estimates with `null_mean`, and rows over terms with `null_mean` and p;
        `distance_corrected`, a distance less its null mean with that p, of distances that are
        measured; and none of the distances with an interval.
    """
    estimates = without_folded_intervals(estimates)
    rows: list[dict[str, object]] = []
    for part in sums:
        if part.keys["measure"][0] == TERM_SCORES:
            rows += rows_of_permutation(part, threshold, settings)
    if not rows:
        return estimates
    number = ["bias_type", "measure", "options"]
    permuted = pl.DataFrame(rows, infer_schema_length=None)
    permuted = permuted.with_columns(generalises_to=pl.lit("terms"))
    part_keys = [key for key in ("group", "other", "subject", "template") if key in estimates]
    is_whole = pl.all_horizontal(pl.col(key).is_null() for key in part_keys)
    null_means = permuted.select(*number, of_terms="null_mean")
    joined = estimates.join(null_means, on=number, how="left", maintain_order="left")
    null_mean = pl.when(is_whole).then(pl.coalesce("of_terms", "null_mean")).otherwise("null_mean")
    with_null_means = joined.with_columns(null_mean=null_mean).drop("of_terms")
    # What is measured by this test alone is a claim about terms; the others are the numbers that
    # are measured.
    wholes = estimates.filter(is_whole).select(*number, known_n="n", known_value="value")
    known = permuted.join(wholes.unique(number), on=number, how="left", maintain_order="left")
    is_measured = known["known_n"].is_not_null()
    over_terms = known.with_columns(
        n=pl.coalesce("known_n", "n"),
        value=pl.coalesce("known_value", "value"),
        is_claim=~is_measured,
    ).drop("known_n", "known_value")
    corrected = distance_corrected(over_terms.filter(is_measured))
    return pl.concat([with_null_means, over_terms, corrected], how="diagonal_relaxed")


def rows_of_permutation(
    part: Sums, threshold: float, settings: StatisticsSettings
) -> list[dict[str, object]]:
    """Returns rows over terms of a bias type; none where its terms cannot be permuted.

    Args:
        part: scores of terms, from `sums_of_terms`.
        threshold: from what difference on a case fails.
        settings: see `with_permutation_tests`.
    """
    scores = terms_of_sums(part)
    permutation = permute_groups(scores, threshold, settings.permutations, settings.seed)
    if permutation is None:
        return []
    clusters = np.unique(cluster_positions(scores.template, settings.clusters))
    shared: dict[str, object] = {
        "bias_type": scores.bias_type,
        "n": len(scores.template),
        "clusters": len(clusters),
    }
    score = parse_options(part.keys["options"][0])["score"]
    return [shared | row for row in permutation_rows(score, permutation, threshold)]


def distance_corrected(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns distances less their mean over permutations, with the p of the permutation test.

    They have no interval: the distance is folded, and the permutation test says all that there is
    of its noise.

    Args:
        rows: rows over terms of `with_permutation_tests`, of numbers that are measured.
    """
    value = (pl.col("value") - pl.col("null_mean")).fill_nan(None)
    folded, _, _ = FOLDED.partition(":")
    reason = pl.when(value.is_null()).then(pl.lit(NO_VALUE)).otherwise(pl.lit(folded))
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
    kept = estimates.filter(~is_distance | is_claim)
    has_interval = pl.col("low").is_not_null()
    emptied = []
    for name in ("low", "high", "se", "df", "method"):
        if name in kept.columns:
            without = pl.when(~is_distance).then(name)
            emptied.append(without.cast(kept.schema[name]).alias(name))
    reason = pl.when(is_distance & has_interval).then(pl.lit(FOLDED)).otherwise("reason")
    return kept.with_columns(*emptied, reason=reason)


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds permutation tests, for families without other numbers of several sums.

    Args:
        estimates: those of a cell.
        sums: its sums.
        measure_options: with `failure_threshold`.
        settings: see `with_permutation_tests`.
    """
    threshold = measure_options["failure_threshold"]
    return CellNumbers(with_permutation_tests(estimates, sums, threshold, settings))


def permutation_rows(
    score: str, permutation: GroupPermutation, threshold: float
) -> Iterator[dict[str, object]]:
    """Yields measure, options, value, null mean and p of each number of a permutation test."""
    method = f"permutation ({'exact' if permutation.exact else permutation.tried})"
    for name, number in permutation.found.items():
        kind, _, where = name.partition(" ")
        if kind == "fails":
            measure, side = "failure_rate", where.removeprefix("by ")
            options = options_text(difference=side, threshold=float(threshold))
        else:
            measure, mode = "distance", EACH_CASE if where else ALL_CASES
            options = options_text(score=score, distance="absolute", comparison=kind, mode=mode)
        tested = None if np.isnan(number.p) else method
        yield {"measure": measure, "options": options, **number._asdict(), "method": tested}


def records_of(keys: pl.DataFrame, outputs: Outputs) -> Records:
    """Makes records of a table.

    Args:
        keys: of each record `case` and `template` (integers), and `bias_type`, `group` and `term`
            (names).
        outputs: what the model said, in the order of the table.
    """
    bias_type, bias_types = code_values(keys["bias_type"])
    group, groups = code_values(keys["group"])
    term, terms = code_values(keys["term"])
    case, template = (keys[name].to_numpy().astype(np.int64) for name in ("case", "template"))
    return Records(case, template, bias_type, group, term, bias_types, groups, terms, outputs)


def code_values(names: pl.Series) -> tuple[IntArray, list[str]]:
    """Returns names as indices into their distinct values, in the order of their first
    appearance.
    """
    distinct = names.cast(pl.String).unique(maintain_order=True)
    codes = names.cast(pl.Enum(distinct)).to_physical()
    return codes.to_numpy().astype(np.int64), distinct.to_list()
