"""Estimates of numbers from sums: value, intervals over each factor and over all of them, tests.

Whatever a number is a function of, its variance is that of the delete-one jackknife: the sums less those of a unit make
the number without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray, divide
from biasgrid.stats.intervals import (
    VarianceSource,
    half_width,
    interval_ends,
    p_values,
    wilson_interval,
)
from biasgrid.stats.multiplicity import false_discovery_rates, holm, selected_ends
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import difference_of_shares
from biasgrid.stats.sums import PAIR_OF_LISTS, Candidate, Sums, leave_one_out
from biasgrid.stats.variance import NO_PRIOR, Prior, moderate_variances

ROUNDING = 1e-13
"""Values that differ by no more are the same but for rounding: their variance is 0."""
GIVEN = "given by the family"
"""The method of intervals that come with the numbers."""
FACTOR_NAMES = {"templates": "clusters", "subjects": "names", "others": "names"}
"""What factors are called where it is said what a number generalises over, where that is not their own name."""
SHARES = "difference of shares"
"""The intervals of differences of shares; see `shares.difference_of_shares`."""
ADDED = "t with two added units"
"""The method of these."""
TOO_FEW = "fewer than two clusters, or fewer than two names"
"""Why a claim about all factors has no interval."""
UNIT_NAMES = {"templates": "cluster", "clusters": "cluster", "items": "item", "prompts": "prompt"}


def jackknife(without: FloatArray) -> tuple[FloatArray, IntArray]:
    """Returns the jackknife variance of a number, and of how many units it is made.

    Args:
        without: shape (..., units), the number without each unit, NaN where it does not have the unit.

    Returns:
        Shape (...): (T - 1) / T times the sum of squares around their mean, NaN for fewer than two units; and T.
    """
    known = ~np.isnan(without)
    units = known.sum(axis=-1)
    means = divide(np.where(known, without, 0).sum(axis=-1), units)
    deviations = np.where(known, without - means[..., None], 0)
    is_rounding = np.abs(deviations) <= ROUNDING * np.maximum(1, np.abs(means))[..., None]
    squares = (np.where(is_rounding, 0, deviations) ** 2).sum(axis=-1)
    return np.where(units > 1, divide(units - 1, units) * squares, np.nan), units


class OverFactor(NamedTuple):
    """How numbers vary with the units of their first factor; arrays of shape (numbers,).

    Attributes:
        without: shape (numbers, units), the numbers without each unit.
        source: their variance, strengthened by that of others where they are moderated.
        units: how many units they have anything of.
        prior: what their variances have in common.
        centre: around what their intervals lie, None where that is the numbers themselves.
        least_p: the least p that a test may have, None where there is none.
    """

    without: FloatArray
    source: VarianceSource
    units: IntArray
    prior: Prior
    centre: FloatArray | None = None
    least_p: FloatArray | None = None


def over_first_factor(sums: Sums) -> OverFactor:
    """Returns how numbers vary with the units of their first factor, of templates from `Sums.clustered`."""
    without = sums.without
    units = sums.along[sums.factor].present.sum(axis=1)
    if sums.interval == SHARES:
        found = difference_of_shares(sums.along[sums.factor].sums)
        return OverFactor(without, found.source, units, NO_PRIOR, found.centre, found.sign_flip_p)
    variance, _ = jackknife(without)
    if sums.interval == "moderated t":
        source, prior = moderate_variances(variance, units.astype(np.float64))
        return OverFactor(without, source, units, prior)
    return OverFactor(without, VarianceSource(variance, (units - 1).astype(np.float64)), units, NO_PRIOR)


def over_names(sums: Sums, factor: str) -> VarianceSource:
    """Returns how much numbers vary with the units of another factor than the first."""
    along = sums.along[factor]
    if factor == PAIR_OF_LISTS:
        return welch_source(along.sums)
    without = leave_one_out(along.sums, sums.totals, sums.finish.function)
    variance, _ = jackknife(without)
    return VarianceSource(variance, along.present.sum(axis=1) - 1.0)


def welch_source(sums: FloatArray) -> VarianceSource:
    """Returns how much differences of two lists vary with their terms (Welch, 1947, and Satterthwaite, 1946).

    Args:
        sums: shape (numbers, terms, 4), sum and count of the terms of one list, and of the other.
    """
    parts, free = np.full((2, 2, len(sums)), np.nan)
    for side in (0, 1):
        means = divide(sums[..., 2 * side], sums[..., 2 * side + 1])
        count = (~np.isnan(means)).sum(axis=1)
        for number in np.flatnonzero(count > 1):
            known = means[number][~np.isnan(means[number])]
            parts[side, number], free[side, number] = known.var(ddof=1) / len(known), len(known) - 1
    variance = np.asarray(parts.sum(axis=0))
    # Of no variance any degrees of freedom say the same.
    df = np.where(variance == 0, free.min(axis=0), divide(variance**2, (parts**2 / free).sum(axis=0)))
    return VarianceSource(variance, df)


def estimate(parts: Sequence[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Estimates numbers.

    Shares have Wilson's interval with as many cases as their variance over clusters is worth, differences of shares one
    with two added clusters that contradict each other, what is the largest of
    several numbers the interval of the largest of these, all of which hold at once (Bonferroni), and all others that of
    Student's t, cut to their range. Ends of intervals that the keys of numbers have stay as they are.

    Args:
        parts: the numbers, kind by kind; those that are inputs alone have no rows.
        settings: clusters, level and ranges.

    Returns:
        Of each number a row over its first factor and, where that is known, rows over its names and over all factors:
        columns of `MEASURES`, and `is_claim`: whether it is the
        row of the number's claim.
    """
    tables = [rows for part in parts if not part.is_input for rows in rows_of_kind(part, settings)]
    return pl.concat(tables, how="diagonal_relaxed") if tables else pl.DataFrame()


def rows_of_kind(part: Sums, settings: StatisticsSettings) -> Iterator[pl.DataFrame]:
    """Yields the estimates of numbers of one kind over their first factor, over names, and over all factors."""
    sums = part.clustered(settings.clusters)
    first, values = over_first_factor(sums), sums.values
    names = [factor for factor in list(sums.along)[1:] if factor != "attributes"]
    further = {factor: over_names(sums, factor) for factor in list(sums.along)[1:]}
    lists = [further[factor] for factor in names]
    whole = sums.keys.drop("low", "high", strict=False).with_columns(
        value=pl.Series(values), clusters=pl.Series(first.units)
    )
    label = join_factors([sums.factor])
    rows = with_given_ends(over_one_factor(sums, whole, first, settings), sums.keys)
    claims_all = sums.claims_all and bool(names)
    yield rows.with_columns(generalises_to=pl.lit(label), is_claim=pl.lit(not claims_all), **reasons(sums, first))
    of_names, of_all = join_factors(names), join_factors(sums.along)
    if names:
        yield (
            with_intervals(whole, sums, lists, list_method(lists, names), settings, first)
            .with_columns(generalises_to=pl.lit(of_names), is_claim=pl.lit(value=False))
            .drop_nulls("low")
        )
        combined = with_intervals(whole, sums, [first.source, *further.values()], "combined", settings, first)
        kept = combined if claims_all else combined.drop_nulls("low")
        too_few = pl.when(pl.col("low").is_null()).then(pl.lit(TOO_FEW))
        yield kept.with_columns(generalises_to=pl.lit(of_all), is_claim=pl.lit(claims_all), reason=too_few)


def join_factors(factors: Iterable[str]) -> str:
    """Returns what a number generalises over, such as `clusters x names`."""
    return " x ".join(dict.fromkeys(FACTOR_NAMES.get(factor, factor) for factor in factors))


def list_method(sources: Sequence[VarianceSource], names: Sequence[str]) -> str:
    """Names how intervals over names are made."""
    if len(sources) > 1:
        return "combined"
    return "Welch t" if PAIR_OF_LISTS in names else "jackknife t"


def over_one_factor(sums: Sums, whole: pl.DataFrame, first: OverFactor, settings: StatisticsSettings) -> pl.DataFrame:
    """Returns estimates over the first factor."""
    if sums.interval == "none" or whole.is_empty():
        ends = pl.lit(None, pl.Float64)
        return whole.with_columns(low=ends, high=ends, method=pl.lit(None, pl.String))
    is_share = sums.interval == "unit" and settings.units.get(str(whole["measure"][0])) == "share"
    if sums.interval == "effective Wilson" or is_share:
        cases = whole["cases"].fill_null(whole["n"].cast(pl.Float64)) if "cases" in whole.columns else whole["n"]
        low, high, _ = wilson_interval(
            sums.values, cases.cast(pl.Float64).to_numpy(), first.source.variance, first.units, settings.alpha
        )
        return with_columns_of(whole, low, high, [first.source], "effective Wilson")
    if sums.interval == "largest":
        low, high = interval_of_largest(sums, settings.alpha)
        return with_columns_of(whole, low, high, [first.source], "jackknife t of the largest")
    moderated = "moderated t" if first.prior.df > 0 else "t"
    method = moderated if sums.interval == "moderated t" else "jackknife t"
    method = ADDED if sums.interval == SHARES else method
    return with_intervals(whole, sums, [first.source], method, settings, first)


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
    whole: pl.DataFrame, sums: Sums, sources: Sequence[VarianceSource], method: str, settings: StatisticsSettings,
    first: OverFactor,
) -> pl.DataFrame:  # fmt: skip
    """Adds intervals and, of what is tested, p, q, Holm's correction and the intervals of what was selected."""
    values = sums.values if first.centre is None else first.centre
    within = settings.range_of(str(whole["measure"][0])) if len(whole) else (0.0, 0.0)
    low, high = interval_ends(values, half_width(sources, settings.alpha), within)
    p = p_values(values, sources) if sums.test or first.least_p is not None else np.full(len(values), np.nan)
    if first.least_p is not None:
        p = np.where(np.isnan(p), p, np.fmax(p, first.least_p))
        # An interval without 0 is a test that finds something.
        low = np.where(p > settings.alpha, np.minimum(low, 0), low)
        high = np.where(p > settings.alpha, np.maximum(high, 0), high)
    rows = with_columns_of(whole, low, high, sources, method)
    if not sums.test:
        return rows
    rows = rows.with_columns(p=pl.Series(p))
    if sums.test == "p":
        return rows
    q = false_discovery_rates(p, settings.fdr)
    chosen = selected_ends(values, q, list(sources), within, settings.alpha)
    return rows.with_columns(
        q=pl.Series(q), holm=pl.Series(holm(p)), selected_low=pl.Series(chosen[0]), selected_high=pl.Series(chosen[1])
    )


def with_columns_of(
    whole: pl.DataFrame, low: FloatArray, high: FloatArray, sources: Sequence[VarianceSource], method: str
) -> pl.DataFrame:
    """Adds the ends of intervals, where they are known, and from what they are made."""
    known = ~np.isnan(low)
    single = sources[0] if len(sources) == 1 else VarianceSource(*np.full((2, len(low)), np.nan))
    columns = {"low": low, "high": high, "se": np.sqrt(single.variance), "df": np.where(known, single.df, np.nan)}
    return whole.with_columns(
        method=pl.Series([method if each else None for each in known], dtype=pl.String),
        **{name: pl.Series(np.asarray(each, dtype=np.float64)).fill_nan(None) for name, each in columns.items()},
    )


def interval_of_largest(sums: Sums, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Returns both ends of the interval of the largest of several numbers, some of which may count without sign."""
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


def reasons(sums: Sums, first: OverFactor) -> dict[str, pl.Expr]:
    """Returns the column `reason`: why numbers have no interval, null where they have one."""
    unit = UNIT_NAMES.get(sums.factor, sums.factor)
    one = pl.format("one {}", pl.lit(unit))
    equal = pl.format("untestable: equal in all {} {}s", "clusters", pl.lit(unit))
    text = (
        pl.when(pl.lit(sums.interval == "none")).then(pl.lit("a ratio without a direction"))
        .when(pl.col("value").is_null() | pl.col("value").is_nan()).then(pl.lit("no value"))
        .when(pl.col("clusters") < 2).then(one)
        .when(pl.Series(np.isnan(first.without).all(axis=1))).then(pl.lit(f"not defined without one of its {unit}s"))
        .when(pl.lit(sums.interval == "moderated t")).then(equal)
        .otherwise(pl.lit(f"no interval is known of a {sums.finish.name}"))
    )  # fmt: skip
    return {"reason": pl.when(pl.col("low").is_null()).then(text)}
