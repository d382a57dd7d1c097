"""Intervals over items and names of numbers of a probe that are no plain means or differences.

Both ends of the interval of a share are moved out by the variance over names, a gap without a sign
has the ends of the signed differences of its groups, all of which hold at once, and a ratio joins
the intervals of both groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from biasgrid.families.probe.definitions import Disparity, GroupComparison, Metric, Probe
from biasgrid.stats.group_intervals import (
    ANY_RATIO,
    PAIR,
    WILSON,
    Claim,
    gap_claim,
    items_share,
    ratio_claim,
    shares_over_names,
    without_sign,
)
from biasgrid.stats.noise.random_factors import NAMES
from biasgrid.stats.sums import PAIR_OF_LISTS, Sums

BY_GROUP, AT_CHANCE, ITEMS_PART = "by_group", "at_chance", "items_part"
"""Measures of one group that a metric compares, of how far above chance right answers are, and of
the share of an interval's squared width that is due to items.
"""
ONE_NAME = "one name: nothing can be said of the group"
"""Why a claim about a group has no interval."""
OVER_ITEMS, OVER_ALL = "items", "items x names"
LEAST_ITEMS = 2
CLAIM_KEY = ("measure", "options", "group")
"""Columns that name a number of a probe that compares no two groups by name."""
ClaimKey = tuple[str, str, str | None]
REPLACED = ("low", "high", "method", "p", "null_mean", "reason")
"""Columns of estimates that claims replace."""


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
    metrics = probe.head.metric
    claims: dict[ClaimKey, Claim] = {}
    for part in parts:
        claims |= share_claims(part, alpha)
    for name, metric in metrics.items():
        claim = metric_claim(name, metric, parts, alpha)
        if claim is not None:
            claims[name, "", None] = claim
    over_names = any(len(part.along) > 1 for part in parts)
    rows = replace_intervals(estimates, claims, OVER_ALL if over_names else OVER_ITEMS)
    item_parts = {key: claim.items_part for key, claim in claims.items() if key[0] in metrics}
    for part in parts:
        if PAIR_OF_LISTS in part.along and part.keys["other"].is_null().all():
            item_parts[claim_key(part)] = items_share(part, alpha)
    return pl.concat([rows, items_part(item_parts, rows)], how="diagonal_relaxed")


def claim_key(part: Sums) -> ClaimKey:
    """Returns the key of the first of some numbers."""
    measure, options, group = part.keys.select(CLAIM_KEY).row(0)
    return measure, options, group


def replace_intervals(
    estimates: pl.DataFrame, claims: Mapping[ClaimKey, Claim], over: str
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
    rows = rows.join(table, on=CLAIM_KEY, how="left", nulls_equal=True, maintain_order="left")
    is_claimed = pl.col("is_claim") & pl.col("other").is_null() & pl.col("claim").is_not_null()
    claim = pl.col("claim").struct
    columns = {
        name: pl.when(is_claimed).then(claim.field(name)).otherwise(name) for name in REPLACED
    }
    # An interval of a claim is not made of one variance.
    columns |= {name: pl.when(~is_claimed).then(name) for name in ("se", "df")}
    columns["generalises_to"] = pl.when(is_claimed).then(pl.lit(over)).otherwise("generalises_to")
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


def claims_table(claims: Mapping[ClaimKey, Claim]) -> pl.DataFrame:
    """Returns claims by `CLAIM_KEY`, each in the column `claim`; null in place of NaN."""
    keys = pl.DataFrame(list(claims), schema=dict.fromkeys(CLAIM_KEY, pl.String), orient="row")
    types = dict.fromkeys(Claim._fields, pl.Float64) | dict.fromkeys(
        ("method", "reason"), pl.String
    )
    table = pl.DataFrame(list(claims.values()), schema=types, orient="row").fill_nan(None)
    return keys.with_columns(claim=table.to_struct())


def share_claims(part: Sums, alpha: float) -> dict[ClaimKey, Claim]:
    """Returns the claims of shares, and of their distance above chance; none without names."""
    measure, options, _ = claim_key(part)
    if NAMES not in part.along or (part.interval != WILSON and measure != AT_CHANCE):
        return {}
    (values, low, high), items = shares_over_names(part, alpha)
    # Above chance, a share and its interval are moved alike.
    shift = part.values - values
    low, high = low + shift, high + shift
    claims: dict[ClaimKey, Claim] = {}
    for place, group in enumerate(part.keys["group"].to_list()):
        claims[measure, options, group] = Claim(low[place], high[place], WILSON, items[place])
    return claims


def metric_claim(name: str, metric: Metric, parts: Sequence[Sums], alpha: float) -> Claim | None:
    """Returns the claim of a metric that is no plain mean or difference, None for another metric.

    Args:
        name: the metric's name.
        metric: the metric.
        parts: the sums of the cell.
        alpha: how often intervals miss.
    """
    by_key = {claim_key(part)[:2]: part for part in parts}
    if isinstance(metric, Disparity):
        (_, low, high), items = shares_over_names(by_key[name, ""], alpha)
        ends = without_sign(float(low[0]) - metric.centre, float(high[0]) - metric.centre)
        return Claim(*ends, WILSON, float(items[0]))
    groups = by_key.get((BY_GROUP, f"metric={name}"))
    if not isinstance(metric, GroupComparison) or groups is None or len(groups.keys) < len(PAIR):
        return None
    if metric.kind == "ratio":
        # Of more than two groups, or of means, no interval of a ratio is known.
        if not metric.has_shares or len(groups.keys) > len(PAIR):
            return None
        return ratio_claim(groups, is_directed=metric.is_signed, alpha=alpha)
    # The difference of two named groups is a plain one.
    return (
        None if metric.is_signed else gap_claim(groups, has_shares=metric.has_shares, alpha=alpha)
    )


def items_part(parts: Mapping[ClaimKey, float], rows: pl.DataFrame) -> pl.DataFrame:
    """Squared half width of a number's interval over items alone / the same over items and names.

    Args:
        parts: by the key of the number; NaN has no row.
        rows: the estimates; only numbers of whole cells have such a row.

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
        measure=pl.lit(ITEMS_PART),
        options=pl.format("metric={}", "measure"),
        left_out=pl.lit(0, pl.Int64),
        is_claim=pl.lit(value=True),
    )
