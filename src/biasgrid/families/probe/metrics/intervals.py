"""Intervals over items and names of the numbers of a probe that are no plain difference.

Both ends of a share are moved out by what names do, a gap without a sign has the ends of the signed differences of its
groups, all of which hold at once, and a ratio joins the intervals of both groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.definitions import Disparity, GroupComparison, Metric
from biasgrid.families.probe.keys import BY_GROUP
from biasgrid.families.probe.metrics.sums import ITEMS, NAMES
from biasgrid.families.probe.pack import Probe
from biasgrid.stats.intervals import VarianceSource, half_width, p_values, wilson_interval
from biasgrid.stats.noise.factors import over_first_factor, over_names
from biasgrid.stats.noise.names import lists_source
from biasgrid.stats.noise.variance import jackknife
from biasgrid.stats.shares import ShareWithInterval, difference_of_shares, ratio_of_shares
from biasgrid.stats.sums import DIFFERENCE, MEAN, PAIR_OF_LISTS, Sums, leave_one_out

ONE_NAME = "one name: nothing can be said of the group"
"""Why a claim about a group has no interval."""
ANY_RATIO = "the other rate may be 0, and so the ratio anything"
"""Why a ratio has no interval."""
AT_CHANCE = "at_chance"
"""The measure of how far above chance right answers are."""
WILSON = "effective Wilson"
OVER_ITEMS, OVER_ALL = "items", "items x names"
LEAST_ITEMS = 2
RANGE_STEPS = 2001
KEY = ("measure", "options", "group")
"""What names a number of a probe that compares no two groups by name."""
Key = tuple[str, str, str | None]


class Claim(NamedTuple):
    """What is known of a number over items and names.

    Attributes:
        low, high: both ends of its interval, NaN where there is none.
        method: how it was made.
        items_part: the share of its squared width that is due to items, NaN where names have none.
        p: of no difference, NaN where that is not tested.
        null_mean: what noise alone gives, NaN where that is 0.
        reason: why there is no interval.
    """

    low: float
    high: float
    method: str
    items_part: float = np.nan
    p: float = np.nan
    null_mean: float = np.nan
    reason: str | None = None


def with_claims(estimates: pl.DataFrame, parts: Sequence[Sums], probe: Probe, alpha: float) -> pl.DataFrame:
    """Gives the numbers of a probe their intervals over items and names.

    Args:
        estimates: from `stats.estimate`.
        parts: the sums.
        probe: the probe, with what its rates are of.
        alpha: how often intervals miss.

    Returns:
        The same rows, and `items_part` of each metric whose interval is over names too.
    """
    claims: dict[Key, Claim] = {}
    for part in parts:
        claims |= claims_of_shares(part, alpha)
    for name, metric in probe.head.metric.items():
        if found := claim_of_metric(name, metric, parts, alpha):
            claims[name, "", None] = found
    over_all = {key_of(part) for part in parts if len(part.along) > 1}
    # In probes, the terms of two lists are names.
    factors = pl.col("generalises_to").str.replace(PAIR_OF_LISTS, "names", literal=True)
    rows = estimates.with_columns(factors).join(
        claims_table(claims), on=KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    taken = pl.col("is_claim") & pl.col("other").is_null() & pl.col("claim").is_not_null()
    claim = pl.col("claim").struct
    over = pl.when(bool(over_all)).then(pl.lit(OVER_ALL)).otherwise(pl.lit(OVER_ITEMS))
    rows = rows.with_columns(
        *(pl.when(taken).then(claim.field(name)).otherwise(name).alias(name) for name in TAKEN),
        *(pl.when(~taken).then(name).alias(name) for name in ("se", "df")),
        generalises_to=pl.when(taken).then(over).otherwise("generalises_to"),
    ).drop("claim")
    rows = rows.with_columns(method=pl.when(pl.col("low").is_not_null()).then("method"))
    is_few = pl.col("low").is_null() & pl.col("value").is_not_null() & (pl.col("clusters") >= LEAST_ITEMS)
    one_name = is_few & (pl.col("generalises_to") == OVER_ALL) & (pl.col("reason").ne_missing(ANY_RATIO))
    rows = rows.with_columns(reason=pl.when(one_name).then(pl.lit(ONE_NAME)).otherwise("reason"))
    parts_of_items = {key: claim.items_part for key, claim in claims.items() if key[0] in probe.head.metric}
    parts_of_items |= {key_of(part): part_of_items(part, alpha) for part in parts if is_signed(part)}
    return pl.concat([rows, items_part(parts_of_items, rows)], how="diagonal_relaxed")


TAKEN = ("low", "high", "method", "p", "null_mean", "reason")
"""What is taken from claims."""


def claims_table(claims: Mapping[Key, Claim]) -> pl.DataFrame:
    """Returns claims by `KEY`, each in the column `claim`."""
    numbers = dict.fromkeys(("low", "high", "items_part", "p", "null_mean"), pl.Float64)
    kind = pl.Struct({name: numbers.get(name, pl.String) for name in Claim._fields})
    known = [
        {name: None if isinstance(each, float) and np.isnan(each) else each for name, each in claim._asdict().items()}
        for claim in claims.values()
    ]
    keys = pl.DataFrame(list(claims), schema=dict.fromkeys(KEY, pl.String), orient="row")
    return keys.with_columns(claim=pl.Series(known, dtype=kind))


def key_of(part: Sums) -> Key:
    """Returns what names the first of some numbers."""
    measure, options, group = part.keys.select(KEY).row(0)
    return measure, options, group


def is_signed(part: Sums) -> bool:
    """Says whether a number is the difference of two groups of all answers, over items and names."""
    return PAIR_OF_LISTS in part.along and part.keys["other"].null_count() == len(part.keys)


class SharesOverNames(NamedTuple):
    """Shares with intervals over items and names; arrays of shape (numbers,).

    Attributes:
        shares: the shares with both ends.
        items_part: the share of their squared widths that is due to items, NaN where names have none.
    """

    shares: ShareWithInterval
    items_part: FloatArray


def shares_over_names(part: Sums, alpha: float) -> SharesOverNames:
    """Returns shares with Wilson's intervals over items, moved out by what names do.

    An end is as far from the share as the root of the sum of both squared distances (MOVER; Zou and Donner, 2008).
    """
    of_means = replace(part, finish=MEAN)
    values, units = of_means.values, part.along[ITEMS].present.sum(axis=1)
    variance, _ = jackknife(of_means.without)
    cases = part.keys["cases"].cast(pl.Float64).to_numpy()
    low, high, _ = wilson_interval(values, cases, variance, units, alpha)
    if NAMES not in part.along:
        return SharesOverNames(ShareWithInterval(values, low, high), np.full(len(values), np.nan))
    names = half_width([over_names(of_means, NAMES)], alpha)
    moved_low, moved_high = values - np.hypot(values - low, names), values + np.hypot(high - values, names)
    items_part = ((high - low) / 2) ** 2 / (((high - low) / 2) ** 2 + names**2)
    return SharesOverNames(ShareWithInterval(values, np.clip(moved_low, 0, 1), np.clip(moved_high, 0, 1)), items_part)


def claims_of_shares(part: Sums, alpha: float) -> dict[Key, Claim]:
    """Returns the claims of shares, and of how far these are above chance, where names are a factor."""
    measure, options = part.keys.select("measure", "options").row(0)
    if NAMES not in part.along or (part.interval != WILSON and measure != AT_CHANCE):
        return {}
    (values, low, high), items = shares_over_names(part, alpha)
    shift = part.values - values
    groups = part.keys["group"].to_list()
    return {
        (measure, options, group): Claim(low[each] + shift[each], high[each] + shift[each], WILSON, items[each])
        for each, group in enumerate(groups)
    }


def claim_of_metric(name: str, metric: Metric, parts: Sequence[Sums], alpha: float) -> Claim | None:
    """Returns the claim of a metric that is no plain mean or difference, None of another.

    Args:
        name: the metric's name.
        metric: the metric.
        parts: the sums of the cell.
        alpha: how often intervals miss.
    """
    by_key = {key_of(part)[:2]: part for part in parts}
    if isinstance(metric, Disparity):
        return claim_of_disparity(by_key[name, ""], metric.centre, alpha)
    groups = by_key.get((BY_GROUP, f"metric={name}"))
    if not isinstance(metric, GroupComparison) or groups is None or len(groups.keys) < len(PAIR):
        return None
    if metric.kind == "ratio":
        is_directed = len(metric.groups or ()) == len(PAIR)
        return claim_of_ratio(groups, is_directed, alpha) if metric.of != "mean" and len(groups.keys) == 2 else None
    return None if len(metric.groups or ()) == len(PAIR) else claim_of_gap(groups, metric.of != "mean", alpha)


PAIR = (0, 1)
"""The places of two groups."""


def claim_of_disparity(part: Sums, centre: float, alpha: float) -> Claim:
    """Returns the claim of how far a share is from what is fair."""
    (_, low, high), items = shares_over_names(part, alpha)
    ends = without_sign(float(low[0]) - centre, float(high[0]) - centre)
    return Claim(*ends, WILSON, float(items[0]))


def without_sign(low: float, high: float) -> tuple[float, float]:
    """Returns the ends of the interval of a size."""
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return (np.nan, np.nan) if np.isnan(low + high) else (nearest, max(abs(low), abs(high)))


def claim_of_ratio(groups: Sums, is_directed: bool, alpha: float) -> Claim:
    """Returns the claim of the ratio of two groups' shares, without a direction of the smaller by the larger one."""
    shares, items = shares_over_names(groups, alpha)
    one, other = (ShareWithInterval(*(each[place : place + 1] for each in shares)) for place in PAIR)
    low, high = (float(end[0]) for end in ratio_of_shares(one, other))
    method = "MOVER-R"
    if np.isnan(low):
        return Claim(np.nan, np.nan, method)
    part = float(items.mean())
    if not is_directed:
        inverse = 1 / low if low > 0 else np.inf
        ends = (min(low, 1 / high), 1.0) if low <= 1 <= high else (low, high) if high < 1 else (1 / high, inverse)
        return Claim(*ends, method, part)
    if np.isinf(high):
        return Claim(np.nan, np.nan, method, reason=ANY_RATIO)
    return Claim(low, high, method, part)


class Apart(NamedTuple):
    """The difference of two groups.

    Attributes:
        centre: shape (1,), around what its interval lies.
        sources: how it varies with items and, where they are known, names.
        least_p: the least p that it may have.
    """

    centre: FloatArray
    sources: Sequence[VarianceSource]
    least_p: float

    def ends(self, alpha: float) -> tuple[float, float]:
        """Returns both ends of its interval, which holds 0 where the exact test does not find a difference."""
        half = half_width(self.sources, alpha)
        low, high = float((self.centre - half)[0]), float((self.centre + half)[0])
        return (min(low, 0.0), max(high, 0.0)) if self.p > alpha else (low, high)

    @property
    def p(self) -> float:
        """P of no difference."""
        return float(np.maximum(p_values(self.centre, self.sources), self.least_p)[0])


def groups_apart(groups: Sums, one: int, other: int, of_shares: bool) -> Apart:
    """Returns the difference of two of some groups."""
    items = np.concatenate([groups.along[ITEMS].sums[place] for place in (one, other)], axis=-1)[None]
    sources = []
    if NAMES in groups.along:
        names = np.concatenate([groups.along[NAMES].sums[place] for place in (one, other)], axis=-1)[None]
        sources.append(lists_source(names))
    if of_shares:
        found = difference_of_shares(items)
        return Apart(found.centre, [found.source, *sources], float(found.sign_flip_p[0]))
    totals = items.sum(axis=1)
    variance, units = jackknife(leave_one_out(items, totals, DIFFERENCE.function))
    return Apart(DIFFERENCE(totals), [VarianceSource(variance, (units - 1).astype(np.float64)), *sources], 0.0)


def claim_of_gap(groups: Sums, of_shares: bool, alpha: float) -> Claim:
    """Returns the claim of the largest difference of groups.

    Its ends are the largest ones of the sizes of all differences, which hold together (Bonferroni). Noise alone gives
    the expected range of as many normal numbers with the variance of these differences.
    """
    count = len(groups.keys)
    pairs = [groups_apart(groups, one, other, of_shares) for one, other in combinations(range(count), 2)]
    ends = np.array([without_sign(*pair.ends(alpha / len(pairs))) for pair in pairs])
    low, high = (float(end) for end in ends.max(axis=0))
    p = min(1.0, len(pairs) * float(np.min([pair.p for pair in pairs])))
    variances = np.array([[float(source.variance[0]) for source in pair.sources] for pair in pairs])
    null_mean = expected_range(count) * float(np.sqrt(variances.sum(axis=1).mean() / 2))
    widths = [np.array([float(half_width([source], alpha)[0]) ** 2 for source in pair.sources]) for pair in pairs]
    items = float(np.mean([each[0] / each.sum() for each in widths])) if NAMES in groups.along else np.nan
    return Claim(low, min(high, 1.0) if of_shares else high, "differences of groups", items, p, null_mean)


def expected_range(count: int) -> float:
    """Returns the mean of the range of so many standard normal numbers (Tippett, 1925)."""
    x = np.linspace(-10, 10, RANGE_STEPS)
    below = ndtr(x)
    return float(np.trapezoid(1 - below**count - (1 - below) ** count, x))


def part_of_items(part: Sums, alpha: float) -> float:
    """Returns which share of the squared width of a difference's interval is due to items."""
    sources = over_first_factor(part).source, lists_source(part.along[PAIR_OF_LISTS].sums)
    items, names = (float(half_width([source], alpha)[0]) ** 2 for source in sources)
    return items / (items + names) if items + names > 0 else np.nan


def items_part(parts: Mapping[Key, float], rows: pl.DataFrame) -> pl.DataFrame:
    """Squared half width of a number's interval over items alone / the same over items and names.

    Args:
        parts: by the key of the number.
        rows: the estimates, of which those of whole cells have such a row.

    Returns:
        Rows of estimates.
    """
    known = {key: each for key, each in parts.items() if key[1:] == ("", None) and not np.isnan(each)}
    table = pl.DataFrame(
        [(measure, share) for (measure, _, _), share in known.items()],
        schema={"measure": pl.String, "value": pl.Float64}, orient="row",
    )  # fmt: skip
    counts = rows.filter("is_claim", options="").filter(pl.col("group").is_null()).select("measure", n="clusters")
    return table.join(counts, on="measure", maintain_order="left").select(
        "value", "n", measure=pl.lit("items_part"), options=pl.format("metric={}", "measure"),
        left_out=pl.lit(0, pl.Int64), is_claim=pl.lit(value=True),
    )  # fmt: skip
