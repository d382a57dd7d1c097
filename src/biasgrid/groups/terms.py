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
from biasgrid.stats.clusters import clusters_of_templates, number_templates
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    TEMPLATES,
    Along,
    IntervalMethod,
    Sums,
    sum_units,
)
from biasgrid.tables.metric import options_of, options_text

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
        """Which terms are of which group, shape (terms, groups)."""
        return np.asarray(self.group_of[:, None] == np.arange(len(self.groups)), dtype=np.float64)

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
        _, first, term = np.unique(
            group * len(records.terms) + records.term[rows], return_index=True, return_inverse=True
        )
        _, of_case, case = np.unique(records.case[rows], return_index=True, return_inverse=True)
        shape = (len(of_case), len(first))
        place = case * shape[1] + term
        sums, counts = (
            np.bincount(place, weights, minlength=shape[0] * shape[1])
            .reshape(shape)
            .astype(np.float64)
            for weights in (values[rows], np.ones(len(rows)))
        )
        names = [records.groups[group_code] for group_code in group_codes]
        terms = [records.terms[place] for place in records.term[rows][first]]
        yield TermScores(
            records.bias_types[code],
            names,
            group[first],
            sums,
            counts,
            records.template[rows][of_case],
            terms,
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
    template, templates = number_templates(scores.template)
    of_groups, pairs = scores.scores, list(combinations(range(len(scores.groups)), 2))
    over_templates = np.zeros((len(pairs), len(templates), 4 if of_shares else 2))
    over_terms = np.zeros((len(pairs), len(scores.group_of), 4))
    for number, (one, other) in enumerate(pairs):
        apart = of_groups[:, one] - of_groups[:, other]
        both = ~np.isnan(apart)
        means = (
            [np.where(both, of_groups[:, side], np.nan) for side in (one, other)]
            if of_shares
            else [apart]
        )
        columns = [sum_units(each, template, len(templates)).sums[0] for each in means]
        over_templates[number] = np.concatenate(columns, axis=1)
        for side, group in enumerate((one, other)):
            own = scores.group_of == group
            over_terms[number, own, 2 * side] = scores.sums[both][:, own].sum(axis=0)
            over_terms[number, own, 2 * side + 1] = scores.counts[both][:, own].sum(axis=0)
    sides = {
        name: [scores.groups[pair[side]] for pair in pairs]
        for side, name in enumerate(("group", "other"))
    }
    n = over_templates[..., 1].sum(axis=1).astype(np.int64)
    keys = pl.DataFrame(
        {
            "bias_type": [scores.bias_type] * len(pairs),
            **sides,
            "n": n,
            "left_out": [0] * len(pairs),
        }
    )
    along = {
        TEMPLATES: Along(templates, over_templates),
        PAIR_OF_LISTS: Along(scores.terms, over_terms),
    }
    finish, interval = (DIFFERENCE, OF_SHARES) if of_shares else (MEAN, PLAIN)
    claims_all = bool(np.bincount(scores.group_of).max() > 1)
    return Sums(keys, along, finish, interval, test="q", claims_all=claims_all)


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
    sizes = np.bincount(scores.group_of)
    if sizes.max() < 2 or GROUP_SEPARATOR in scores.bias_type:
        return None
    count = factorial(int(sizes.sum())) // prod(factorial(int(size)) for size in sizes)
    exact = count <= MOST_GROUP_PERMUTATIONS
    permutations = (
        all_permutations(sizes) if exact else drawn_permutations(scores.group_of, most, seed)
    )
    measured = permuted_distances(scores, scores.group_of[None], threshold)
    size = max(1, VALUES_AT_ONCE // (len(scores.sums) * len(sizes)))
    # By name: the sum of what is defined, how often it is as large as measured, and how often it is
    # defined.
    found, tried = {name: np.zeros(3) for name in measured}, 0
    for some in together(permutations, size):
        tried += len(some)
        for name, values in permuted_distances(scores, some, threshold).items():
            known = values[~np.isnan(values)]
            at_least = np.count_nonzero(known >= measured[name][0] - TOLERANCE)
            found[name] += np.array([known.sum(), at_least, len(known)])
    more = 0 if exact else 1
    numbers = {
        name: permuted_number(float(value[0]), found[name], more)
        for name, value in measured.items()
    }
    return GroupPermutation(numbers, tried, exact)


def permuted_number(value: float, found: FloatArray, more: int) -> PermutedGroups:
    """Returns what the permutation test found; nothing of NaN, which is never as large, so that p
    would be 0.
    """
    total, at_least, known = found.tolist()
    if np.isnan(value) or not known:
        return PermutedGroups(np.nan, np.nan, np.nan)
    return PermutedGroups(value, total / known, (at_least + more) / (known + more))


def all_permutations(sizes: IntArray) -> Iterator[IntArray]:
    """Yields every way to divide terms into groups of some sizes: the group of each term."""

    def divide(free: tuple[int, ...], group: int, assigned: IntArray) -> Iterator[IntArray]:
        if group == len(sizes) - 1:
            assigned[list(free)] = group
            yield assigned.copy()
            return
        for chosen in combinations(free, int(sizes[group])):
            assigned[list(chosen)] = group
            yield from divide(
                tuple(term for term in free if term not in chosen), group + 1, assigned
            )

    yield from divide(tuple(range(int(sizes.sum()))), 0, np.zeros(int(sizes.sum()), dtype=np.int64))


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
    """Returns how far groups are apart in permutations, shape (permutations,), by the names in
    `GroupPermutation`.
    """
    count = int(scores.group_of.max()) + 1
    members = np.asarray(permutations[:, :, None] == np.arange(count), dtype=np.float64)
    sums, counts = (
        np.moveaxis(np.tensordot(each, members, axes=(1, 1)), 1, 0)
        for each in (scores.sums, scores.counts)
    )
    in_cases, pooled = divide(sums, counts), divide(sums.sum(axis=1), counts.sum(axis=1))
    mean, largest = (each.round(DISTANCE_DECIMALS) for each in group_ranges(in_cases))
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
    """Returns mean and largest difference of two groups, NaN where there are no two; arrays of
    shape (..., groups).
    """
    total, count, largest = (np.zeros(groups.shape[:-1]) for _ in range(3))
    for one, other in combinations(range(groups.shape[-1]), 2):
        apart = np.abs(groups[..., one] - groups[..., other])
        known = ~np.isnan(apart)
        total += np.where(known, apart, 0)
        count += known
        largest = np.fmax(largest, apart)
    return divide(total, count), np.where(count > 0, largest, np.nan)


def sums_of_terms(scores: TermScores, score: str) -> Iterator[Sums]:
    """Yields the scores of terms as inputs of the permutation test, where there is something to
    permute.

    Args:
        scores: the scores of the terms of a bias type.
        score: the name of the score.
    """
    if np.bincount(scores.group_of).max() < 2 or GROUP_SEPARATOR in scores.bias_type:
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
    yield Sums(keys, {"cases": cases}, compared=False, is_input=True)


def terms_of_sums(sums: Sums) -> TermScores:
    """Returns the scores of terms that `sums_of_terms` was given."""
    groups = sums.keys["group"].unique(maintain_order=True).to_list()
    units, columns = sums.along["cases"]
    return TermScores(
        sums.keys["bias_type"][0],
        groups,
        np.array([groups.index(group) for group in sums.keys["group"]]),
        columns[..., 0].T,
        columns[..., 1].T,
        np.array(units, dtype=np.int64),
        sums.keys["subject"].to_list(),
    )


def with_permutation_tests(
    estimates: pl.DataFrame, sums: Sequence[Sums], threshold: float, settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds to distances and failure rates of bias types what arbitrary groups of their terms would
    give.

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
    names = ["bias_type", "measure", "options"]
    rows = []
    for each in sums:
        if each.keys["measure"][0] == TERM_SCORES:
            scores = terms_of_sums(each)
            found = permute_groups(scores, threshold, settings.permutations, settings.seed)
            if found is not None:
                score = options_of(each.keys["options"][0])["score"]
                clusters = len(np.unique(clusters_of_templates(scores.template, settings.clusters)))
                whole = {
                    "bias_type": scores.bias_type,
                    "n": len(scores.template),
                    "clusters": clusters,
                }
                rows += [{**whole, **row} for row in permutation_rows(score, found, threshold)]
    if not rows:
        return estimates
    permuted = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        generalises_to=pl.lit("terms")
    )
    of_wholes = pl.all_horizontal(
        pl.col(key).is_null()
        for key in ("group", "other", "subject", "template")
        if key in estimates.columns
    )
    null_means = permuted.select(*names, of_terms="null_mean")
    joined = estimates.join(null_means, on=names, how="left", maintain_order="left")
    known = joined.with_columns(
        null_mean=pl.when(of_wholes)
        .then(pl.coalesce("of_terms", "null_mean"))
        .otherwise("null_mean")
    ).drop("of_terms")
    # What is measured by this test alone is a claim about terms; the others are the numbers that
    # are measured.
    measured = (
        estimates.filter(of_wholes).select(*names, known_n="n", known_value="value").unique(names)
    )
    of_numbers = permuted.join(measured, on=names, how="left", maintain_order="left").with_columns(
        n=pl.coalesce("known_n", "n"),
        value=pl.coalesce("known_value", "value"),
        is_claim=pl.col("known_n").is_null(),
    )
    rows_over_terms = of_numbers.drop("known_n", "known_value")
    corrected = distance_corrected(
        of_numbers.filter(pl.col("known_n").is_not_null()).select(rows_over_terms.columns)
    )
    return pl.concat([known, rows_over_terms, corrected], how="diagonal_relaxed")


def distance_corrected(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns distances less what arbitrary groups of the same terms give, with the p of their
    permutation test.

    They have no interval: the distance is folded, and the permutation test says all that there is
    of its noise.

    Args:
        rows: rows over terms of `with_permutation_tests`, of numbers that are measured.
    """
    value = (pl.col("value") - pl.col("null_mean")).fill_nan(None)
    return rows.filter(measure="distance").with_columns(
        measure=pl.lit("distance_corrected"),
        value=value,
        null_mean=pl.lit(None, pl.Float64),
        generalises_to=pl.lit(None, pl.String),
        is_claim=pl.lit(value=True),
        reason=pl.when(value.is_null())
        .then(pl.lit(NO_VALUE))
        .otherwise(pl.lit(FOLDED.partition(":")[0])),
    )


def without_folded_intervals(estimates: pl.DataFrame) -> pl.DataFrame:
    """Takes the intervals off distances, which are folded at 0, and leaves out their rows over
    other factors.
    """
    is_distance = pl.col("measure") == "distance"
    kept = estimates.filter(~(is_distance & ~pl.col("is_claim").fill_null(value=True)))
    empty = {
        name: kept.schema[name]
        for name in ("low", "high", "se", "df", "method")
        if name in kept.columns
    }
    return kept.with_columns(
        *(pl.when(~is_distance).then(name).cast(kind).alias(name) for name, kind in empty.items()),
        reason=pl.when(is_distance & pl.col("low").is_not_null())
        .then(pl.lit(FOLDED))
        .otherwise("reason"),
    )


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds what arbitrary groups of terms would give, for families without other numbers of several
    sums.

    Args:
        estimates: those of a cell.
        sums: its sums.
        options: with `failure_threshold`.
        settings: see `with_permutation_tests`.
    """
    return CellNumbers(
        with_permutation_tests(estimates, sums, options["failure_threshold"], settings)
    )


def permutation_rows(
    score: str, permutation: GroupPermutation, threshold: float
) -> Iterator[dict[str, object]]:
    """Yields measure, options, value, null mean and p of what the permutation test found."""
    method = f"permutation ({'exact' if permutation.exact else permutation.tried})"
    for name, found in permutation.found.items():
        kind, _, where = name.partition(" ")
        if kind == "fails":
            options = options_text(difference=where.removeprefix("by "), threshold=float(threshold))
        else:
            mode = EACH_CASE if where else ALL_CASES
            options = options_text(score=score, distance="absolute", comparison=kind, mode=mode)
        measure = "failure_rate" if kind == "fails" else "distance"
        tested = None if np.isnan(found.p) else method
        yield {"measure": measure, "options": options, **found._asdict(), "method": tested}


def records_of(keys: pl.DataFrame, outputs: Outputs) -> Records:
    """Makes records of a table.

    Args:
        keys: of each record `case` and `template` (integers), and `bias_type`, `group` and `term`
            (names).
        outputs: what the model said, in the order of the table.
    """
    named = [code_values(keys[name]) for name in ("bias_type", "group", "term")]
    (bias_type, bias_types), (group, groups), (term, terms) = named
    case, template = (keys[name].to_numpy().astype(np.int64) for name in ("case", "template"))
    return Records(case, template, bias_type, group, term, bias_types, groups, terms, outputs)


def code_values(names: pl.Series) -> tuple[IntArray, list[str]]:
    """Returns names as indices into their distinct values, in the order of their first
    appearance.
    """
    distinct = names.cast(pl.String).unique(maintain_order=True)
    codes = names.cast(pl.Enum(distinct)).to_physical()
    return codes.to_numpy().astype(np.int64), distinct.to_list()
