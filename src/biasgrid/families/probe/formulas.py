"""Kinds of metrics: how each is made of sums over items, and how its interval is made.

The probe's file alone decides both.

The sums of a metric are those of the values that it compares, side by side; of one that compares
none those of all. Both ends of the interval of a share are moved out by what names do, a gap
without a sign has the ends of the signed differences of its groups, all of which hold at once, and
a ratio joins the intervals of both groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.families.probe.definitions import (
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CountOfLabel,
    CovariateLine,
    Disparity,
    ExpectedShare,
    GroupComparison,
    LabelRate,
    Metric,
    ObservationMetric,
    WordShare,
)
from biasgrid.families.probe.keys import BY_GROUP
from biasgrid.families.probe.pack import Probe
from biasgrid.stats.functions import (
    LINE_COLUMNS,
    difference_of_halves,
    difference_of_means,
    distance_from_centre,
    high_less_low,
    join_numbers,
    number_of_columns,
    pearson,
    ratio_of_means,
    size,
    slope_of_line,
    smoothed_share,
    spread_of_means,
)
from biasgrid.stats.noise.items import (
    ANY_RATIO,
    PAIR,
    WILSON,
    Claim,
    claim_of_gap,
    claim_of_ratio,
    part_of_items,
    shares_over_names,
    without_sign,
)
from biasgrid.stats.noise.names import NAMES
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    TOTAL,
    Candidate,
    Finish,
    Function,
    IntervalMethod,
    Sums,
)

SHARES_APART: IntervalMethod = "difference of shares"


class Whole(NamedTuple):
    """How the number of a metric is made.

    Attributes:
        finish: makes it.
        width: of sums of so many columns.
        is_ratio: whether it is, or holds, a ratio without a direction, of which no interval is
            known.
    """

    finish: Finish
    width: int
    is_ratio: bool = False


def count(metric: CountOfLabel) -> Finish:
    """Sum of how much of the label the answers have."""
    return TOTAL


def largest_difference(name: str, metric: GroupComparison, groups: int) -> Finish:
    """Largest mean of a group - smallest mean.

    Of two named groups it is the mean of the first - the mean of the second.
    """
    if is_signed(metric):
        return DIFFERENCE
    pairs = []
    for one, other in combinations(range(groups), 2):
        pairs.append(Candidate(partial(difference_of_means, one=one, other=other)))
    return Finish(name, spread_of_means, pairs)


def smallest_ratio(name: str, metric: GroupComparison) -> Finish:
    """Smallest mean of a group / largest mean.

    Of two named groups it is the mean of the first / the mean of the second.
    """
    return Finish(name, partial(ratio_of_means, signed=is_signed(metric)))


def disparity(name: str, metric: Disparity) -> Finish:
    """|Rate - centre|."""
    signed = partial(distance_from_centre, centre=metric.centre)
    return Finish(name, partial(size, function=signed), [Candidate(signed)])


def slope(metric: CovariateLine) -> Function:
    """Sum of (x - mean of x)(y - mean of y) / sum of (x - mean of x)².

    x is the covariate of an item, and y its rate.
    """
    return partial(slope_of_line, bounded=metric.bounded)


def correlation(metric: CovariateLine) -> Function:
    """Pearson's r of the covariate and the rate of items: covariance / standard deviations."""
    return pearson


def word_share(metric: WordShare) -> Function:
    """(Words of the list + plus) / (words of both lists + 2 plus)."""
    return partial(smoothed_share, plus=metric.plus)


def categories(name: str, metric: CategoryScores) -> Finish:
    """Times * (mean of the means of high categories - mean of those of low ones) + plus.

    If the metric is `absolute`, it is the size of this.
    """
    high = len(metric.high) or 1
    signed = partial(high_less_low, high=high, times=metric.times, plus=metric.plus)
    if not metric.absolute:
        return Finish(name, signed)
    return Finish(name, partial(size, function=signed), [Candidate(signed)])


def largest(name: str, parts: Sequence[Whole]) -> Finish:
    """Largest of the metrics."""
    join = partial(join_numbers, functions=functions_of_parts(parts), join=np.max)
    # Of a ratio without a direction no interval is known, so there is none of the largest either.
    if any(part.is_ratio for part in parts):
        return Finish(name, join)
    candidates = []
    for part, place in columns_of_parts(parts):
        alone = Candidate(part.finish.function, by_size=False)
        for candidate in part.finish.candidates or [alone]:
            of_columns = partial(number_of_columns, columns=place, function=candidate.function)
            candidates.append(candidate._replace(function=of_columns))
    return Finish(name, join, candidates)


def average(name: str, parts: Sequence[Whole]) -> Finish:
    """Sum of the metrics / how many they are."""
    functions = functions_of_parts(parts)
    return Finish(name, partial(join_numbers, functions=functions, join=np.mean))


def functions_of_parts(parts: Sequence[Whole]) -> list[Function]:
    """Returns the functions of several numbers whose sums lie side by side."""
    return [
        partial(number_of_columns, columns=place, function=part.finish.function)
        for part, place in columns_of_parts(parts)
    ]


def columns_of_parts(parts: Sequence[Whole]) -> Iterator[tuple[Whole, slice]]:
    """Yields numbers and which columns these have, of sums side by side."""
    ends = accumulate(part.width for part in parts)
    for part, end in zip(parts, ends, strict=True):
        yield part, slice(end - part.width, end)


def is_signed(metric: GroupComparison) -> bool:
    """Whether the first of two groups is compared with the second.

    Otherwise the group with the largest mean is compared with the one with the smallest.
    """
    return metric.groups is not None and len(metric.groups) == 2


def is_of_two(metric: Metric) -> bool:
    """Whether a metric is the difference of two named groups, whose names are two lists."""
    compares = isinstance(metric, WordShare) or (
        isinstance(metric, GroupComparison) and metric.kind == "difference"
    )
    return compares and len(getattr(metric, "groups", None) or ()) == 2


def interval_of_metric(metric: Metric, whole: Whole) -> IntervalMethod:
    """Returns how the interval of a metric is made."""
    if whole.is_ratio:
        return "none"
    if whole.finish.candidates:
        return "largest"
    if is_of_two(metric) and is_of_shares(metric):
        return SHARES_APART
    return "effective Wilson" if isinstance(metric, ExpectedShare | LabelRate | WordShare) else "t"


def is_of_shares(metric: Metric) -> bool:
    """Whether a metric is a share, or compares shares."""
    compares = isinstance(metric, GroupComparison) and metric.of != "mean"
    return compares or isinstance(metric, ExpectedShare | LabelRate | WordShare | Disparity)


def wholes_of_probe(probe: Probe) -> dict[str, Whole]:
    """Returns by metric how its number is made, of all that are made of sums."""
    wholes: dict[str, Whole] = {}
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            wholes[name] = whole_of_metric(name, metric, probe)
        elif isinstance(metric, CombinedMetric):
            parts = list(parts_of_combined(metric, wholes).values())
            make = largest if metric.kind == "largest" else average
            wholes[name] = Whole(
                make(f"metric {name}", parts),
                width=sum(part.width for part in parts),
                is_ratio=any(part.is_ratio for part in parts),
            )
    return wholes


def whole_of_metric(name: str, metric: ObservationMetric, probe: Probe) -> Whole:
    """Returns how the number of a metric is made of the sums of the values that it compares."""
    values = len(compared_values(metric, probe)) or 1
    columns = LINE_COLUMNS if isinstance(metric, CovariateLine) else 2
    is_ratio = False
    if isinstance(metric, GroupComparison):
        is_ratio = metric.kind == "ratio" and not is_signed(metric)
    return Whole(
        finish_of_whole(f"metric {name}", metric, values),
        width=values * columns,
        is_ratio=is_ratio,
    )


def parts_of_combined(metric: CombinedMetric, above: Mapping[str, Whole]) -> dict[str, Whole]:
    """Returns the parts of a combined metric, in the order of its sums."""
    return {name: whole for name, whole in above.items() if name in metric.of}


def finish_of_whole(name: str, metric: ObservationMetric, values: int) -> Finish:
    """Returns the function that makes the number of a metric out of sums.

    Args:
        name: name of the function, for tables.
        metric: the metric.
        values: how many values it compares.
    """
    match metric:
        case GroupComparison(kind="ratio"):
            return smallest_ratio(name, metric)
        case GroupComparison():
            return largest_difference(name, metric, values)
        case CategoryScores():
            return categories(name, metric)
        case Disparity():
            return disparity(name, metric)
        case CovariateLine() | WordShare():
            function = function_of_group(metric)
            if metric.groups:
                function = partial(difference_of_halves, function=function)
            return Finish(name, function)
        case CountOfLabel():
            return count(metric)
        case _:
            return MEAN


def finish_of_group(name: str, metric: ObservationMetric) -> Finish:
    """Returns the function that makes the number of each group or value that a metric compares."""
    if isinstance(metric, CovariateLine | WordShare):
        return Finish(f"metric {name} of a group", function_of_group(metric))
    return count(metric) if isinstance(metric, CountOfLabel) else MEAN


def function_of_group(metric: CovariateLine | WordShare) -> Function:
    """Returns the function that makes the number of one of two groups, or of all answers."""
    if isinstance(metric, WordShare):
        return word_share(metric)
    return slope(metric) if metric.kind == "slope" else correlation(metric)


def above_chance(probe: Probe) -> Finish:
    """Share of right answers - 1 / number of labels."""
    return Finish("above chance", partial(distance_from_centre, centre=1 / len(probe.labels)))


def compared_key(metric: ObservationMetric) -> str:
    """Returns the key of prompts whose values a metric compares."""
    return getattr(metric, "by", None) or GROUP_KEY


def named_values(metric: ObservationMetric) -> Sequence[str]:
    """Returns the values that a metric compares because its section names them."""
    if isinstance(metric, CategoryScores):
        return (*metric.high, *metric.low) if metric.by else ()
    return getattr(metric, "groups", None) or ()


def compared_values(metric: ObservationMetric, probe: Probe) -> Sequence[str]:
    """Returns the values that a metric compares.

    These are the values that it names, or all that the prompts of a probe have; none for a metric
    that compares nothing.
    """
    named = named_values(metric)
    if named or not isinstance(metric, GroupComparison):
        return named
    values = set()
    for keys in probe.keys:
        is_counted = all(str(keys.get(key)) == value for key, value in metric.where.items())
        if is_counted and keys.get(metric.by) is not None:
            values.add(str(keys[metric.by]))
    return sorted(values)


ONE_NAME = "one name: nothing can be said of the group"
"""Why a claim about a group has no interval."""
AT_CHANCE = "at_chance"
"""The measure of how far above chance right answers are."""
OVER_ITEMS, OVER_ALL = "items", "items x names"
LEAST_ITEMS = 2
KEY = ("measure", "options", "group")
"""What names a number of a probe that compares no two groups by name."""
Key = tuple[str, str, str | None]


def with_claims(
    estimates: pl.DataFrame, parts: Sequence[Sums], probe: Probe, alpha: float
) -> pl.DataFrame:
    """Gives the numbers of a probe their intervals over items and names.

    Args:
        estimates: from `stats.estimate`.
        parts: the sums.
        probe: the probe, with `among` of its rates.
        alpha: how often intervals miss.

    Returns:
        The same rows, and `items_part` of each metric whose interval is over names too.
    """
    claims = claims_of_probe(parts, probe, alpha)
    over_names = any(len(part.along) > 1 for part in parts)
    rows = with_claim_columns(estimates, claims, OVER_ALL if over_names else OVER_ITEMS)
    shares_of_items: dict[Key, float] = {}
    for key, claim in claims.items():
        measure, _, _ = key
        if measure in probe.head.metric:
            shares_of_items[key] = claim.items_part
    for part in parts:
        if PAIR_OF_LISTS in part.along and part.keys["other"].is_null().all():
            shares_of_items[key_of(part)] = part_of_items(part, alpha)
    return pl.concat([rows, items_part(shares_of_items, rows)], how="diagonal_relaxed")


def claims_of_probe(parts: Sequence[Sums], probe: Probe, alpha: float) -> dict[Key, Claim]:
    """Returns the claims of shares, and of metrics that are no plain means or differences."""
    claims: dict[Key, Claim] = {}
    for part in parts:
        claims |= claims_of_shares(part, alpha)
    for name, metric in probe.head.metric.items():
        claim = claim_of_metric(name, metric, parts, alpha)
        if claim is not None:
            claims[name, "", None] = claim
    return claims


def with_claim_columns(
    estimates: pl.DataFrame, claims: Mapping[Key, Claim], over: str
) -> pl.DataFrame:
    """Puts claims in place of the intervals of estimates, and says why others have none.

    Args:
        estimates: from `stats.estimate`.
        claims: the claims.
        over: the factors that these generalise to.
    """
    # In probes, the terms of two lists are names.
    factors = pl.col("generalises_to").str.replace(PAIR_OF_LISTS, "names", literal=True)
    rows = estimates.with_columns(factors)
    table = claims_table(claims)
    rows = rows.join(table, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    is_claimed = pl.col("claim").is_not_null()
    taken = pl.col("is_claim") & pl.col("other").is_null() & is_claimed
    claim = pl.col("claim").struct
    columns = {name: pl.when(taken).then(claim.field(name)).otherwise(name) for name in TAKEN}
    # An interval of a claim is not made of one variance.
    columns |= {name: pl.when(~taken).then(name) for name in ("se", "df")}
    columns["generalises_to"] = pl.when(taken).then(pl.lit(over)).otherwise("generalises_to")
    rows = rows.with_columns(**columns).drop("claim")
    has_interval = pl.col("low").is_not_null()
    rows = rows.with_columns(method=pl.when(has_interval).then("method"))
    # With a value and several items, only the names can be too few.
    has_items = pl.col("value").is_not_null() & (pl.col("clusters") >= LEAST_ITEMS)
    is_over_names = pl.col("generalises_to") == OVER_ALL
    is_ratio = pl.col("reason").eq_missing(ANY_RATIO)
    lacks_names = ~has_interval & has_items & is_over_names & ~is_ratio
    reason = pl.when(lacks_names).then(pl.lit(ONE_NAME)).otherwise("reason")
    return rows.with_columns(reason=reason)


TAKEN = ("low", "high", "method", "p", "null_mean", "reason")
"""What is taken from claims."""


def claims_table(claims: Mapping[Key, Claim]) -> pl.DataFrame:
    """Returns claims by `KEY`, each in the column `claim`; null where they have NaN."""
    numbers = dict.fromkeys(("low", "high", "items_part", "p", "null_mean"), pl.Float64)
    fields = {name: numbers.get(name, pl.String) for name in Claim._fields}
    rows = []
    for claim in claims.values():
        rows.append({name: null_if_nan(value) for name, value in claim._asdict().items()})
    keys = pl.DataFrame(list(claims), schema=dict.fromkeys(KEY, pl.String), orient="row")
    return keys.with_columns(claim=pl.Series(rows, dtype=pl.Struct(fields)))


def null_if_nan(value: object) -> object:
    """Returns a value, None in place of NaN."""
    return None if isinstance(value, float) and np.isnan(value) else value


def key_of(part: Sums) -> Key:
    """Returns the key of the first of some numbers."""
    measure, options, group = part.keys.select(KEY).row(0)
    return measure, options, group


def claims_of_shares(part: Sums, alpha: float) -> dict[Key, Claim]:
    """Returns the claims of shares, and of their distance above chance; none without names."""
    measure, options, _ = key_of(part)
    if NAMES not in part.along or (part.interval != WILSON and measure != AT_CHANCE):
        return {}
    (values, low, high), items = shares_over_names(part, alpha)
    # Above chance, a share and its interval are moved alike.
    shift = part.values - values
    low, high = low + shift, high + shift
    claims: dict[Key, Claim] = {}
    for place, group in enumerate(part.keys["group"].to_list()):
        claims[measure, options, group] = Claim(low[place], high[place], WILSON, items[place])
    return claims


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
    is_directed = is_signed(metric)
    are_shares = metric.of != "mean"
    if metric.kind == "ratio":
        # Of more than two groups, or of means, no interval of a ratio is known.
        if not are_shares or len(groups.keys) > len(PAIR):
            return None
        return claim_of_ratio(groups, is_directed, alpha)
    # The difference of two named groups is a plain one.
    return None if is_directed else claim_of_gap(groups, are_shares, alpha)


def claim_of_disparity(part: Sums, centre: float, alpha: float) -> Claim:
    """Returns the claim of the distance of a share from equal treatment."""
    (_, low, high), items = shares_over_names(part, alpha)
    ends = without_sign(float(low[0]) - centre, float(high[0]) - centre)
    return Claim(*ends, WILSON, float(items[0]))


def items_part(parts: Mapping[Key, float], rows: pl.DataFrame) -> pl.DataFrame:
    """Squared half width of a number's interval over items alone / the same over items and names.

    Args:
        parts: by the key of the number.
        rows: the estimates, of which those of whole cells have such a row.

    Returns:
        Rows of estimates.
    """
    shares = []
    for (measure, options, group), share in parts.items():
        if options == "" and group is None and not np.isnan(share):
            shares.append((measure, share))
    schema = {"measure": pl.String, "value": pl.Float64}
    table = pl.DataFrame(shares, schema=schema, orient="row")
    wholes = rows.filter(pl.col("is_claim"), pl.col("group").is_null(), options="")
    counts = wholes.select("measure", n="clusters")
    return table.join(counts, on="measure", maintain_order="left").select(
        "value",
        "n",
        measure=pl.lit("items_part"),
        options=pl.format("metric={}", "measure"),
        left_out=pl.lit(0, pl.Int64),
        is_claim=pl.lit(value=True),
    )
