"""Scores and comparisons of groups as long and tidy tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.groups.combinations import check_combination, possible_combinations
from biasgrid.groups.comparisons import (
    MeanOfPairs,
    by_group,
    compare_units,
    distances_of,
    group_scores,
    with_two_groups,
)
from biasgrid.groups.distances import RATIO, measure_of_distance
from biasgrid.groups.failure_rate import case_differences, failure_rates
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Mode, Outputs, Records, Sort, Units
from biasgrid.groups.scores import SCORES, Argument, Score, ScoredRecords, score_records, takes
from biasgrid.tables.files import empty_table, means_by
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.metric import options_text

OCCURRENCE_KEYS = ["bias_type", "group", "term", "occurrence"]


def position_changes(scored: ScoredRecords, swapped: pl.DataFrame) -> pl.DataFrame:
    """Compares each case with the one in which its fillings stand in reversed order.

    The value is the mean of |s - s'| over such pairs of cases with each identity term, s and s' being the scores of
    the two. It is the positional dependence delta of Li et al. (Findings of EMNLP 2020, section 3.2) for cases: 0 for a
    model that does not care which of two things is named first.

    Args:
        scored: the records with their values of a scalar score that is one number per record.
        swapped: `case` and `swapped_case`, for the cases that have one.

    Returns:
        `COMPARISON_TYPES`: a row of `position` per bias type and one per group. `n` counts pairs with a term,
        `left_out` those without a value; there are no rows where no case has a swapped one.
    """
    records = scored.records
    table = pl.DataFrame(
        {
            "bias_type": np.array(records.bias_types)[records.bias_type],
            "group": np.array(records.groups)[records.group],
            "term": np.array(records.terms)[records.term],
            "case": records.case,
            "value": scored.values,
        }
    )
    # A part of an intersection has several records in a case, one for each term of the other parts, in one order.
    table = table.with_columns(occurrence=pl.int_range(pl.len()).over("bias_type", "group", "term", "case"))
    one_of_each = swapped.filter(pl.col("case") < pl.col("swapped_case")).cast(pl.Int64)
    pairs = (
        table.join(one_of_each, on="case", maintain_order="left")
        .join(
            table,
            left_on=[*OCCURRENCE_KEYS, "swapped_case"],
            right_on=[*OCCURRENCE_KEYS, "case"],
            suffix=" swapped",
            maintain_order="left",
        )
        .with_columns(change=(pl.col("value") - pl.col("value swapped")).abs().fill_nan(None))
    )
    summed = [
        pairs.group_by(keys, maintain_order=True)
        .agg(
            n=pl.col("change").count().cast(pl.Int64),
            left_out=pl.col("change").null_count().cast(pl.Int64),
        )
        .join(means_by(pairs, keys, "change").rename({"change": "value"}), on=keys, maintain_order="left")
        for keys in (["bias_type"], ["bias_type", "group"])
    ]
    shared = shared_columns("position", scored, EACH_CASE, distance="absolute")
    rows = pl.concat(summed, how="diagonal").to_dicts()
    return pl.DataFrame([shared | row for row in rows], schema=COMPARISON_TYPES)


def records_of(keys: pl.DataFrame, outputs: Outputs) -> Records:
    """Makes records of a table.

    Args:
        keys: of each record `case` and `template` (integers), and `bias_type`, `group` and `term` (names).
        outputs: what the model said, in the order of the table.
    """
    named = [code_values(keys[name]) for name in ("bias_type", "group", "term")]
    (bias_type, bias_types), (group, groups), (term, terms) = named
    case, template = (keys[name].to_numpy().astype(np.int64) for name in ("case", "template"))
    return Records(case, template, bias_type, group, term, bias_types, groups, terms, outputs)


def code_values(names: pl.Series) -> tuple[IntArray, list[str]]:
    """Returns names as indices into their distinct values, in the order of their first appearance."""
    distinct = names.cast(pl.String).unique(maintain_order=True)
    codes = names.cast(pl.Enum(distinct)).to_physical()
    return codes.to_numpy().astype(np.int64), distinct.to_list()


COMPARISON_COLUMNS = ("measure", "options", "bias_type", "group", "other", "value", "n", "left_out")
COMPARISON_TYPES = {name: empty_table(MEASURES).schema[name] for name in COMPARISON_COLUMNS}
"""Those of the schema `MEASURES` that tell the measures of groups apart, and what they are."""
QUARTILES = {"score_lower": 0.25, "score_upper": 0.75}
Summary = Callable[[FloatArray], Any]
"""Makes one number of several."""


def compare_groups(scored: ScoredRecords, distance: str, comparison: str, mode: Mode) -> pl.DataFrame:
    """Compares the groups of every bias type.

    With `ALL_CASES` the groups of a bias type are compared once, each with the records of all cases. With `EACH_CASE`
    they are compared in each case, and the value is the plain mean over cases. What has no value is left out of the
    mean and counted: a case whose scores sum to 0 (where divergence is undefined; BiaXposer ends with a
    ZeroDivisionError), one with fewer than two groups, and one that lacks the target asked for.

    Args:
        scored: the records with their values.
        distance: a key of `DISTANCES`.
        comparison: a key of `COMPARISONS`.
        mode: see above.

    Returns:
        `COMPARISON_TYPES`: a row of `distance` or `ratio` per bias type with null as `group`, or for the comparisons
        per group a row per group. `value` is null where all is left out; `n` counts the cases (in group mode: records)
        that are in it, `left_out` those that are not.

    Raises:
        ImpossibleCombination: see `check_combination`.
    """
    check_combination(scored.records.outputs.sort, scored.score, distance, comparison, scored.argument)
    units = scored.records.units(mode)
    values = compare_units(scored, units, distance, comparison)
    shared = shared_columns(measure_of_distance(distance), scored, mode, distance=distance, comparison=comparison)
    return unit_means(shared, scored, units, mode, values)


def score_groups(scored: ScoredRecords) -> pl.DataFrame:
    """Scores every group and every bias type with the records of all cases.

    Args:
        scored: the records with their values of a scalar score.

    Returns:
        `COMPARISON_TYPES`: a row of `score` per group and, with null as `group`, one per bias type. `n` counts the
        records that have a value, `left_out` those that have none.

    Raises:
        ValueError: the score is a set score.
    """
    units = scored.records.units(ALL_CASES)
    chosen = units.only(scored.defined)
    whole, by_group = scored.of_pools(chosen.backgrounds), group_scores(scored, chosen)
    shared = shared_columns("score", scored, ALL_CASES)
    return pl.concat(unit_means(shared, scored, units, ALL_CASES, values) for values in (whole, by_group))


def spread_of_scores(scored: ScoredRecords) -> pl.DataFrame:
    """Computes the quartiles of the scores that each group has in the cases.

    Args:
        scored: the records with their values of a scalar score.

    Returns:
        `COMPARISON_TYPES`: a row of `score_lower` and of `score_upper` per group, with the options of the group's
        `score`. `n` counts the cases that have a value, `left_out` those that have none.
    """
    units = scored.records.units(EACH_CASE)
    in_cases = group_scores(scored, units.only(scored.defined))
    return pl.concat(
        unit_means(
            shared_columns(name, scored, ALL_CASES), scored, units, EACH_CASE, in_cases, partial(np.quantile, q=q)
        )
        for name, q in QUARTILES.items()
    )


def compare_pairs(scored: ScoredRecords, distance: str, mode: Mode) -> Iterator[pl.DataFrame]:
    """Compares every pair of groups of every bias type.

    Yields:
        What `compare_groups` makes of the comparison "pairwise", and below it what it is the mean of, a
        row per pair, with `group` and `other`; values and counts as in `compare_groups`.
    """
    units = scored.records.units(mode)
    chosen = units.only(scored.defined)
    pairs = PairsOfGroups(
        units, scored.records.bias_types, mode, *(count_units(each, mode, True) for each in (units, chosen))
    )
    shared = shared_columns(measure_of_distance(distance), scored, mode, distance=distance, comparison="pairwise")
    rows, mean = [], MeanOfPairs(len(units.bias_type))
    for one, to_later in by_group(distances_of(scored, chosen, distance)):
        mean.add(to_later)
        found = sorted(pairs.summaries(one, to_later), key=itemgetter(0))
        rows += [shared | row for _, row in found]
    yield unit_means(shared, scored, units, mode, with_two_groups(mean.values(), chosen))
    yield pl.DataFrame(rows, schema=COMPARISON_TYPES)


@dataclass(frozen=True)
class PairsOfGroups:
    """Where pairs of groups are compared.

    Attributes:
        units: the units.
        bias_types: names of bias types.
        mode: what the units are.
        available: shape (units, width), what was counted of all records.
        defined: shape (units, width), what was counted of the records that have a value.
    """

    units: Units
    bias_types: Sequence[str]
    mode: Mode
    available: IntArray
    defined: IntArray

    def summaries(self, one: int, to_later: FloatArray) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields each group behind a group, with their mean distance and the counts behind it; see `summaries`.

        Args:
            one: the place of the group.
            to_later: shape (later groups, units).
        """
        for code in np.unique(self.units.bias_type):
            names, unit = self.units.group_names[code], self.units.bias_type == code
            later = range(one + 1, len(names))
            if not later:
                continue
            distances = np.ascontiguousarray(to_later[: len(later), unit])
            used = ~np.isnan(distances)
            counts = [self.counts(sizes[unit], one, later) for sizes in (self.available, self.defined)]
            n = np.where(used, counts[1], 0).sum(axis=1)
            found = zip(
                later, mean_distances(distances, used), n.tolist(), (counts[0].sum(axis=1) - n).tolist(), strict=True
            )
            for other, mean, count, left_out in found:
                row = {
                    "bias_type": self.bias_types[code],
                    "group": names[one],
                    "other": names[other],
                    "value": mean,
                    "n": count,
                    "left_out": left_out,
                }
                yield other, row

    def counts(self, sizes: IntArray, one: int, later: range) -> IntArray:
        """Returns what a group and each of some others count together, shape (others, units)."""
        # A case in which two groups are compared counts once.
        together = np.minimum if self.mode == EACH_CASE else np.add
        return np.asarray(together(sizes[:, one], sizes[:, later.start : later.stop].T))


def mean_distances(distances: FloatArray, used: BoolArray) -> list[float | None]:
    """Returns the mean of those distances in each row that are used, None where none is."""
    if used.all():
        return list(distances.mean(axis=1).tolist())
    return [float(row[chosen].mean()) if chosen.any() else None for row, chosen in zip(distances, used, strict=True)]


def unit_means(
    shared: dict[str, str],
    scored: ScoredRecords,
    units: Units,
    mode: Mode,
    values: FloatArray,
    summary: Summary = np.mean,
) -> pl.DataFrame:
    """Returns the means over units of values of shape (units,) or (units, width), or another summary."""
    available, defined = (
        count_units(each, mode, per_group=values.ndim == 2) for each in (units, units.only(scored.defined))
    )
    rows = [shared | row for row in summaries(units, scored.records.bias_types, values, available, defined, summary)]
    return pl.DataFrame(rows, schema=COMPARISON_TYPES)


def shared_columns(measure: str, scored: ScoredRecords, mode: Mode, **names: str) -> dict[str, str]:
    """Returns what all rows of a measure have in common."""
    options = options_text(score=scored.score, argument=scored.argument, mode=mode, **names)
    return {"measure": measure, "options": options}


def count_units(units: Units, mode: Mode, per_group: bool) -> IntArray:
    """Returns what `n` counts, records or cases, of each unit or of each group in it."""
    sizes = units.sizes if per_group else units.backgrounds.sizes
    return np.minimum(sizes, 1) if mode == EACH_CASE else sizes


def summaries(
    units: Units, bias_types: Any, values: FloatArray, available: IntArray, defined: IntArray, summary: Summary
) -> Iterator[dict[str, Any]]:
    """Yields the summary of the values of each bias type, or of each group in it, and the counts behind it.

    Args:
        units: the units.
        bias_types: names of bias types.
        values: shape (units,) or (units, width).
        available: what was counted of all records, shape of `values`.
        defined: what was counted of the records that have a value, shape of `values`.
        summary: makes one number of the values that there are.
    """
    for code in np.unique(units.bias_type):
        chosen = units.bias_type == code
        groups = units.group_names[code] if values.ndim == 2 else [None]
        cells = (array[chosen].reshape(np.count_nonzero(chosen), -1).T for array in (values, available, defined))
        # The width is that of the bias type with the most groups: the last columns may be of no group.
        for group, value, all_of_it, with_value in zip(groups, *cells, strict=False):
            used = ~np.isnan(value)
            n = int(with_value[used].sum())
            yield {
                "bias_type": bias_types[code],
                "group": group,
                "value": float(summary(value[used])) if used.any() else None,
                "n": n,
                "left_out": int(all_of_it.sum()) - n,
            }


MODES: tuple[Mode, ...] = (ALL_CASES, EACH_CASE)
CURVE = [step / 20 for step in range(21)]
"""Thresholds of the failure rate's curve."""


class RequestedComparison(NamedTuple):
    """A comparison that is asked for; see `combinations.check_combination`."""

    score: str
    argument: Argument
    distance: str
    comparison: str


def requested_comparisons(sort: Sort) -> list[RequestedComparison]:
    """Returns all comparisons that records of a sort allow; averages over classes are macro ones.

    Rates of a class are not among them, as nobody has said which class matters, nor ratios, which show of other scores
    what their differences show.
    """
    return [
        RequestedComparison(score, argument, distance, comparison)
        for score, distance, comparison in possible_combinations(sort)
        if takes(SCORES[score], argument := usual_argument(SCORES[score])) and distance != RATIO
    ]


def usual_argument(score: Score) -> Argument:
    """Returns what a score is given where nobody says what."""
    return "macro" if score.parameter and score.parameter.choices else None


def measure_groups(
    records: Records, asked: Sequence[Mapping[str, Any]] | None, threshold: float, swapped: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Measures the groups of a cell.

    Args:
        records: what was said of every group.
        asked: which comparisons to make, each with the fields of `Asked`; None for all that are possible.
        threshold: a threshold of the failure rate to look at besides those of `CURVE`.
        swapped: `case` and `swapped_case`, for the cases that have one; None where no cases have.

    Returns:
        The columns of the schema `MEASURES` that are of groups: their scores with quartiles, the comparisons in both
        modes, of pairwise ones each pair too, of the main score (`MAIN_SCORES`) what templates and the order of
        fillings change, and the failure rates.
    """
    sort = records.outputs.sort
    main = RequestedComparison(MAIN_SCORES[sort], None, "absolute", "pairwise")
    chosen = requested_comparisons(sort) if asked is None else [RequestedComparison(**each) for each in asked]
    wanted = list(dict.fromkeys([*chosen, main]))
    scored = {key: score_records(records, *key) for key in dict.fromkeys(each[:2] for each in wanted)}
    tables = list(group_score_tables(scored.values()))
    for each in wanted:
        tables += list(comparison_tables(scored[each[:2]], each))
    tables += list(template_tables(records, main))
    if swapped is not None:
        tables.append(position_changes(scored[main[:2]], swapped))
    tables.append(failure_rates(case_differences(records), sorted({*CURVE, threshold})))
    return pl.concat(tables, how="diagonal")


def group_score_tables(scores: Iterable[ScoredRecords]) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, with the quartiles of their scores in the cases."""
    for scored in scores:
        if SCORES[scored.score].reduce is not None:
            yield score_groups(scored)
            yield spread_of_scores(scored)


def comparison_tables(scored: ScoredRecords, asked: RequestedComparison) -> Iterator[pl.DataFrame]:
    """Yields a comparison in both modes, and if it is pairwise that of each pair."""
    for mode in MODES:
        if asked.comparison == "pairwise":
            yield from compare_pairs(scored, asked.distance, mode)
        else:
            yield compare_groups(scored, asked.distance, asked.comparison, mode)


def template_tables(records: Records, main: RequestedComparison) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, and how far they are apart in the cases, for each template."""
    for template in np.unique(records.template):
        scored = score_records(records.only(np.flatnonzero(records.template == template)), *main[:2])
        distances = compare_groups(scored, main.distance, main.comparison, EACH_CASE)
        for table in (score_groups(scored), distances):
            yield table.with_columns(pl.lit(int(template), pl.UInt16).alias("template"))
