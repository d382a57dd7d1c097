"""Estimates of numbers from sums: value, intervals over each factor and over all of them, tests.

Whatever a number is a function of, its variance is that of the delete-one jackknife: the sums less
those of a unit make the number without it. A number that generalises to several factors, such as
new clusters and new names, adds up the variances of all of them.

`estimate_part` tells the story: the variances over each factor (`Estimands`), the sets of factors
that the numbers generalise to (`list_scopes`), and an interval and test over each (`Scope`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.stats.control import corrected_columns, source_columns
from biasgrid.stats.intervals import (
    VarianceSource,
    fewest_sign_test_units,
    half_width,
    interval_ends,
    p_values,
    quantile,
    sign_test_p,
    wilson_interval,
)
from biasgrid.stats.noise.jackknife import ROUNDING, jackknife
from biasgrid.stats.noise.random_factors import (
    PERSONS,
    FactorVariance,
    first_factor_variance,
    format_sources,
    group_sources,
    has_two_sides,
    other_factor_variance,
    persons_source,
)
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.reasons import (
    ATTRIBUTES,
    FEWEST_TESTED,
    interval_reason,
    single_unit_reason,
)
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import (
    PAIR_OF_LISTS,
    PROMPT_FORMATS,
    TEMPLATES,
    Candidate,
    SignificanceTest,
    Sums,
    leave_one_out,
    nullable,
)
from biasgrid.tables.measures import TAKEN_AS_GIVEN

GIVEN = "given by the family"
"""The method of intervals that come with the numbers."""
FACTOR_NAMES = {"templates": "clusters", "subjects": "names", "others": "names"}
"""Labels of factors in the column `generalises_to`, if they differ from the factor's name."""
ADDED = "t with two added units"
"""The method of shares with two added units that contradict each other."""


def estimate(parts: Sequence[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Estimates numbers with their intervals, p-values and corrections for multiple tests.

    A number has one row per scope. It is corrected together with the other numbers of its part and
    scope. What is tested is its distance from `Sums.fair`.

    Args:
        parts: the numbers, one element per measure and set of keys. Inputs of others are skipped.
        settings: clusters, level and ranges.

    Returns:
        One row per number and scope, in columns of `MEASURES`, with `is_claim`, which marks the
        row that is reported, and `kind`, the position of the part. Rows that are corrected together
        also have the columns of `control.source_columns`. No columns at all without numbers.
    """
    tables = []
    for position, part in enumerate(parts):
        if part.is_input:
            continue
        for rows in estimate_part(part, settings):
            tables.append(rows.with_columns(kind=pl.lit(position)))
    return pl.concat(tables, how="diagonal_relaxed") if tables else pl.DataFrame()


def estimate_part(part: Sums, settings: StatisticsSettings) -> Iterator[pl.DataFrame]:
    """Yields estimates of the numbers of one measure, one table per scope."""
    estimands = Estimands.from_sums(part, settings)
    for scope in list_scopes(estimands):
        yield estimate_over_scope(estimands, scope)
    if part.factor != TEMPLATES and TEMPLATES in part.along:
        # The pairs of one writer span several clusters. The variance between writers therefore
        # contains that between clusters, and adding both would count it twice.
        clusters = replace(part, along={TEMPLATES: part.along[TEMPLATES]})
        for rows in estimate_part(clusters, settings):
            yield rows.with_columns(is_claim=pl.lit(value=False)).drop_nulls("low")


@dataclass(frozen=True)
class Estimands:
    """Numbers of one measure, with the variance that each factor adds to them.

    Attributes:
        sums: the numbers. Redundant templates are already joined into clusters.
        settings: level, ranges, and control of false discoveries.
        first: variance over the units of the first factor.
        name_factors: the factors beside the first that are names, terms or persons.
        name_sources: variances over these factors; empty if there are none.
        formats: variances over prompt formats; empty if there is a single format.
        persons: variance over persons; None if there are none, or if they are taken as given.
    """

    sums: Sums
    settings: StatisticsSettings
    first: FactorVariance
    name_factors: Sequence[str]
    name_sources: Sequence[VarianceSource]
    formats: Sequence[VarianceSource]
    persons: VarianceSource | None

    @classmethod
    def from_sums(cls, part: Sums, settings: StatisticsSettings) -> Estimands:
        """Computes the variances of numbers over each of their factors."""
        sums = part.clustered(settings.clusters)
        # Noise may be larger for larger numbers (`noise.moderated_variances`), but not for
        # larger shares: 0 is no more certain than 1.
        may_grow = settings.units.get(sums.measure) != "share"
        first = first_factor_variance(sums, may_grow=may_grow)
        persons = persons_source(sums)
        factors = list_name_factors(sums, persons)
        if compares_two_lists(sums, factors):
            # `group_sources` has no variance over persons, which would be lost without a word.
            assert persons is None
            name_sources = group_sources(sums)
        else:
            # Names that are not compared with other names are one sample.
            name_factors = [factor for factor in factors if factor != PERSONS]
            name_sources = [other_factor_variance(sums, factor) for factor in name_factors]
            if persons is not None:
                name_sources.append(persons)
        formats = format_sources(sums, may_grow=may_grow)
        return cls(sums, settings, first, factors, name_sources, formats, persons)

    @property
    def claims_names(self) -> bool:
        """Whether the numbers are claimed for names as well, and so for all factors."""
        return self.sums.generalises_to_all_factors and bool(self.name_factors)

    @property
    def has_wilson_interval(self) -> bool:
        """Whether the measure asks for Wilson's interval, as shares do by default."""
        unit = self.settings.units.get(self.sums.measure)
        is_share_by_unit = self.sums.interval == "unit" and unit == "share"
        return self.sums.interval == "effective Wilson" or is_share_by_unit

    @cached_property
    def values(self) -> FloatArray:
        """The numbers, shape (numbers,), NaN where there are none."""
        return self.sums.values

    @property
    def centre(self) -> FloatArray:
        """The centre of each t interval, shape (numbers,); usually the number itself."""
        return self.values if self.first.added_units is None else self.first.added_units.centre

    @cached_property
    def table(self) -> pl.DataFrame:
        """Keys, value and number of units of each number, without interval."""
        keys = self.sums.keys.drop("low", "high", strict=False)
        return keys.with_columns(value=nullable(self.values), clusters=pl.Series(self.first.units))


def list_name_factors(sums: Sums, persons: VarianceSource | None) -> list[str]:
    """Returns the factors beside the first that are names, terms or persons.

    Args:
        sums: the numbers of a kind.
        persons: see `persons_source`; without it persons are taken as given.
    """
    other_factors = {sums.factor, ATTRIBUTES, PROMPT_FORMATS, TEMPLATES}
    if persons is None:
        other_factors.add(PERSONS)
    return [factor for factor in sums.along if factor not in other_factors]


def compares_two_lists(sums: Sums, name_factors: Sequence[str]) -> bool:
    """Whether the numbers compare two groups, each with its own list of names or terms.

    The lists are then independent samples, whose variances add up (Welch). A family says so by a
    factor `PAIR_OF_LISTS`, or by claiming its numbers of groups for new names as well.
    """
    if not has_two_sides(sums):
        return False
    claims_names = sums.generalises_to_all_factors and bool(name_factors)
    return claims_names or PAIR_OF_LISTS in name_factors


# Scopes


@dataclass(frozen=True)
class Scope:
    """Factors that an interval generalises to: their units could have been others.

    Attributes:
        label: the factors in the column `generalises_to`, such as `clusters x names`.
        first: variance over the first factor; None if the scope leaves it out.
        further: the variances over further factors, each of shape (numbers,).
        method: the name of a t interval over these factors.
        is_claim: whether the rows over this scope are the ones that are reported. One scope is.
        single_units: the variances over each further factor, by its label in reasons.
        is_wilson: whether the interval is Wilson's in place of t.
    """

    label: str
    first: FactorVariance | None
    further: Sequence[VarianceSource]
    method: str
    is_claim: bool
    single_units: Mapping[str, Sequence[VarianceSource]] = field(default_factory=dict)
    is_wilson: bool = False

    @property
    def own(self) -> list[VarianceSource]:
        """The variances of single numbers, without a gain, which all numbers share."""
        return [*self.further] if self.first is None else [self.first.source, *self.further]

    @property
    def shared(self) -> list[VarianceSource]:
        """The variance that all numbers share: the gain, or empty if there is none."""
        if self.first is None or self.first.gain is None:
            return []
        return [self.first.gain]

    @property
    def sources(self) -> list[VarianceSource]:
        """All variances of the interval.

        Their order decides the last digit of their sum, so it stays as it is.
        """
        return [*self.further] if self.first is None else [*self.first.sources, *self.further]

    @property
    def is_first_alone(self) -> bool:
        """Whether the scope is the first factor and no other."""
        return self.first is not None and not self.further


def list_scopes(estimands: Estimands) -> Iterator[Scope]:
    """Yields the scopes that numbers are estimated over; one of them is the claim.

    Numbers are claimed for all factors if the family asks for that and there are names, else for
    the first factor and prompt formats. The other scopes tell how much each factor adds.
    """
    sums, first = estimands.sums, estimands.first
    name_sources, formats = estimands.name_sources, estimands.formats
    claims_names = estimands.claims_names
    yield Scope(
        label=join_factors([sums.factor]) + taken_as_given(sums, estimands.persons),
        first=first,
        further=[],
        method=t_method(estimands),
        is_claim=not claims_names and not formats,
        is_wilson=estimands.has_wilson_interval,
    )
    if formats and not claims_names:
        yield Scope(
            label=join_factors([sums.factor, PROMPT_FORMATS]),
            first=first,
            further=formats,
            method="combined",
            is_claim=True,
            single_units={PROMPT_FORMATS: formats},
            is_wilson=estimands.has_wilson_interval,
        )
    if name_sources:
        names_label = join_factors(estimands.name_factors)
        yield Scope(
            label=names_label,
            first=None,
            further=name_sources,
            method=names_method(estimands),
            is_claim=False,
        )
        attributes = [other_factor_variance(sums, ATTRIBUTES)] if ATTRIBUTES in sums.along else []
        yield Scope(
            label=join_factors(sums.along),
            first=first,
            further=[*name_sources, *formats, *attributes],
            method="combined",
            is_claim=claims_names,
            single_units={
                ATTRIBUTES: attributes,
                PROMPT_FORMATS: formats,
                names_label: name_sources,
            },
        )


def join_factors(factors: Iterable[str]) -> str:
    """Joins the factors that a number generalises over, such as `clusters x names`."""
    labels = [FACTOR_NAMES.get(factor, factor) for factor in factors]
    # `subjects` and `others` are both names.
    return " x ".join(dict.fromkeys(labels))


def taken_as_given(sums: Sums, persons: VarianceSource | None) -> str:
    """Returns the end of a label that says that numbers hold for the given persons alone.

    Empty if the numbers have no persons, or if their intervals are over persons (`persons`).
    """
    if PERSONS not in sums.along or persons is not None:
        return ""
    return f"{TAKEN_AS_GIVEN}{len(sums.along[PERSONS].units)} persons"


def t_method(estimands: Estimands) -> str:
    """Names the method of t intervals over the first factor."""
    method = "jackknife t"
    if estimands.sums.interval == "moderated t":
        method = "moderated t" if estimands.first.prior.df > 0 else "t"
    return method if estimands.first.gain is None else f"{method} with gain"


def names_method(estimands: Estimands) -> str:
    """Names the method of intervals over names, terms or persons."""
    if len(estimands.name_sources) > 1:
        return "combined"
    if PERSONS in estimands.name_factors:
        return "t of residuals"
    is_of_groups = compares_two_lists(estimands.sums, estimands.name_factors)
    return "Welch t" if is_of_groups else "jackknife t"


def estimate_over_scope(estimands: Estimands, scope: Scope) -> pl.DataFrame:
    """Returns one row per number with its interval over a scope.

    Numbers without an interval stay, with the reason, if the scope is the claim or the first
    factor alone; in other scopes they are left out.
    """
    sums = estimands.sums
    has_no_interval = sums.interval == "none" or sums.keys.is_empty()
    if has_no_interval and (scope.is_first_alone or scope.is_wilson):
        rows = rows_without_interval(estimands)
    elif scope.is_wilson:
        rows = wilson_intervals(estimands, scope)
    elif scope.is_first_alone and sums.interval == "largest":
        rows = largest_intervals(estimands)
    else:
        rows = t_intervals(estimands, scope)
    if scope.is_first_alone and "low" in sums.keys.columns:
        rows = use_family_intervals(rows, sums.keys)
    rows = rows.with_columns(
        generalises_to=pl.lit(scope.label),
        is_claim=pl.lit(scope.is_claim),
        reason=scope_reason(estimands, scope),
    )
    if scope.is_claim or scope.is_first_alone:
        return rows
    return rows.drop_nulls("low")


def scope_reason(estimands: Estimands, scope: Scope) -> pl.Expr:
    """Returns why numbers have no interval or no test over a scope, null if they have both.

    Returns:
        An expression over the rows of the scope, of which it reads `value`, `clusters` and `low`.
    """
    if scope.first is None:
        return pl.lit(None, pl.String)
    reason = interval_reason(estimands.sums, scope.first, estimands.settings.alpha)
    return single_unit_reason(reason, scope.single_units)


# Intervals


def rows_without_interval(estimands: Estimands) -> pl.DataFrame:
    """Returns the numbers of a kind that has no interval, such as a ratio."""
    no_end = pl.lit(None, pl.Float64)
    return estimands.table.with_columns(low=no_end, high=no_end, method=pl.lit(None, pl.String))


def t_intervals(estimands: Estimands, scope: Scope) -> pl.DataFrame:
    """Returns the numbers with Student's t intervals over a scope.

    Numbers of a measure that is tested also get p; those that are corrected together get q, Holm,
    the intervals of selected numbers, and the columns of `source_columns`.
    """
    sums, first, settings = estimands.sums, estimands.first, estimands.settings
    centre, fair = estimands.centre, sums.fair
    limits = (0.0, 0.0) if sums.keys.is_empty() else settings.range_of(sums.measure)
    half = half_width(scope.sources, settings.alpha)
    # A number without any variance is not therefore exact.
    low, high = interval_ends(centre, np.where(half > 0, half, np.nan), limits)
    p = np.full(len(centre), np.nan)
    if sums.is_tested or first.added_units is not None:
        p = scope_p(estimands, scope)
    if first.added_units is not None:
        # An interval that excludes the fair value is read as a test. If the exact test does not
        # reject the fair value, the interval must include it.
        low = np.where(p > settings.alpha, np.minimum(low, fair), low)
        high = np.where(p > settings.alpha, np.maximum(high, fair), high)
    p = np.where(have_too_few_signs(estimands, scope), np.nan, p)
    rows = interval_columns(estimands, low, high, scope.own, scope.method)
    if scope.shared and len(scope.own) == 1:
        (gain,) = scope.shared
        rows = rows.with_columns(gain_se=nullable(np.sqrt(gain.variance)))
    if sums.is_tested:
        rows = rows.with_columns(p=nullable(p))
    if sums.test is SignificanceTest.UNCORRECTED:
        size = pl.lit(detectable_effect(scope.own, settings.alpha))
        has_test = pl.col("p").is_not_null()
        rows = rows.with_columns(detectable=pl.when(has_test).then(size).fill_nan(None))
    elif sums.test is SignificanceTest.CORRECTED:
        corrected = corrected_columns(centre, p, scope.own, scope.shared, limits, settings, fair)
        sources = source_columns(centre, scope.own, scope.shared, fair)
        rows = rows.with_columns(**corrected, **sources)
    return name_special_methods(rows, estimands) if scope.is_first_alone else rows


def name_special_methods(rows: pl.DataFrame, estimands: Estimands) -> pl.DataFrame:
    """Names the methods of numbers over the first factor that have no plain t interval.

    They are "t with two added units", or "sign test" if a number is equal in all units, so that it
    has no interval but a p.

    Args:
        rows: one row per number, in the order of the numbers.
        estimands: the numbers.
    """
    first = estimands.first
    if first.added_units is not None:
        has_added = pl.Series(first.added_units.is_added) & pl.col("method").is_not_null()
        rows = rows.with_columns(method=pl.when(has_added).then(pl.lit(ADDED)).otherwise("method"))
    if estimands.sums.is_tested:
        has_sign_test = pl.Series(first.is_constant) & pl.col("p").is_not_null()
        method = pl.when(has_sign_test).then(pl.lit("sign test")).otherwise("method")
        rows = rows.with_columns(method=method)
    return rows


def scope_p(estimands: Estimands, scope: Scope) -> FloatArray:
    """Returns p of numbers against their fair value, shape (numbers,), NaN if there is no test.

    They are those of a t test, but at least `AddedUnits.p_floor`. A number that is equal in all
    units of the first factor has no variance for a t test: the agreement of signs is its evidence.
    With fewer than `FEWEST_TESTED` units of the first factor there is no test over it.
    """
    first = estimands.first
    distance = estimands.centre - estimands.sums.fair
    p = p_values(distance, scope.sources)
    if scope.first is not None and first.is_constant.any():
        # Rounding leaves 1e-17 of a zero, whose sign is no evidence.
        rounded = np.where(np.abs(distance) <= ROUNDING, 0.0, distance)
        # Other factors in which nothing varies either say no more than these signs.
        others_agree = np.all([source.variance == 0 for source in scope.further], axis=0)
        p = np.where(first.is_constant & others_agree, sign_test_p(rounded, first.units), p)
    if first.added_units is not None:
        # `fmax` ignores a NaN in `p_floor`, `maximum` would pass it on.
        raised = np.fmax(p, first.added_units.p_floor)
        p = np.where(np.isnan(p), p, raised)
    if scope.first is None:
        return p
    return np.where(first.units < FEWEST_TESTED, np.nan, p)


def have_too_few_signs(estimands: Estimands, scope: Scope) -> BoolArray:
    """Returns, shape (numbers,), which numbers have too few units for a test that goes by signs.

    The caller blanks their p: an exact test of so few units cannot reach `alpha`.
    """
    first, alpha = estimands.first, estimands.settings.alpha
    lack_signs = first.lack_signs(alpha)
    if scope.is_first_alone:
        lack_signs |= first.is_constant & (first.units < fewest_sign_test_units(alpha))
    return lack_signs


def wilson_intervals(estimands: Estimands, scope: Scope) -> pl.DataFrame:
    """Returns shares with Wilson's interval over a scope (Korn and Graubard, 1998).

    The variance over the scope says how many independent cases the shares are worth. The number
    of cases is the column `cases` of the keys where it is known, else `n`.
    """
    table, alpha = estimands.table, estimands.settings.alpha
    cases = table["n"].cast(pl.Float64)
    if "cases" in table.columns:
        # A question that was asked in several orders of its options is one case, counted often.
        cases = table["cases"].fill_null(cases).cast(pl.Float64)
    source = estimands.first.source
    if scope.further:
        source = source_of_equal_width(source, scope.further, alpha)
    units = estimands.first.units
    interval = wilson_interval(
        estimands.values,
        independent_cases=cases.to_numpy(),
        variance=source.variance,
        clusters=units,
        alpha=alpha,
    )
    return interval_columns(estimands, interval.low, interval.high, [source], "effective Wilson")


def source_of_equal_width(
    source: VarianceSource, further: Sequence[VarianceSource], alpha: float
) -> VarianceSource:
    """Returns the one variance that makes a t interval as wide as several variances do.

    Wilson's interval takes a single variance. Several variances have different degrees of
    freedom, so they cannot be added; they are matched by the half width of their interval.

    Args:
        source: the first variance, which gives the degrees of freedom of the result.
        further: the other variances, each of shape (numbers,).
        alpha: how often intervals miss.
    """
    half = half_width([source, *further], alpha)
    standard_error = half / quantile(alpha, source.df)
    return source._replace(variance=standard_error**2)


def largest_intervals(estimands: Estimands) -> pl.DataFrame:
    """Returns the numbers, each the largest of several candidates, with intervals.

    The intervals of all candidates hold at once (Bonferroni), so the largest value lies between
    the largest of their lower ends and the largest of their upper ends.
    """
    sums = estimands.sums
    candidates = sums.finish.candidates
    alpha = estimands.settings.alpha / len(candidates)
    lows, highs = [], []
    for candidate in candidates:
        low, high = candidate_interval(sums, candidate, alpha)
        lows.append(low)
        highs.append(high)
    return interval_columns(
        estimands,
        np.stack(lows).max(axis=0),
        np.stack(highs).max(axis=0),
        [estimands.first.source],
        "jackknife t of the largest",
    )


def candidate_interval(
    sums: Sums, candidate: Candidate, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Returns the jackknife t interval of a candidate over the first factor.

    Args:
        sums: the sums that all candidates are computed from.
        candidate: the function that computes it, and whether its sign is dropped.
        alpha: how often the interval misses.

    Returns:
        Both ends, each of shape (numbers,). Those of a size are not below 0.
    """
    unit_sums, totals = sums.along[sums.factor].sums, sums.totals
    variance, units = jackknife(leave_one_out(unit_sums, totals, candidate.function))
    df = (units - 1).astype(np.float64)
    half = half_width([VarianceSource(variance, df)], alpha)
    values = candidate.function(totals)
    if not candidate.by_size:
        return values - half, values + half
    size = np.abs(values)
    return np.maximum(size - half, 0), size + half


def use_family_intervals(rows: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    """Replaces ends of intervals by the ends that the family computed, if it did.

    Args:
        rows: estimates, in the order of `keys`.
        keys: keys with `low` and `high`, null where the family leaves the interval to us.
    """
    low = pl.lit(keys["low"].cast(pl.Float64))
    high = pl.lit(keys["high"].cast(pl.Float64))
    return rows.with_columns(
        low=pl.coalesce(low, "low"),
        high=pl.coalesce(high, "high"),
        method=pl.when(low.is_not_null()).then(pl.lit(GIVEN)).otherwise("method"),
    )


def interval_columns(
    estimands: Estimands,
    low: FloatArray,
    high: FloatArray,
    sources: Sequence[VarianceSource],
    method: str,
) -> pl.DataFrame:
    """Returns the numbers with their intervals and, for a single source, `se` and `df`.

    All are null for a number without interval. With several sources `se` and `df` are null
    throughout, because no single standard error and degrees of freedom make the interval.

    Args:
        estimands: the numbers.
        low: lower ends, shape (numbers,), NaN for numbers without interval.
        high: upper ends, likewise.
        sources: the variances that the intervals are made of.
        method: the name of the intervals.
    """
    is_known = ~np.isnan(low)
    se = df = np.full(len(low), np.nan)
    if len(sources) == 1:
        (source,) = sources
        se = np.where(is_known, np.sqrt(source.variance), np.nan)
        df = np.where(is_known, source.df, np.nan)
    return estimands.table.with_columns(
        method=pl.when(pl.Series(is_known)).then(pl.lit(method)),
        low=nullable(low),
        high=nullable(high),
        se=nullable(se),
        df=nullable(df),
    )
