"""Estimates of numbers from sums: value, intervals over each factor and over all of them, tests.

Whatever a number is a function of, its variance is that of the delete-one jackknife: the sums less
those of a unit make the number without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, log2

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.stats.intervals import (
    VarianceSource,
    half_width,
    interval_ends,
    p_values,
    quantile,
    sign_test_p,
    wilson_interval,
)
from biasgrid.stats.noise.control import corrected_columns, source_columns
from biasgrid.stats.noise.factors import (
    SHARES,
    WITH_ADDED,
    OverFactor,
    over_first_factor,
    over_names,
    sources_of_formats,
)
from biasgrid.stats.noise.names import has_two_sides, sources_of_groups
from biasgrid.stats.noise.persons import PERSONS, persons_source
from biasgrid.stats.noise.variance import ROUNDING, jackknife
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import difference_of_shares
from biasgrid.stats.sums import (
    FORMATS,
    PAIR_OF_LISTS,
    TEMPLATES,
    Candidate,
    Sums,
    leave_one_out,
    nullable,
)
from biasgrid.tables.measures import TAKEN_AS_GIVEN

GIVEN = "given by the family"
"""The method of intervals that come with the numbers."""
FACTOR_NAMES = {"templates": "clusters", "subjects": "names", "others": "names"}
"""What factors are called where it is said what a number generalises over, where that is not their
own name.
"""
ADDED = "t with two added units"
"""The method of these."""
FEWEST_TESTED = 3
"""Two units are too few to test by: in simulations without any effect 17 to 22 of 100 cells had
significant results.
"""
ATTRIBUTES = "attributes"
ONE_OF_FACTOR = {
    "names": "one name: nothing can be said of the group",
    "terms": "one term: nothing can be said of the group",
    FORMATS: "one prompt format",
    ATTRIBUTES: "one attribute",
}
"""Why a claim about all factors has no interval, where there is one alone."""
UNIT_NAMES = {"templates": "cluster"}
"""What a unit of a factor is called, where that is not the factor's own name in the singular."""


def estimate(parts: Sequence[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Estimates numbers.

    Shares have Wilson's interval with as many cases as their variance over clusters is worth,
    differences of shares and shares of choices between two one with two added clusters that
    contradict each other, what is the largest of several numbers the interval of the largest of
    these, all of which hold at once (Bonferroni), and all others that of Student's t, cut to their
    range. Ends of intervals that the keys of numbers have stay as they are. What is tested is the
    distance from the fair value, `Sums.fair`.

    Args:
        parts: the numbers, kind by kind; those that are inputs alone have no rows.
        settings: clusters, level and ranges.

    Returns:
        Of each number a row over its first factor and, where that is known, rows over its names and
        over all factors: columns of `MEASURES`; `is_claim`: whether it is the row of the number's
        claim; `kind`: the place of its sums; and of what is tested together `centre`, `variances`,
        `dfs` and `own`, see `noise.control`.
    """
    tables = [
        rows.with_columns(kind=pl.lit(kind))
        for kind, part in enumerate(parts)
        if not part.is_input
        for rows in (rows_of_shares if part.interval in WITH_ADDED else rows_of_kind)(
            part, settings
        )
    ]
    return pl.concat(tables, how="diagonal_relaxed") if tables else pl.DataFrame()


def rows_of_shares(part: Sums, settings: StatisticsSettings) -> Iterator[pl.DataFrame]:
    """Yields the estimates of shares with two added units, which say why no test by signs can tell
    one from fairness.

    Args:
        part: differences of shares, or shares of choices between two.
        settings: clusters and level.
    """
    sums = part.clustered(settings.clusters)
    units = sums.along[sums.factor].present.sum(axis=1)
    needed, unit = fewest_of_sign_test(settings.alpha), unit_of_factor(part.factor)
    few = are_tested_by_signs(sums) & (units > 0) & (units < needed) & bool(part.test)
    texts = [
        too_few_text(count, unit, needed) if is_few else None
        for count, is_few in zip(units, few, strict=True)
    ]
    named = replace(part, keys=part.keys.with_columns(untestable=pl.Series(texts, dtype=pl.String)))
    for rows in rows_of_kind(named, settings):
        reason = pl.col("reason") if "reason" in rows.columns else pl.lit(None, pl.String)
        has_interval = pl.col("low").is_not_null()
        with_test = pl.when(has_interval).then(pl.coalesce("untestable", reason))
        yield rows.with_columns(reason=with_test.otherwise(pl.coalesce(reason, "untestable"))).drop(
            "untestable"
        )


def fewest_of_sign_test(alpha: float) -> int:
    """Returns how many units must agree in sign for a p of at most alpha: the least p of k units is
    2^(1 - k).
    """
    return ceil(1 - log2(alpha))


def too_few_text(units: int, unit: str, needed: int) -> str:
    """Says how many units a number has, and how many a test needs."""
    return f"untestable: {units} {unit}{'' if units == 1 else 's'}, {needed} are needed"


def are_tested_by_signs(sums: Sums) -> BoolArray:
    """Says which shares have tests that no p of signs can be below, shape (numbers,)."""
    if sums.interval == SHARES:
        return difference_of_shares(sums.along[sums.factor].sums).paired
    added = over_first_factor(sums).added
    return np.zeros(len(sums.keys), dtype=np.bool_) if added is None else added


def rows_of_kind(part: Sums, settings: StatisticsSettings) -> Iterator[pl.DataFrame]:
    """Yields the estimates of numbers of one kind over their first factor, over names, and over all
    factors.
    """
    sums = part.clustered(settings.clusters)
    measure = str(sums.keys["measure"][0]) if len(sums.keys) else ""
    may_grow = settings.units.get(measure) != "share"
    first, values = over_first_factor(sums, may_grow=may_grow), sums.values
    persons = persons_source(sums)
    names = factors_of_names(sums, persons)
    formats = sources_of_formats(sums, may_grow=may_grow)
    claims_all = sums.claims_all and bool(names)
    of_groups = has_two_sides(sums) and (claims_all or PAIR_OF_LISTS in names)
    lists = sources_of_groups(sums) if of_groups else sources_of_factors(sums, names, persons)
    whole = sums.keys.drop("low", "high", strict=False).with_columns(
        value=nullable(values), clusters=pl.Series(first.units)
    )
    label = join_factors([sums.factor]) + taken_as_given(sums, persons)
    rows = with_given_ends(over_one_factor(sums, whole, first, settings), sums.keys)
    is_claim = not claims_all and not formats
    yield rows.with_columns(
        generalises_to=pl.lit(label),
        is_claim=pl.lit(is_claim),
        **reasons(sums, first, settings.alpha),
    )
    if formats and not claims_all:
        rows = over_formats(sums, whole, first, formats, settings)
        text = reasons_over_all(reasons(sums, first, settings.alpha)["reason"], {FORMATS: formats})
        label = join_factors([sums.factor, FORMATS])
        yield rows.with_columns(
            generalises_to=pl.lit(label), is_claim=pl.lit(value=True), reason=text
        )
    of_names, of_all = join_factors(names), join_factors(sums.along)
    if names:
        yield (
            with_intervals(
                whole, sums, lists, list_method(names, lists, of_groups), settings, first
            )
            .with_columns(generalises_to=pl.lit(of_names), is_claim=pl.lit(value=False))
            .drop_nulls("low")
        )
        further = [over_names(sums, ATTRIBUTES)] if ATTRIBUTES in sums.along else []
        combined = with_intervals(
            whole, sums, [*first.sources, *lists, *formats, *further], "combined", settings, first
        )
        text = reasons_over_all(
            reasons(sums, first, settings.alpha)["reason"],
            {ATTRIBUTES: further, FORMATS: formats, of_names: lists},
        )
        rows = combined.with_columns(
            generalises_to=pl.lit(of_all), is_claim=pl.lit(claims_all), reason=text
        )
        yield rows if claims_all else rows.drop_nulls("low")
    if sums.factor != TEMPLATES and TEMPLATES in sums.along:
        # They are parts of the units of the first factor, whose variance has theirs in it.
        for parts in rows_of_kind(
            replace(part, along={TEMPLATES: part.along[TEMPLATES]}), settings
        ):
            yield parts.with_columns(is_claim=pl.lit(value=False)).drop_nulls("low")


def over_formats(
    sums: Sums,
    whole: pl.DataFrame,
    first: OverFactor,
    formats: Sequence[VarianceSource],
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """Returns estimates over the first factor and prompt formats: of shares Wilson's, as over the
    first one alone.
    """
    if not is_share(sums, settings):
        return with_intervals(whole, sums, [*first.sources, *formats], "combined", settings, first)
    # As many cases as both variances together are worth, in terms of the first one's degrees of
    # freedom.
    half = half_width([first.source, *formats], settings.alpha)
    source = first.source._replace(variance=(half / quantile(settings.alpha, first.source.df)) ** 2)
    return over_one_factor(sums, whole, first._replace(source=source), settings)


def is_share(sums: Sums, settings: StatisticsSettings) -> bool:
    """Says whether numbers are shares, whose intervals are Wilson's."""
    measure = str(sums.keys["measure"][0]) if len(sums.keys) else ""
    of_unit = sums.interval == "unit" and settings.units.get(measure) == "share"
    return sums.interval == "effective Wilson" or of_unit


def unit_of_factor(factor: str) -> str:
    """Returns what a unit of a factor is called."""
    return UNIT_NAMES.get(factor, factor.removesuffix("s"))


def join_factors(factors: Iterable[str]) -> str:
    """Returns what a number generalises over, such as `clusters x names`."""
    return " x ".join(dict.fromkeys(FACTOR_NAMES.get(factor, factor) for factor in factors))


def factors_of_names(sums: Sums, persons: VarianceSource | None) -> list[str]:
    """Returns the factors beside the first that numbers vary with: those of names, terms or
    persons.

    Args:
        sums: the numbers of a kind.
        persons: see `persons_source`; without it persons are taken as given.
    """
    others = [
        factor for factor in list(sums.along)[1:] if factor not in (ATTRIBUTES, FORMATS, TEMPLATES)
    ]
    return [factor for factor in others if factor != PERSONS or persons is not None]


def sources_of_factors(
    sums: Sums, factors: Sequence[str], persons: VarianceSource | None
) -> list[VarianceSource]:
    """Returns how much numbers vary with each factor of `factors_of_names`."""
    of_names = [over_names(sums, factor) for factor in factors if factor != PERSONS]
    return of_names if persons is None else [*of_names, persons]


def taken_as_given(sums: Sums, persons: VarianceSource | None) -> str:
    """Says for which persons alone numbers hold, nothing where there are none or intervals are over
    other ones, too.
    """
    if PERSONS not in sums.along or persons is not None:
        return ""
    return f"{TAKEN_AS_GIVEN}{len(sums.along[PERSONS].units)} persons"


def list_method(names: Sequence[str], sources: Sequence[VarianceSource], of_groups: bool) -> str:
    """Names how intervals over names are made."""
    if len(sources) > 1:
        return "combined"
    if PERSONS in names:
        return "t of residuals"
    return "Welch t" if of_groups else "jackknife t"


def over_one_factor(
    sums: Sums, whole: pl.DataFrame, first: OverFactor, settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns estimates over the first factor."""
    if sums.interval == "none" or whole.is_empty():
        ends = pl.lit(None, pl.Float64)
        return whole.with_columns(low=ends, high=ends, method=pl.lit(None, pl.String))
    if is_share(sums, settings):
        cases = (
            whole["cases"].fill_null(whole["n"].cast(pl.Float64))
            if "cases" in whole.columns
            else whole["n"]
        )
        low, high, _ = wilson_interval(
            sums.values,
            cases.cast(pl.Float64).to_numpy(),
            first.source.variance,
            first.units,
            settings.alpha,
        )
        return with_columns_of(whole, low, high, [first.source], "effective Wilson")
    if sums.interval == "largest":
        low, high = interval_of_largest(sums, settings.alpha)
        return with_columns_of(whole, low, high, [first.source], "jackknife t of the largest")
    moderated = "moderated t" if first.prior.df > 0 else "t"
    method = moderated if sums.interval == "moderated t" else "jackknife t"
    method = f"{method} with gain" if first.gain is not None else method
    rows = with_intervals(whole, sums, first.sources, method, settings, first)
    if first.added is not None:
        has_added = pl.Series(first.added) & pl.col("method").is_not_null()
        rows = rows.with_columns(method=pl.when(has_added).then(pl.lit(ADDED)).otherwise("method"))
    if not sums.test or first.constant is None:
        return rows
    has_exact = pl.Series(first.constant) & pl.col("p").is_not_null()
    return rows.with_columns(
        method=pl.when(has_exact).then(pl.lit("sign test")).otherwise("method")
    )


def with_given_ends(rows: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    """Puts the ends of intervals that keys have, `low` and `high`, in place of those of estimates.

    Args:
        rows: estimates, in the order of `keys`.
        keys: see `Sums.keys`.
    """
    if "low" not in keys.columns:
        return rows
    given = keys.select(pl.col("low", "high").cast(pl.Float64))
    is_given = pl.lit(given["low"].is_not_null())
    return rows.with_columns(
        low=pl.coalesce(pl.lit(given["low"]), "low"),
        high=pl.coalesce(pl.lit(given["high"]), "high"),
        method=pl.when(is_given).then(pl.lit(GIVEN)).otherwise("method"),
    )


def with_intervals(
    whole: pl.DataFrame,
    sums: Sums,
    sources: Sequence[VarianceSource],
    method: str,
    settings: StatisticsSettings,
    first: OverFactor,
) -> pl.DataFrame:
    """Adds intervals and, of what is tested, p, q, Holm's correction and the intervals of what was
    selected.
    """
    values = sums.values if first.centre is None else first.centre
    within = settings.range_of(str(whole["measure"][0])) if len(whole) else (0.0, 0.0)
    half = half_width(sources, settings.alpha)
    # Numbers that do not vary at all are not therefore exact.
    low, high = interval_ends(values, np.where(half > 0, half, np.nan), within)
    is_tested = bool(sums.test) or first.least_p is not None
    p = p_of_kind(values - sums.fair, sources, first) if is_tested else np.full(len(values), np.nan)
    if first.least_p is not None:
        # An interval without the fair value is a test that finds something.
        low = np.where(p > settings.alpha, np.minimum(low, sums.fair), low)
        high = np.where(p > settings.alpha, np.maximum(high, sums.fair), high)
    p = np.where(are_too_few(first, sources, settings.alpha), np.nan, p)
    shared = [source for source in sources if source is first.gain]
    own = [source for source in sources if source is not first.gain]
    rows = with_columns_of(whole, low, high, own, method)
    if shared and len(own) == 1:
        rows = rows.with_columns(gain_se=nullable(np.sqrt(shared[0].variance)))
    if not sums.test:
        return rows
    rows = rows.with_columns(p=nullable(p))
    if sums.test == "p":
        # Each is tested alone.
        size = detectable_effect(own, settings.alpha)
        return rows.with_columns(
            detectable=pl.when(pl.col("p").is_not_null()).then(pl.lit(size)).fill_nan(None)
        )
    return rows.with_columns(
        **corrected_columns(values, p, own, shared, within, settings, sums.fair),
        **source_columns(values, own, shared, sums.fair),
    )


def p_of_kind(
    values: FloatArray, sources: Sequence[VarianceSource], first: OverFactor
) -> FloatArray:
    """Returns p of numbers less their fair value over some sources, NaN where there is no test.

    Two units of the first factor are too few to test by. Of numbers that are the same in all of
    them nothing is known but that their signs agree, which is a test over these units alone.

    Args:
        values: shape (numbers,), the middles of their intervals less the fair value.
        sources: what makes them vary.
        first: how they vary with the units of the first factor.
    """
    is_of_units = any(source is first.source for source in sources)
    p = p_values(values, sources)
    if is_of_units and first.constant is not None:
        signs = sign_test_p(np.where(np.abs(values) <= ROUNDING, 0.0, values), first.units)
        others = [source for source in sources if all(source is not own for own in first.sources)]
        # Other factors in which nothing varies either say no more than these signs.
        p = np.where(
            first.constant & np.all([source.variance == 0 for source in others], axis=0), signs, p
        )
    if first.least_p is not None:
        p = np.where(np.isnan(p), p, np.fmax(p, first.least_p))
    if not is_of_units:
        return p
    return np.where(first.units < FEWEST_TESTED, np.nan, p)


def are_too_few(first: OverFactor, sources: Sequence[VarianceSource], alpha: float) -> BoolArray:
    """Returns which numbers are tested by signs and have too few units for a p of at most alpha,
    shape (numbers,).

    Args:
        first: how they vary with the units of the first factor.
        sources: what makes them vary.
        alpha: the level of the test.
    """
    few: BoolArray = first.units < fewest_of_sign_test(alpha)
    none = np.zeros_like(few)
    has_least = none if first.least_p is None else first.least_p > 0
    is_alone = len(sources) == len(first.sources) and sources[0] is first.source
    is_constant = first.constant if is_alone and first.constant is not None else none
    return few & (has_least | is_constant)


def with_columns_of(
    whole: pl.DataFrame,
    low: FloatArray,
    high: FloatArray,
    sources: Sequence[VarianceSource],
    method: str,
) -> pl.DataFrame:
    """Adds the ends of intervals, where they are known, and from what they are made."""
    known = ~np.isnan(low)
    single = sources[0] if len(sources) == 1 else VarianceSource(*np.full((2, len(low)), np.nan))
    se = np.where(known, np.sqrt(single.variance), np.nan)
    columns = {"low": low, "high": high, "se": se, "df": np.where(known, single.df, np.nan)}
    return whole.with_columns(
        method=pl.Series([method if each else None for each in known], dtype=pl.String),
        **{name: nullable(numbers) for name, numbers in columns.items()},
    )


def interval_of_largest(sums: Sums, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of the interval of the largest of several numbers, some of which may count
    without sign.
    """
    along = sums.along[sums.factor]
    found = [
        ends_of_candidate(along.sums, sums.totals, each, alpha / len(sums.finish.candidates))
        for each in sums.finish.candidates
    ]
    lows, highs = (np.stack([each[side] for each in found]) for side in (0, 1))
    return lows.max(axis=0), highs.max(axis=0)


def ends_of_candidate(
    sums: FloatArray, totals: FloatArray, candidate: Candidate, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of the interval of a candidate, shape (numbers,)."""
    values = candidate.function(totals)
    values = np.abs(values) if candidate.by_size else values
    variance, units = jackknife(leave_one_out(sums, totals, candidate.function))
    half = half_width([VarianceSource(variance, (units - 1).astype(np.float64))], alpha)
    low = np.maximum(values - half, 0) if candidate.by_size else values - half
    return low, values + half


def reasons(sums: Sums, first: OverFactor, alpha: float) -> dict[str, pl.Expr]:
    """Returns the column `reason`: why numbers have no interval or no test at level alpha, null if
    they have both.
    """
    unit = unit_of_factor(sums.factor)
    text = (
        pl.when(pl.lit(sums.interval == "none"))
        .then(pl.lit("a ratio without a direction"))
        .when(pl.col("value").is_null())
        .then(pl.lit("no value"))
        .when(pl.col("clusters") < 2)
        .then(pl.format("one {}", pl.lit(unit)))
        .when(pl.Series(np.isnan(first.without).all(axis=1)))
        .then(pl.lit(f"not defined without one of its {unit}s"))
        .when(is_constant(first))
        .then(equal_in_all(sums, alpha))
        .otherwise(pl.lit(f"no interval is known of a {sums.finish.name}"))
    )
    return {"reason": pl.when(pl.col("low").is_null()).then(text).otherwise(too_few_to_test(sums))}


def is_constant(first: OverFactor) -> pl.Expr:
    """Says which numbers are the same in all units of their first factor."""
    return pl.lit(value=False) if first.constant is None else pl.lit(pl.Series(first.constant))


def equal_in_all(sums: Sums, alpha: float) -> pl.Expr:
    """Says that numbers are the same in all units, and whether they are so in too few of these to
    be tested.
    """
    unit = unit_of_factor(sums.factor)
    equal = pl.format("equal in all {} {}s", "clusters", pl.lit(unit))
    needed = fewest_of_sign_test(alpha)
    is_untestable = pl.lit(bool(sums.test)) & (pl.col("clusters") < needed)
    return (
        pl.when(is_untestable)
        .then(pl.format("untestable: {}, {} are needed", equal, pl.lit(needed)))
        .otherwise(equal)
    )


def too_few_to_test(sums: Sums) -> pl.Expr:
    """Says why numbers with an interval have no test; null where they have one or none is
    wanted.
    """
    unit = unit_of_factor(sums.factor)
    is_few = pl.lit(bool(sums.test)) & (pl.col("clusters") < FEWEST_TESTED)
    text = pl.format(
        "untestable: {} {}s, {} are needed", "clusters", pl.lit(unit), pl.lit(FEWEST_TESTED)
    )
    return pl.when(is_few).then(text)


def reasons_over_all(
    over_first: pl.Expr, further: Mapping[str, Sequence[VarianceSource]]
) -> pl.Expr:
    """Returns why numbers have no interval over all factors, null where they have one.

    Args:
        over_first: why they have none over the first, see `reasons`.
        further: by what a factor is called how numbers vary with it, NaN where there is one of its
            units alone.
    """
    reason = over_first
    for factor, sources in further.items():
        one = pl.lit(ONE_OF_FACTOR.get(factor, f"one of the {factor}"))
        is_unknown = np.any([np.isnan(each.variance) for each in sources], axis=0)
        has_value = pl.col("low").is_null() & pl.col("value").is_not_null()
        reason = (
            pl.when(has_value & pl.lit(pl.Series(is_unknown))).then(one).otherwise(reason)
            if sources
            else reason
        )
    return reason
