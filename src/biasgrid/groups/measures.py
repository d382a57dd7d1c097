"""The measures of groups: scores, distances and their pairs, signed differences, failure rates,
order of fillings.

What is a mean over cases, or is made of counts, comes as sums over templates; what is made of
pooled records comes as it is, in columns of `MEASURES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.groups.combinations import check_combination, possible_combinations
from biasgrid.groups.comparisons import (
    MeanOfPairs,
    compare_units,
    distances_of,
    each_group,
    group_scores,
    with_two_groups,
)
from biasgrid.groups.confusion import AVERAGES, RATES, rate_columns, rate_of_counts
from biasgrid.groups.distances import RATIO, measure_of_distance
from biasgrid.groups.failure_rate import failure_rate
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Mode, Records, Sort, Units
from biasgrid.groups.scores import SCORES, Argument, Score, ScoredRecords, score_records, takes
from biasgrid.groups.terms import difference, right_class_difference, scores_of_terms, sums_of_terms
from biasgrid.stats.clusters import FORMAT_STEP, index_templates
from biasgrid.stats.shares import are_shares
from biasgrid.stats.sums import (
    MEAN,
    TEMPLATES,
    Along,
    Finish,
    IntervalMethod,
    Sums,
    sum_units,
    values_table,
)
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

OCCURRENCE_KEYS = ["bias_type", "group", "term", "occurrence"]
COMPARISON_TYPES = {
    "measure": pl.String,
    "options": pl.String,
    "bias_type": pl.String,
    "group": pl.String,
    "other": pl.String,
    "value": pl.Float64,
    "n": pl.Int64,
    "left_out": pl.Int64,
}
CURVE = [step / 20 for step in range(21)]
"""Thresholds of the failure rate's curve."""
POOLED = "pooled over all cases, and folded at 0"
"""Why distances of pooled records have no interval."""


FINISHES = {
    f"{name} {average}": Finish(
        f"{name} {average}", partial(rate_of_counts, rate=rate, average=average)
    )
    for name, rate in RATES.items()
    for average in AVERAGES
}
"""What makes rates of confusion counts, by their names and averages."""


def finishes(measure_options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes numbers of groups beside means, whatever the options are; see
    `families.family.Stages`.
    """
    return FINISHES


class RequestedComparison(NamedTuple):
    """A comparison that is asked for; see `combinations.check_combination`."""

    score: str
    argument: Argument
    distance: str
    comparison: str

    @property
    def scored_by(self) -> tuple[str, Argument]:
        """Score and argument, by which records are scored."""
        return self.score, self.argument


class FixedClass(NamedTuple):
    """A class of classifiers whose probability groups are compared by: its name, and its place
    among all.
    """

    name: str
    place: int


def requested_comparisons(sort: Sort) -> list[RequestedComparison]:
    """Returns all comparisons that records of a sort allow; averages over classes are macro ones.

    Rates of a class are not among them, as nobody has said which class matters, nor ratios, which
    show of other scores what their differences show.
    """
    comparisons = []
    for score, distance, comparison in possible_combinations(sort):
        argument = usual_argument(SCORES[score])
        if takes(SCORES[score], argument) and distance != RATIO:
            comparisons.append(RequestedComparison(score, argument, distance, comparison))
    return comparisons


def usual_argument(score: Score) -> Argument:
    """Returns what a score is given where nobody says what."""
    return "macro" if score.parameter and score.parameter.choices else None


def measure_groups(
    records: Records,
    asked: Sequence[Mapping[str, Any]] | None,
    threshold: float,
    swapped: pl.DataFrame | None = None,
    fixed: FixedClass | None = None,
) -> Iterator[Sums | pl.DataFrame]:
    """Measures the groups of a cell.

    Args:
        records: what was said of every group.
        asked: which comparisons to make, each with the fields of `RequestedComparison`; None for
            all that are possible.
        threshold: a threshold of the failure rate to look at besides those of `CURVE`.
        swapped: `case` and `swapped_case`, for the cases that have one; None where no cases have.
        fixed: of classifiers the class whose probability groups are compared by; without it the
            right one of each record, which an inclination to one class does not show in: it cancels
            over the classes.

    Yields:
        Their scores with quartiles, the comparisons in both modes, of pairwise ones each pair too,
        signed differences, the scores of terms that these are made of, what templates and the order
        of fillings change, and failure rates.
    """
    sort = records.outputs.sort
    main = RequestedComparison(MAIN_SCORES[sort], None, "absolute", "pairwise")
    if asked is None:
        chosen = requested_comparisons(sort)
    else:
        chosen = [RequestedComparison(**names) for names in asked]
    comparisons = list(dict.fromkeys([*chosen, main]))
    scored: dict[tuple[str, Argument], ScoredRecords] = {}
    for comparison in comparisons:
        if comparison.scored_by not in scored:
            scored[comparison.scored_by] = score_records(records, *comparison.scored_by)
    for by_score in scored.values():
        # A score of sets gives no single number for a group.
        if SCORES[by_score.score].reduce is not None:
            yield from (score(by_score), score_lower(by_score), score_upper(by_score))
    for comparison in comparisons:
        compare = ratio if comparison.distance == RATIO else distance
        for mode in (ALL_CASES, EACH_CASE):
            by_score = scored[comparison.scored_by]
            yield from compare(by_score, comparison.distance, comparison.comparison, mode)
    yield from of_single_templates(records, main)
    if swapped is not None:
        yield position(scored[main.scored_by], swapped)
    yield from failure_rate(records, sorted({*CURVE, threshold}), threshold)
    yield from signed_differences(scored[main.scored_by], fixed)


def signed_differences(main: ScoredRecords, fixed: FixedClass | None) -> Iterator[Sums]:
    """Yields the signed differences of groups, and the scores of terms that they are made of.

    Args:
        main: the records with their values of the main score.
        fixed: see `measure_groups`.
    """
    records = main.records
    options = options_text(score=main.score, mode=EACH_CASE)
    of_shares = are_shares(main.values)
    # Without a fixed class there is one difference alone, that of the main score.
    signed = difference if fixed is None else right_class_difference
    for scores in scores_of_terms(records, main.values):
        yield signed(scores, of_shares).named(signed.__name__, options)
        yield from sums_of_terms(scores, main.score)
    if fixed is not None:
        options = options_text(score=main.score, argument=fixed.name, mode=EACH_CASE)
        by_class = score_records(records, main.score, fixed.place)
        for scores in scores_of_terms(records, by_class.values):
            yield difference(scores).named("difference", options)


def score(scored: ScoredRecords) -> Sums:
    """Score of the records of a group in all cases, phi(A_g) (Czarnowska et al., TACL 2021), and of
    a bias type's.

    Args:
        scored: the records with their values of a scalar score.

    Returns:
        A number for each bias type and, behind it, for each of its groups. `n` counts the records
        that have a value, `left_out` those that have none.

    Raises:
        ValueError: the score is a set score.
    """
    if SCORES[scored.score].reduce is None:
        raise ValueError(
            f"{scored.score} gives no single number for a pool; expected a scalar score"
        )
    records, units = scored.records, scored.records.units(ALL_CASES)
    bias_types: list[str] = []
    groups: list[str | None] = []
    starts = []
    for code in units.bias_type:
        starts.append(len(groups))
        # The bias type as a whole stands before its groups.
        own = [None, *units.group_names[code]]
        bias_types += [records.bias_types[code]] * len(own)
        groups += own
    whole = np.array(starts)[units.unit]
    # Each record counts in two numbers: that of its bias type, and that of its group.
    numbers = np.stack([whole, whole + 1 + units.place])
    template, templates = index_templates(records.template)
    finish, columns = columns_of_score(scored)
    sums = np.zeros((len(groups), len(templates), columns.shape[1]))
    known = numbers[:, scored.defined]
    for number in known:
        place = number * len(templates) + template[scored.defined]
        for column in range(columns.shape[1]):
            added = np.bincount(place, columns[:, column], minlength=sums[..., 0].size)
            sums[..., column] += added.reshape(sums.shape[:2])
    n = np.bincount(known.ravel(), minlength=len(sums))
    records_of_numbers = np.bincount(numbers.ravel(), minlength=len(sums))
    keys = pl.DataFrame(
        {
            "bias_type": bias_types,
            "group": pl.Series(groups, dtype=pl.String),
            "n": n,
            "left_out": records_of_numbers - n,
        }
    )
    is_share = finish is MEAN and are_shares(scored.known)
    interval: IntervalMethod = "effective Wilson" if is_share else "t"
    along = {TEMPLATES: Along(templates, sums)}
    unnamed = Sums(keys, along, finish=finish, interval=interval, compares_models=False)
    names = shared_columns("score", scored, ALL_CASES)
    return unnamed.named(names["measure"], names["options"])


def columns_of_score(scored: ScoredRecords) -> tuple[Finish, FloatArray]:
    """Returns what makes a score of sums, and what each record that has a value adds to them."""
    if scored.values.ndim == 2:
        return FINISHES[f"{scored.score} {scored.argument}"], rate_columns(scored.known)
    return MEAN, np.stack([scored.known, np.ones(len(scored.known))], axis=1)


def score_lower(scored: ScoredRecords) -> pl.DataFrame:
    """Lower quartile of the scores that a group has in the cases.

    Args:
        scored: the records with their values of a scalar score.

    Returns:
        `COMPARISON_TYPES`: a row per group, with the options of the group's `score`. `n` counts the
        cases that have a value, `left_out` those that have none.
    """
    return quartile(scored, "score_lower", 0.25)


def score_upper(scored: ScoredRecords) -> pl.DataFrame:
    """Upper quartile of the scores that a group has in the cases; see `score_lower`."""
    return quartile(scored, "score_upper", 0.75)


def quartile(scored: ScoredRecords, measure: str, share: float) -> pl.DataFrame:
    """Returns a quantile of the scores in the cases, by group.

    Args:
        scored: the records with their values.
        measure: the name of the measure.
        share: the share of cases with a smaller score.
    """
    units = scored.records.units(EACH_CASE)
    in_cases = group_scores(scored, units.only(scored.defined))
    shared = shared_columns(measure, scored, ALL_CASES)
    rows = []
    for number in values_by_group(scored, units, EACH_CASE, in_cases):
        value = float(np.quantile(number.known, share)) if len(number.known) else None
        rows.append({**shared, **number.row, "value": value})
    return pl.DataFrame(rows, schema=COMPARISON_TYPES)


def distance(
    scored: ScoredRecords, of: str, comparison: str, mode: Mode
) -> Iterator[Sums | pl.DataFrame]:
    """Distance of the scores of groups, d(phi(A_i), phi(A_j)) (Czarnowska et al., TACL 2021); see
    `comparisons`.

    With `ALL_CASES` the groups of a bias type are compared once, each with the records of all
    cases. With `EACH_CASE` they are compared in each case, and the value is the plain mean over
    cases. What has no value is left out of the mean and counted: a case whose scores sum to 0
    (where divergence is undefined; BiaXposer ends with a ZeroDivisionError), one with fewer than
    two groups, and one that lacks the target asked for.

    Args:
        scored: the records with their values.
        of: a key of `DISTANCES`.
        comparison: a key of `COMPARISONS`.
        mode: see above.

    Yields:
        A number per bias type with null as `group`, or for the comparisons per group a number per
        group; of pairwise comparisons also one per pair. `n` counts the cases (in group mode:
        records) that are in it, `left_out` those that are not.

    Raises:
        ImpossibleCombination: see `check_combination`.
    """
    records = scored.records
    check_combination(records.outputs.sort, scored.score, of, comparison, scored.argument)
    measure = measure_of_distance(of)
    shared = shared_columns(measure, scored, mode, distance=of, comparison=comparison)
    units = records.units(mode)
    of_pairs: list[ValuesOfUnits] = []
    if comparison == "pairwise":
        defined = units.only(scored.defined)
        mean_of_pairs = MeanOfPairs(len(units.bias_type))
        for one, to_later in each_group(distances_of(scored, defined, of)):
            mean_of_pairs.add(to_later)
            of_pairs += values_by_pair(scored, units, mode, one, to_later)
        values = with_two_groups(mean_of_pairs.values(), defined)
    else:
        values = compare_units(scored, units, of, comparison)
    of_groups = list(values_by_group(scored, units, mode, values))
    yield numbers_of(of_groups, shared, mode, records)
    if of_pairs:
        yield numbers_of(of_pairs, shared, mode, records)


def ratio(
    scored: ScoredRecords, of: str, comparison: str, mode: Mode
) -> Iterator[Sums | pl.DataFrame]:
    """The smaller of two groups' scores divided by the larger; otherwise as `distance`."""
    yield from distance(scored, of, comparison, mode)


class ValuesOfUnits(NamedTuple):
    """What a number is the mean of.

    Attributes:
        row: `bias_type`, `group`, `other`, `n` and `left_out`.
        values: shape (units,), NaN where a unit has none.
        first_record: shape (units,), a record of each unit.
    """

    row: dict[str, Any]
    values: FloatArray
    first_record: IntArray

    @property
    def known(self) -> FloatArray:
        """The values that there are."""
        return self.values[~np.isnan(self.values)]


def values_by_group(
    scored: ScoredRecords, units: Units, mode: Mode, values: FloatArray
) -> Iterator[ValuesOfUnits]:
    """Yields the values of each bias type, or of each group in it.

    Args:
        scored: the records.
        units: their units.
        mode: what the units are.
        values: shape (units,) or (units, width).
    """
    per_group = values.ndim == 2
    available = count_units(units, mode, per_group)
    defined = count_units(units.only(scored.defined), mode, per_group)
    for code in np.unique(units.bias_type):
        is_own = units.bias_type == code
        groups = units.group_names[code] if per_group else [None]
        own_units = np.count_nonzero(is_own)
        own_values, own_available, own_defined = (
            array[is_own].reshape(own_units, -1).T for array in (values, available, defined)
        )
        # The width is that of the bias type with the most groups: the last columns may be of no
        # group.
        for place, group in enumerate(groups):
            value = own_values[place]
            n = int(own_defined[place][~np.isnan(value)].sum())
            row = {
                "bias_type": scored.records.bias_types[code],
                "group": group,
                "other": None,
                "n": n,
                "left_out": int(own_available[place].sum()) - n,
            }
            yield ValuesOfUnits(row, value, units.first_record[is_own])


def values_by_pair(
    scored: ScoredRecords, units: Units, mode: Mode, one: int, to_later: FloatArray
) -> list[ValuesOfUnits]:
    """Returns the distances of a group to each group behind it, in the order of these.

    Args:
        scored: the records.
        units: their units.
        mode: what the units are.
        one: the place of the group.
        to_later: shape (later groups, units).
    """
    available = count_units(units, mode, per_group=True)
    defined = count_units(units.only(scored.defined), mode, per_group=True)
    # A case in which two groups are compared counts once.
    together = np.minimum if mode == EACH_CASE else np.add
    by_other: dict[int, list[ValuesOfUnits]] = {}
    for code in np.unique(units.bias_type):
        names, is_own = units.group_names[code], units.bias_type == code
        for other in range(one + 1, len(names)):
            value = to_later[other - one - 1, is_own]
            all_units = together(available[is_own, one], available[is_own, other])
            with_value = together(defined[is_own, one], defined[is_own, other])
            n = int(with_value[~np.isnan(value)].sum())
            row = {
                "bias_type": scored.records.bias_types[code],
                "group": names[one],
                "other": names[other],
                "n": n,
                "left_out": int(all_units.sum()) - n,
            }
            number = ValuesOfUnits(row, value, units.first_record[is_own])
            by_other.setdefault(other, []).append(number)
    return [number for other in sorted(by_other) for number in by_other[other]]


def numbers_of(
    numbers: Sequence[ValuesOfUnits], shared: Mapping[str, str], mode: Mode, records: Records
) -> Sums | pl.DataFrame:
    """Returns means over cases as sums over templates, and distances of pooled records as rows.

    Args:
        numbers: what each number is the mean of.
        shared: `measure` and `options`.
        mode: what the units of the numbers are.
        records: the records.
    """
    if mode == ALL_CASES:
        rows = []
        for number in numbers:
            value = float(number.known.mean()) if len(number.known) else None
            rows.append({**shared, **number.row, "value": value})
        pooled = pl.DataFrame(rows, schema=COMPARISON_TYPES)
        return pooled.with_columns(reason=pl.lit(POOLED))
    template, templates = index_templates(records.template)
    sums = []
    for number in numbers:
        own_template = template[number.first_record]
        sums.append(sum_units(number.values, own_template, len(templates)).sums)
    types = {name: kind for name, kind in COMPARISON_TYPES.items() if name in numbers[0].row}
    keys = pl.DataFrame([number.row for number in numbers], schema=types)
    along = {TEMPLATES: Along(templates, np.concatenate(sums))}
    unnamed = Sums(keys, along, interval="t", compares_models=False)
    return unnamed.named(shared["measure"], shared["options"])


def shared_columns(measure: str, scored: ScoredRecords, mode: Mode, **names: str) -> dict[str, str]:
    """Returns what all numbers of a measure have in common."""
    options = options_text(score=scored.score, argument=scored.argument, mode=mode, **names)
    return {"measure": measure, "options": options}


def count_units(units: Units, mode: Mode, per_group: bool) -> IntArray:
    """Returns what `n` counts, records or cases, of each unit or of each group in it."""
    sizes = units.sizes if per_group else units.backgrounds.sizes
    return np.minimum(sizes, 1) if mode == EACH_CASE else sizes


def of_single_templates(records: Records, main: RequestedComparison) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, and how far they are apart in the cases, for each template."""
    templates = records.template % FORMAT_STEP
    for template in np.unique(templates):
        own_records = records.only(np.flatnonzero(templates == template))
        scored = score_records(own_records, *main.scored_by)
        in_cases, *_ = distance(scored, main.distance, main.comparison, EACH_CASE)
        for numbers in (score(scored), in_cases):
            yield values_table([numbers]).with_columns(
                template=pl.lit(int(template), pl.UInt16), reason=pl.lit("one template")
            )


def position(scored: ScoredRecords, swapped: pl.DataFrame) -> pl.DataFrame:
    """Mean of |s - s'| over pairs of a case and that with its fillings reversed, with each identity
    term.

    It is the positional dependence delta of Li et al. (Findings of EMNLP 2020, section 3.2) for
    cases: 0 for a model that does not care which of two things is named first.

    Args:
        scored: the records with their values of a scalar score that is one number per record.
        swapped: `case` and `swapped_case`, for the cases that have one.

    Returns:
        `COMPARISON_TYPES`: a row of `position` per bias type and one per group. `n` counts pairs
        with a term, `left_out` those without a value; there are no rows where no case has a swapped
        one.
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
    # A part of an intersection has several records in a case, one for each term of the other parts,
    # in one order.
    occurrence = pl.int_range(pl.len()).over("bias_type", "group", "term", "case")
    table = table.with_columns(occurrence=occurrence)
    # Each pair of cases is in the table in both orders.
    pairs_of_cases = swapped.filter(pl.col("case") < pl.col("swapped_case")).cast(pl.Int64)
    with_swapped = table.join(pairs_of_cases, on="case", maintain_order="left")
    pairs = with_swapped.join(
        table,
        left_on=[*OCCURRENCE_KEYS, "swapped_case"],
        right_on=[*OCCURRENCE_KEYS, "case"],
        suffix=" swapped",
        maintain_order="left",
    )
    change = (pl.col("value") - pl.col("value swapped")).abs().fill_nan(None)
    pairs = pairs.with_columns(change=change)
    tables = [changes_by(pairs, keys) for keys in (["bias_type"], ["bias_type", "group"])]
    shared = shared_columns("position", scored, EACH_CASE, distance="absolute")
    rows = pl.concat(tables, how="diagonal").to_dicts()
    return pl.DataFrame([shared | row for row in rows], schema=COMPARISON_TYPES)


def changes_by(pairs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the mean change of pairs of cases by keys, with `n` and `left_out`.

    Args:
        pairs: `change`, null where it is not known, and the keys.
        keys: the columns by which to average.
    """
    change = pl.col("change")
    counts = pairs.group_by(keys, maintain_order=True).agg(
        n=change.count().cast(pl.Int64), left_out=change.null_count().cast(pl.Int64)
    )
    means = means_by(pairs, keys, "change").rename({"change": "value"})
    return counts.join(means, on=keys, maintain_order="left")
