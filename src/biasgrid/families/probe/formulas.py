"""The kinds of metrics: how each is made of sums over items, which the probe's file alone tells,
and its interval.

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
    """Largest mean of a group - smallest mean; of two named groups the mean of the first - that of
    the second.
    """
    if is_signed(metric):
        return DIFFERENCE
    pairs = [
        Candidate(partial(difference_of_means, one=one, other=other))
        for one, other in combinations(range(groups), 2)
    ]
    return Finish(name, spread_of_means, pairs)


def smallest_ratio(name: str, metric: GroupComparison) -> Finish:
    """Smallest mean of a group / largest mean; of two named groups the mean of the first / that of
    the second.
    """
    return Finish(name, partial(ratio_of_means, signed=is_signed(metric)))


def disparity(name: str, metric: Disparity) -> Finish:
    """|Rate - centre|."""
    signed = partial(distance_from_centre, centre=metric.centre)
    return Finish(name, partial(size, function=signed), [Candidate(signed)])


def slope(metric: CovariateLine) -> Function:
    """Sum of (x - mean of x)(y - mean of y) / sum of (x - mean of x)², of x the covariate and y the
    rate of items.
    """
    return partial(slope_of_line, bounded=metric.bounded)


def correlation(metric: CovariateLine) -> Function:
    """Pearson's r: covariance of covariate and rate of items / (their standard deviations
    multiplied).
    """
    return pearson


def word_share(metric: WordShare) -> Function:
    """(Words of the list + plus) / (words of both lists + 2 plus)."""
    return partial(smoothed_share, plus=metric.plus)


def categories(name: str, metric: CategoryScores) -> Finish:
    """Times * (mean over high categories of mean scores - mean over low ones) + plus; its size
    where `absolute`.
    """
    signed = partial(
        high_less_low, high=len(metric.high) or 1, times=metric.times, plus=metric.plus
    )
    return (
        Finish(name, partial(size, function=signed), [Candidate(signed)])
        if metric.absolute
        else Finish(name, signed)
    )


def largest(name: str, parts: Sequence[Whole]) -> Finish:
    """Largest of the metrics."""
    functions = functions_of_parts(parts)
    candidates = [
        each._replace(function=partial(number_of_columns, columns=place, function=each.function))
        for part, place in columns_of_parts(parts)
        for each in part.finish.candidates or [Candidate(part.finish.function, by_size=False)]
    ]
    is_ratio = any(part.is_ratio for part in parts)
    return Finish(
        name,
        partial(join_numbers, functions=functions, join=np.max),
        () if is_ratio else candidates,
    )


def average(name: str, parts: Sequence[Whole]) -> Finish:
    """Sum of the metrics / how many they are."""
    functions = functions_of_parts(parts)
    return Finish(name, partial(join_numbers, functions=functions, join=np.mean))


def functions_of_parts(parts: Sequence[Whole]) -> list[Function]:
    """Returns what makes each of some numbers of sums side by side."""
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
    """Says whether the first of two groups is compared with the second, not the largest with the
    smallest.
    """
    return metric.groups is not None and len(metric.groups) == 2


def is_of_two(metric: Metric) -> bool:
    """Says whether a metric is the difference of two named groups, whose names are two lists."""
    compares = isinstance(metric, WordShare) or (
        isinstance(metric, GroupComparison) and metric.kind == "difference"
    )
    return compares and len(getattr(metric, "groups", None) or ()) == 2


def interval_of_metric(metric: Metric, whole: Whole) -> IntervalMethod:
    """Returns how the interval of a metric is made."""
    if whole.is_ratio or whole.finish.candidates:
        return "none" if whole.is_ratio else "largest"
    if is_of_two(metric) and is_of_shares(metric):
        return SHARES_APART
    return "effective Wilson" if isinstance(metric, ExpectedShare | LabelRate | WordShare) else "t"


def is_of_shares(metric: Metric) -> bool:
    """Says whether a metric is a share, or compares shares."""
    compares = isinstance(metric, GroupComparison) and metric.of != "mean"
    return compares or isinstance(metric, ExpectedShare | LabelRate | WordShare | Disparity)


def wholes_of_probe(probe: Probe) -> dict[str, Whole]:
    """Returns by metric how its number is made, of all that are made of sums."""
    found: dict[str, Whole] = {}
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            values = len(compared_values(metric, probe)) or 1
            is_ratio = (
                isinstance(metric, GroupComparison)
                and metric.kind == "ratio"
                and not is_signed(metric)
            )
            width = values * (LINE_COLUMNS if isinstance(metric, CovariateLine) else 2)
            found[name] = Whole(finish_of_whole(f"metric {name}", metric, values), width, is_ratio)
        elif isinstance(metric, CombinedMetric):
            parts = list(parts_of_combined(metric, found).values())
            make = largest if metric.kind == "largest" else average
            width, is_ratio = (
                sum(part.width for part in parts),
                any(part.is_ratio for part in parts),
            )
            found[name] = Whole(make(f"metric {name}", parts), width, is_ratio)
    return found


def parts_of_combined(metric: CombinedMetric, above: Mapping[str, Whole]) -> dict[str, Whole]:
    """Returns what a metric is the largest or the average of, in the order of its sums."""
    return {name: whole for name, whole in above.items() if name in metric.of}


def finish_of_whole(name: str, metric: ObservationMetric, values: int) -> Finish:
    """Returns what makes the number of a metric.

    Args:
        name: of what makes it.
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
            of_one = function_of_group(metric)
            return Finish(
                name, partial(difference_of_halves, function=of_one) if metric.groups else of_one
            )
        case _:
            return count(metric) if isinstance(metric, CountOfLabel) else MEAN


def finish_of_group(name: str, metric: ObservationMetric) -> Finish:
    """Returns what makes the number of each group or value that a metric compares."""
    if isinstance(metric, CovariateLine | WordShare):
        return Finish(f"metric {name} of a group", function_of_group(metric))
    return count(metric) if isinstance(metric, CountOfLabel) else MEAN


def function_of_group(metric: CovariateLine | WordShare) -> Function:
    """Returns what makes the number of one of two groups, or that of all."""
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
    """Returns the values that a metric compares: those that it names, or all that the prompts of a
    probe have.
    """
    named = named_values(metric)
    if named or not isinstance(metric, GroupComparison):
        return named
    asked = [
        keys
        for keys in probe.keys
        if all(str(keys.get(key)) == value for key, value in metric.where.items())
    ]
    return sorted({str(keys[metric.by]) for keys in asked if keys.get(metric.by) is not None})


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
    is_few = (
        pl.col("low").is_null()
        & pl.col("value").is_not_null()
        & (pl.col("clusters") >= LEAST_ITEMS)
    )
    one_name = (
        is_few & (pl.col("generalises_to") == OVER_ALL) & (pl.col("reason").ne_missing(ANY_RATIO))
    )
    rows = rows.with_columns(reason=pl.when(one_name).then(pl.lit(ONE_NAME)).otherwise("reason"))
    parts_of_items = {
        key: claim.items_part for key, claim in claims.items() if key[0] in probe.head.metric
    }
    of_two_groups = (
        part for part in parts if PAIR_OF_LISTS in part.along and part.keys["other"].is_null().all()
    )
    parts_of_items |= {key_of(part): part_of_items(part, alpha) for part in of_two_groups}
    return pl.concat([rows, items_part(parts_of_items, rows)], how="diagonal_relaxed")


TAKEN = ("low", "high", "method", "p", "null_mean", "reason")
"""What is taken from claims."""


def claims_table(claims: Mapping[Key, Claim]) -> pl.DataFrame:
    """Returns claims by `KEY`, each in the column `claim`."""
    numbers = dict.fromkeys(("low", "high", "items_part", "p", "null_mean"), pl.Float64)
    kind = pl.Struct({name: numbers.get(name, pl.String) for name in Claim._fields})
    known = [
        {
            name: None if isinstance(each, float) and np.isnan(each) else each
            for name, each in claim._asdict().items()
        }
        for claim in claims.values()
    ]
    keys = pl.DataFrame(list(claims), schema=dict.fromkeys(KEY, pl.String), orient="row")
    return keys.with_columns(claim=pl.Series(known, dtype=kind))


def key_of(part: Sums) -> Key:
    """Returns what names the first of some numbers."""
    measure, options, group = part.keys.select(KEY).row(0)
    return measure, options, group


def claims_of_shares(part: Sums, alpha: float) -> dict[Key, Claim]:
    """Returns the claims of shares, and of how far these are above chance, where names are a
    factor.
    """
    measure, options = part.keys.select("measure", "options").row(0)
    if NAMES not in part.along or (part.interval != WILSON and measure != AT_CHANCE):
        return {}
    (values, low, high), items = shares_over_names(part, alpha)
    shift = part.values - values
    groups = part.keys["group"].to_list()
    return {
        (measure, options, group): Claim(
            low[each] + shift[each], high[each] + shift[each], WILSON, items[each]
        )
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
        return (
            claim_of_ratio(groups, is_directed, alpha)
            if metric.of != "mean" and len(groups.keys) == 2
            else None
        )
    return (
        None
        if len(metric.groups or ()) == len(PAIR)
        else claim_of_gap(groups, metric.of != "mean", alpha)
    )


def claim_of_disparity(part: Sums, centre: float, alpha: float) -> Claim:
    """Returns the claim of how far a share is from what is fair."""
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
    known = {
        key: each for key, each in parts.items() if key[1:] == ("", None) and not np.isnan(each)
    }
    table = pl.DataFrame(
        [(measure, share) for (measure, _, _), share in known.items()],
        schema={"measure": pl.String, "value": pl.Float64},
        orient="row",
    )
    counts = (
        rows.filter("is_claim", options="")
        .filter(pl.col("group").is_null())
        .select("measure", n="clusters")
    )
    return table.join(counts, on="measure", maintain_order="left").select(
        "value",
        "n",
        measure=pl.lit("items_part"),
        options=pl.format("metric={}", "measure"),
        left_out=pl.lit(0, pl.Int64),
        is_claim=pl.lit(value=True),
    )
