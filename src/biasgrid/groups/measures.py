"""The measures of groups: scores, distances and their pairs, signed differences, failure rates,
order of fillings.

Means over cases, and numbers from counts, are sums over templates. Numbers of pooled records are
tables in columns of `MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.groups.combinations import check_combination, possible_combinations
from biasgrid.groups.comparisons import (
    PER_GROUP,
    GroupDistances,
    MeanOfPairs,
    compare_units,
    group_scores,
    list_distances,
    make_distances,
)
from biasgrid.groups.confusion import AVERAGES, RATES, rate_from_counts
from biasgrid.groups.distances import RATIO, distance_measure
from biasgrid.groups.failure_rate import failure_rate
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import (
    ALL_CASES,
    EACH_CASE,
    ComparisonUnits,
    OutputType,
    PoolingMode,
    Records,
)
from biasgrid.groups.scores import (
    SCORES,
    Argument,
    Score,
    ScoredRecords,
    accepts_argument,
    score_records,
)
from biasgrid.groups.terms import difference, term_score_sums, term_scores
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
"""Columns of tables of numbers without intervals."""
CURVE = [step / 20 for step in range(21)]
"""Thresholds of the failure rate's curve."""
POOLED_REASON = "pooled over all cases, and folded at 0"
"""Why distances of pooled records have no interval."""


RATE_FINISHES = {
    f"{name} {average}": Finish(
        f"{name} {average}", partial(rate_from_counts, rate=rate, average=average)
    )
    for name, rate in RATES.items()
    for average in AVERAGES
}
"""The functions that compute rates from confusion counts, by the names of rate and average."""


def finishes(measure_options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns the finishes of group measures other than the mean; see `families.family.Stages`."""
    return RATE_FINISHES


class RequestedComparison(NamedTuple):
    """A comparison to compute; see `combinations.check_combination`."""

    score: str
    argument: Argument
    distance: str
    comparison: str

    @property
    def score_key(self) -> tuple[str, Argument]:
        """Score and argument; comparisons that share them share their scored records."""
        return self.score, self.argument


class FixedClass(NamedTuple):
    """A class of classifiers whose probability groups are compared by.

    Attributes:
        name: its name.
        position: its index among all classes.
    """

    name: str
    position: int


def default_comparisons(output_type: OutputType) -> list[RequestedComparison]:
    """Returns all comparisons that outputs of a type allow, except two kinds.

    Rates of a class are left out because they need a class that matters, and ratios because they
    show the same as differences. Averages over classes are macro averages.
    """
    comparisons = []
    for score, distance_name, comparison in possible_combinations(output_type):
        argument = default_argument(SCORES[score])
        if accepts_argument(SCORES[score], argument) and distance_name != RATIO:
            comparisons.append(RequestedComparison(score, argument, distance_name, comparison))
    return comparisons


def default_argument(score: Score) -> Argument:
    """Returns the argument of a score if a config has none; some scores do not accept it."""
    return "macro" if score.parameter and score.parameter.choices else None


def measure_groups(
    records: Records,
    requested: Sequence[Mapping[str, Any]] | None,
    headline_threshold: float,
    *,
    swapped_cases: pl.DataFrame | None = None,
    fixed_class: FixedClass | None = None,
) -> Iterator[Sums | pl.DataFrame]:
    """Measures the groups of a cell.

    Args:
        records: the outputs for every group.
        requested: the comparisons to compute, each with the fields of `RequestedComparison`; None
            for all of `default_comparisons`. The comparison by the main score is always added.
        headline_threshold: the threshold of the failure rate by which models are compared; the rate
            is computed for those of `CURVE`, too.
        swapped_cases: `case` and `swapped_case`, for the cases with reversed fillings; None if the
            dataset has none, which leaves out `position`.
        fixed_class: the class whose probability `difference` compares; None to compare the main
            score. For classifiers that is the probability of the right class, in which a preference
            for one class does not show, as it cancels over the classes.

    Yields:
        Scores with quartiles; the comparisons in both modes, of pairwise ones each pair too; the
        main score and its distance by template; `position`; failure rates; signed differences, and
        the scores of terms that these are computed from.
    """
    output_type = records.outputs.output_type
    main = RequestedComparison(MAIN_SCORES[output_type], None, "absolute", "pairwise")
    if requested is None:
        comparisons = default_comparisons(output_type)
    else:
        comparisons = [RequestedComparison(**fields) for fields in requested]
    comparisons = list(dict.fromkeys([*comparisons, main]))
    scored_records: dict[tuple[str, Argument], ScoredRecords] = {}
    for comparison in comparisons:
        if comparison.score_key not in scored_records:
            scored_records[comparison.score_key] = score_records(records, *comparison.score_key)
    for scores in scored_records.values():
        if SCORES[scores.score].kind == "scalar":
            yield from (score(scores), score_lower(scores), score_upper(scores))
    for comparison in comparisons:
        for mode in (ALL_CASES, EACH_CASE):
            scores = scored_records[comparison.score_key]
            yield from distance(scores, comparison.distance, comparison.comparison, mode)
    yield from template_numbers(records, main)
    if swapped_cases is not None:
        yield position(scored_records[main.score_key], swapped_cases)
    thresholds = sorted({*CURVE, headline_threshold})
    yield from failure_rate(records, thresholds, headline_threshold=headline_threshold)
    yield from signed_differences(scored_records[main.score_key], fixed_class)


def signed_differences(main: ScoredRecords, fixed_class: FixedClass | None) -> Iterator[Sums]:
    """Yields the signed differences of groups, and the scores of terms that they are computed from.

    Args:
        main: the records with their values of the main score.
        fixed_class: see `measure_groups`. With it, the difference of the main score, which is the
            probability of the right class, is the measure `right_class_difference`.
    """
    records = main.records
    measure = "difference" if fixed_class is None else "right_class_difference"
    main_options = options_text(score=main.score, mode=EACH_CASE)
    shares = are_shares(main.values)
    for scores in term_scores(records, main.values):
        yield difference(scores, of_shares=shares).named(measure, main_options)
        yield from term_score_sums(scores, main.score)
    if fixed_class is not None:
        class_options = options_text(score=main.score, argument=fixed_class.name, mode=EACH_CASE)
        by_class = score_records(records, main.score, fixed_class.position)
        for scores in term_scores(records, by_class.values):
            yield difference(scores).named("difference", class_options)


# Scores of groups


def score(scores: ScoredRecords) -> Sums:
    """Score of the records of a group in all cases, phi(A_g) (Czarnowska et al., TACL 2021), and of
    a bias type's.

    Args:
        scores: the records with their values of a scalar score.

    Returns:
        A number for each bias type and, behind it, for each of its groups. `n` counts the records
        that have a value, `left_out` those that have none.

    Raises:
        ValueError: the score is a set score.
    """
    if SCORES[scores.score].kind == "set":
        raise ValueError(
            f"{scores.score} gives no single number for a pool; expected a scalar score"
        )
    records, units = scores.records, scores.records.units(ALL_CASES)
    bias_types: list[str] = []
    groups: list[str | None] = []
    starts = []
    for code in units.bias_type:
        starts.append(len(groups))
        # The number of the bias type comes before those of its groups.
        names = [None, *units.group_names[code]]
        bias_types += [records.bias_types[code]] * len(names)
        groups += names
    # Each record counts in two numbers: that of its bias type, and that of its group.
    bias_type_number = np.array(starts)[units.unit]
    numbers = np.stack([bias_type_number, bias_type_number + 1 + units.place])
    defined_numbers = numbers[:, scores.is_defined]
    template, templates = index_templates(records.template)
    defined_template = template[scores.is_defined]
    finish, columns = finish_and_columns(scores)
    sums = np.zeros((len(groups), len(templates), columns.shape[1]))
    for number in defined_numbers:
        place = number * len(templates) + defined_template
        for index, column in enumerate(columns.T):
            column_sums = np.bincount(place, column, minlength=len(groups) * len(templates))
            sums[..., index] += column_sums.reshape(len(groups), len(templates))
    n = np.bincount(defined_numbers.ravel(), minlength=len(groups))
    available = np.bincount(numbers.ravel(), minlength=len(groups))
    keys = pl.DataFrame(
        {
            "bias_type": bias_types,
            "group": pl.Series(groups, dtype=pl.String),
            "n": n,
            "left_out": available - n,
        }
    )
    is_share = finish is MEAN and are_shares(scores.defined_values)
    interval: IntervalMethod = "effective Wilson" if is_share else "t"
    along = {TEMPLATES: Along(templates, sums)}
    unnamed_sums = Sums(keys, along, finish=finish, interval=interval, compares_models=False)
    return unnamed_sums.named("score", score_options(scores, ALL_CASES))


def finish_and_columns(scores: ScoredRecords) -> tuple[Finish, FloatArray]:
    """Returns the function that computes a scalar score from sums, and the columns to sum.

    Args:
        scores: the records with their values.

    Returns:
        The columns have shape (records with a value, columns).
    """
    values = scores.defined_values
    if scores.score in RATES:
        return RATE_FINISHES[f"{scores.score} {scores.argument}"], values
    return MEAN, np.stack([values, np.ones(len(values))], axis=1)


def score_options(scores: ScoredRecords, mode: PoolingMode, **distance_options: str) -> str:
    """Returns the options of a measure of some scores."""
    return options_text(score=scores.score, argument=scores.argument, mode=mode, **distance_options)


def score_lower(scores: ScoredRecords) -> pl.DataFrame:
    """Lower quartile of the scores that a group has in the cases.

    Args:
        scores: the records with their values of a scalar score.

    Returns:
        `COMPARISON_TYPES`: a row per group, with the options of the group's `score`. `n` counts the
        cases that have a value, `left_out` those that have none.
    """
    return quartile(scores, "score_lower", 0.25)


def score_upper(scores: ScoredRecords) -> pl.DataFrame:
    """Upper quartile of the scores that a group has in the cases; see `score_lower`."""
    return quartile(scores, "score_upper", 0.75)


def quartile(scores: ScoredRecords, measure: str, share: float) -> pl.DataFrame:
    """Returns a quantile of the scores in the cases, by group.

    Args:
        scores: the records with their values.
        measure: the name of the measure.
        share: the share of cases with a smaller score.
    """
    units = scores.records.units(EACH_CASE)
    values = group_scores(scores, units.only(scores.is_defined))
    return reduce_values(
        group_values(scores, units, values),
        lambda known_values: np.quantile(known_values, share),
        measure=measure,
        # The scores that quartiles stand beside are those over all cases.
        measure_options=score_options(scores, ALL_CASES),
    )


# Distances


def distance(
    scores: ScoredRecords, distance_name: str, comparison: str, mode: PoolingMode
) -> Iterator[Sums | pl.DataFrame]:
    """Distance of the scores of groups, d(phi(A_i), phi(A_j)) (Czarnowska et al., TACL 2021); see
    `comparisons`.

    With `ALL_CASES` the groups of a bias type are compared once, each with the records of all
    cases. With `EACH_CASE` they are compared in each case, and the value is the plain mean over
    cases. The mean leaves out, and counts, cases without a value: a case whose scores sum to 0
    (where divergence is undefined; BiaXposer ends with a ZeroDivisionError), one with fewer than
    two groups, and one without the target of the argument. Numbers of the distance `RATIO` are rows
    of the measure `ratio`.

    Args:
        scores: the records with their values.
        distance_name: a key of `DISTANCES`.
        comparison: a key of `COMPARISONS`.
        mode: see above.

    Yields:
        A number per bias type with null as `group`, or for the comparisons per group a number per
        group; then of pairwise comparisons one per pair. They are tables without intervals with
        `ALL_CASES`, sums over templates with `EACH_CASE`. `n` counts the records (with `EACH_CASE`:
        cases) that are in a number, `left_out` those that are not.

    Raises:
        ImpossibleCombination: see `check_combination`.
    """
    records = scores.records
    check_combination(
        records.outputs.output_type,
        score=scores.score,
        distance=distance_name,
        comparison=comparison,
        argument=scores.argument,
    )
    units = records.units(mode)
    pairs: list[UnitValues] = []
    if comparison == "pairwise":
        counts = count_groups(scores, units)
        distances = make_distances(scores, units.only(scores.is_defined), distance_name)
        mean = MeanOfPairs(distances.unit_count)
        for row in list_distances(distances):
            mean.add(row.to_later)
            pairs += pair_values(scores, units, counts, row)
        values = mean.values()
    else:
        values = compare_units(scores, units, distance=distance_name, comparison=comparison)
    if comparison in PER_GROUP:
        numbers = [*group_values(scores, units, values)]
    else:
        numbers = [*bias_type_values(scores, units, values)]
    measure = distance_measure(distance_name)
    distance_options = score_options(scores, mode, distance=distance_name, comparison=comparison)
    for part in filter(None, (numbers, pairs)):
        if mode == ALL_CASES:
            rows = reduce_values(part, np.mean, measure=measure, measure_options=distance_options)
            yield rows.with_columns(reason=pl.lit(POOLED_REASON))
        else:
            yield means_over_cases(part, records).named(measure, distance_options)


class NumberKeys(NamedTuple):
    """Keys and counts of a number, in columns of `COMPARISON_TYPES`.

    Attributes:
        bias_type: the bias type.
        group: the group, or the first one of a pair; None for the bias type as a whole.
        other: the second group of a pair; None otherwise.
        n: the records (with `EACH_CASE`: cases) in units that have a value.
        left_out: the other ones.
    """

    bias_type: str
    group: str | None
    other: str | None
    n: int
    left_out: int


KEY_TYPES = {name: COMPARISON_TYPES[name] for name in NumberKeys._fields}


class UnitValues(NamedTuple):
    """A number as its values in the units of a bias type.

    Attributes:
        keys: keys and counts of the number.
        values: shape (units,), NaN where a unit has none.
        first_record: shape (units,), a record of each unit.
    """

    keys: NumberKeys
    values: FloatArray
    first_record: IntArray


class UnitCounts(NamedTuple):
    """The amounts that `n` counts: records, or with `EACH_CASE` cases.

    Attributes:
        available: shape (units,) or (units, width), those that there are.
        with_value: the same shape, those that have a value.
    """

    available: IntArray
    with_value: IntArray


def count_groups(scores: ScoredRecords, units: ComparisonUnits) -> UnitCounts:
    """Counts records or cases by group, shape (units, width)."""
    defined_units = units.only(scores.is_defined)
    return make_counts(units.mode, units.sizes, defined_units.sizes)


def count_backgrounds(scores: ScoredRecords, units: ComparisonUnits) -> UnitCounts:
    """Counts records or cases by unit, shape (units,)."""
    defined_units = units.only(scores.is_defined)
    return make_counts(units.mode, units.backgrounds.sizes, defined_units.backgrounds.sizes)


def make_counts(mode: PoolingMode, available: IntArray, with_value: IntArray) -> UnitCounts:
    """Makes counts of numbers of records; in `EACH_CASE` a case counts once, if it has any."""
    if mode == EACH_CASE:
        return UnitCounts(np.minimum(available, 1), np.minimum(with_value, 1))
    return UnitCounts(available, with_value)


def bias_type_values(
    scores: ScoredRecords, units: ComparisonUnits, values: FloatArray
) -> Iterator[UnitValues]:
    """Yields the values of each bias type in units; `NumberKeys` says what `n` counts.

    Args:
        scores: the records.
        units: the units of all these records.
        values: shape (units,), NaN where a unit has none.
    """
    counts = count_backgrounds(scores, units)
    for code in np.unique(units.bias_type):
        names = (scores.records.bias_types[code], None, None)
        yield select_units(units, code, names, values, counts)


def group_values(
    scores: ScoredRecords, units: ComparisonUnits, values: FloatArray
) -> Iterator[UnitValues]:
    """Yields the values of each group of each bias type.

    Args:
        scores: the records.
        units: the units of all these records.
        values: shape (units, width), NaN where a unit has none.
    """
    counts = count_groups(scores, units)
    for code in np.unique(units.bias_type):
        # Columns behind the last group belong to bias types with more groups.
        for place, group in enumerate(units.group_names[code]):
            names = (scores.records.bias_types[code], group, None)
            own_counts = UnitCounts(counts.available[:, place], counts.with_value[:, place])
            yield select_units(units, code, names, values[:, place], own_counts)


def pair_values(
    scores: ScoredRecords, units: ComparisonUnits, counts: UnitCounts, row: GroupDistances
) -> Iterator[UnitValues]:
    """Yields the distances of a group to each group behind it, in the order of these.

    Args:
        scores: the records.
        units: the units of all these records.
        counts: from `count_groups`.
        row: the distances of the group; it may be of another name in each bias type.
    """
    # A case in which two groups are compared counts once.
    join = np.minimum if units.mode == EACH_CASE else np.add
    for other in range(row.group + 1, units.width):
        joined_counts = UnitCounts(
            join(counts.available[:, row.group], counts.available[:, other]),
            join(counts.with_value[:, row.group], counts.with_value[:, other]),
        )
        for code in np.unique(units.bias_type):
            groups = units.group_names[code]
            if other < len(groups):
                names = (scores.records.bias_types[code], groups[row.group], groups[other])
                yield select_units(units, code, names, row.to_place(other), joined_counts)


def select_units(
    units: ComparisonUnits,
    code: int,
    names: tuple[str, str | None, str | None],
    values: FloatArray,
    counts: UnitCounts,
) -> UnitValues:
    """Selects the units of a bias type.

    Args:
        units: all units.
        code: index of the bias type.
        names: `bias_type`, `group` and `other` of `NumberKeys`.
        values: shape (units,), values of all units.
        counts: shape (units,), counts of all units.
    """
    is_own = units.bias_type == code
    own_values = values[is_own]
    has_value = ~np.isnan(own_values)
    n = int(counts.with_value[is_own][has_value].sum())
    left_out = int(counts.available[is_own].sum()) - n
    return UnitValues(NumberKeys(*names, n, left_out), own_values, units.first_record[is_own])


def reduce_values(
    numbers: Iterable[UnitValues],
    reduce: Callable[[FloatArray], Any],
    *,
    measure: str,
    measure_options: str,
) -> pl.DataFrame:
    """Reduces the values of each number to one, without an interval.

    Args:
        numbers: the numbers.
        reduce: computes one value from at least one.
        measure: the name of the measure.
        measure_options: its options.

    Returns:
        `COMPARISON_TYPES`, a row per number; `value` is null for a number without values.
    """
    rows = []
    for number in numbers:
        defined_values = number.values[~np.isnan(number.values)]
        value = float(reduce(defined_values)) if len(defined_values) else None
        names = {"measure": measure, "options": measure_options}
        rows.append({**names, **number.keys._asdict(), "value": value})
    return pl.DataFrame(rows, schema=COMPARISON_TYPES)


def means_over_cases(numbers: Sequence[UnitValues], records: Records) -> Sums:
    """Returns numbers as means over cases, in sums over templates, without measure and options.

    Args:
        numbers: at least one, with cases as units.
        records: the records whose units these are.
    """
    template, templates = index_templates(records.template)
    sums = []
    for number in numbers:
        own_template = template[number.first_record]
        sums.append(sum_units(number.values, own_template, len(templates)).sums)
    keys = pl.DataFrame([number.keys for number in numbers], schema=KEY_TYPES, orient="row")
    along = {TEMPLATES: Along(templates, np.concatenate(sums))}
    return Sums(keys, along, interval="t", compares_models=False)


def template_numbers(records: Records, main: RequestedComparison) -> Iterator[pl.DataFrame]:
    """Yields for each template, in any prompt format, the main score and its distance in the cases.

    Args:
        records: the records.
        main: the main comparison.
    """
    templates = records.template % FORMAT_STEP
    for template in np.unique(templates):
        own_records = records.only(np.flatnonzero(templates == template))
        scores = score_records(own_records, *main.score_key)
        by_bias_type, *_ = distance(scores, main.distance, main.comparison, EACH_CASE)
        for numbers in (score(scores), by_bias_type):
            yield values_table([numbers]).with_columns(
                template=pl.lit(int(template), pl.UInt16), reason=pl.lit("one template")
            )


# Order of fillings


def position(scores: ScoredRecords, swapped_cases: pl.DataFrame) -> pl.DataFrame:
    """Mean of |s - s'| over pairs of a case and that with its fillings reversed, with each identity
    term.

    It is the positional dependence delta of Li et al. (Findings of EMNLP 2020, section 3.2) for
    cases: 0 for a model that does not care which of two things is named first.

    Args:
        scores: the records with their values of a scalar score that is a mean.
        swapped_cases: `case` and `swapped_case`, for the cases that have one, in both orders.

    Returns:
        `COMPARISON_TYPES`: a row of `position` per bias type and one per group. `n` counts pairs
        with a term, `left_out` those without a value; there are no rows if no case has a swapped
        one.
    """
    records = scores.records
    table = pl.DataFrame(
        {
            "bias_type": np.array(records.bias_types)[records.bias_type],
            "group": np.array(records.groups)[records.group],
            "term": np.array(records.terms)[records.term],
            "case": records.case,
            "value": scores.values,
        }
    )
    # A part of an intersection has several records in a case, one for each term of the other parts,
    # in the same order in both cases.
    occurrence = pl.int_range(pl.len()).over("bias_type", "group", "term", "case")
    table = table.with_columns(occurrence=occurrence)
    # Each pair of cases is listed in both orders.
    pairs_of_cases = swapped_cases.filter(pl.col("case") < pl.col("swapped_case")).cast(pl.Int64)
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
    names = {"measure": "position"}
    names["options"] = score_options(scores, EACH_CASE, distance="absolute")
    rows = pl.concat(tables, how="diagonal").to_dicts()
    return pl.DataFrame([names | row for row in rows], schema=COMPARISON_TYPES)


def changes_by(pairs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the mean change of pairs of cases by keys, with `n` and `left_out`.

    Args:
        pairs: the keys and `change`, null for a pair without a value.
        keys: the columns by which to average.
    """
    change = pl.col("change")
    counts = pairs.group_by(keys, maintain_order=True).agg(
        n=change.count().cast(pl.Int64), left_out=change.null_count().cast(pl.Int64)
    )
    means = means_by(pairs, keys, "change").rename({"change": "value"})
    return counts.join(means, on=keys, maintain_order="left")
