"""Why a number has no interval or no test: the column `reason` of estimates.

A reason is null if nothing is missing. Reasons of numbers that may have an interval, but too few
units for a test, begin with `untestable:`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.random_factors import SHARES, FactorVariance, first_factor_variance
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import estimate_share_differences
from biasgrid.stats.sums import PROMPT_FORMATS, Sums

FEWEST_TESTED = 3
"""Two units are too few to test by: in simulations without any effect 17 to 22 of 100 cells had
significant results.
"""
ATTRIBUTES = "attributes"
UNIT_NAMES = {"templates": "cluster"}
"""Names of single units, if they differ from the factor's own name in the singular."""
SINGLE_UNIT_REASONS = {
    "names": "one name: nothing can be said of the group",
    "terms": "one term: nothing can be said of the group",
    PROMPT_FORMATS: "one prompt format",
    ATTRIBUTES: "one attribute",
}
"""Why a claim about all factors has no interval, if there is a single unit of one of them."""


def singular_factor_name(factor: str) -> str:
    """Returns the name of a single unit of a factor, such as `cluster`."""
    return UNIT_NAMES.get(factor, factor.removesuffix("s"))


def interval_reason(sums: Sums, first: FactorVariance, alpha: float) -> pl.Expr:
    """Returns why numbers have no interval or no test over their first factor.

    Args:
        sums: the numbers.
        first: how they vary over the first factor.
        alpha: the level of tests.

    Returns:
        An expression over rows of estimates, one per number in the order of `sums`, of which it
        reads `value`, `clusters` and `low`. It holds columns of that length, so it fits no other
        rows.
    """
    unit = singular_factor_name(sums.factor)
    # A number that is not defined without some unit is NaN without any (`only_defined`).
    is_undefined = pl.Series(np.isnan(first.without).all(axis=1))
    cases: list[tuple[pl.Expr, pl.Expr]] = [
        (pl.lit(sums.interval == "none"), pl.lit("a ratio without a direction")),
        (pl.col("value").is_null(), pl.lit("no value")),
        (pl.col("clusters") < 2, pl.lit(f"one {unit}")),
        (pl.lit(is_undefined), pl.lit(f"not defined without one of its {unit}s")),
    ]
    if first.constant is not None:
        is_constant = pl.lit(pl.Series(first.constant))
        cases.append((is_constant, constant_reason(sums, alpha)))
    no_interval = pl.lit(f"no interval is known of a {sums.finish.name}")
    # The first case that applies is the reason: a number without a value has no units either, but
    # the value is missing.
    for applies, text in reversed(cases):
        no_interval = pl.when(applies).then(text).otherwise(no_interval)
    return pl.when(pl.col("low").is_null()).then(no_interval).otherwise(no_test_reason(sums))


def constant_reason(sums: Sums, alpha: float) -> pl.Expr:
    """Returns the reason of numbers that are the same in all units of their first factor.

    Such numbers have no variance to test with, only the signs of their units.

    Args:
        sums: the numbers.
        alpha: the level of tests.
    """
    unit = singular_factor_name(sums.factor)
    is_constant = pl.format("equal in all {} {}s", "clusters", pl.lit(unit))
    needed = fewest_sign_test_units(alpha)
    too_few = pl.format("untestable: {}, {} are needed", is_constant, pl.lit(needed))
    is_untestable = pl.lit(sums.is_tested) & (pl.col("clusters") < needed)
    return pl.when(is_untestable).then(too_few).otherwise(is_constant)


def no_test_reason(sums: Sums) -> pl.Expr:
    """Returns why numbers with an interval have no test; null if they have one or need none."""
    unit = singular_factor_name(sums.factor)
    is_untestable = pl.lit(sums.is_tested) & (pl.col("clusters") < FEWEST_TESTED)
    too_few = pl.format(
        "untestable: {} {}s, {} are needed", "clusters", pl.lit(unit), pl.lit(FEWEST_TESTED)
    )
    return pl.when(is_untestable).then(too_few)


def single_unit_reason(reason: pl.Expr, further: Mapping[str, Sequence[VarianceSource]]) -> pl.Expr:
    """Replaces a reason for numbers that have only one unit of a further factor.

    Numbers with an interval, or without a value, keep their reason. The last factor that applies
    gives it.

    Args:
        reason: why there is no interval over the first factor, see `interval_reason`.
        further: how numbers vary with other factors, by the label of the factor; NaN for a number
            with one unit. Empty for a factor that there is not.
    """
    without_interval = pl.col("low").is_null() & pl.col("value").is_not_null()
    for factor, sources in further.items():
        if not sources:
            continue
        is_single = np.isnan([source.variance for source in sources]).any(axis=0)
        applies = without_interval & pl.lit(pl.Series(is_single))
        single = pl.lit(SINGLE_UNIT_REASONS.get(factor, f"one of the {factor}"))
        reason = pl.when(applies).then(single).otherwise(reason)
    return reason


# Tests by signs


def fewest_sign_test_units(alpha: float) -> int:
    """Returns how many units must agree in sign for a p of at most alpha.

    The least p of k units is 2^(1 - k).
    """
    return ceil(1 - log2(alpha))


def sign_test_reasons(part: Sums, settings: StatisticsSettings) -> list[str | None]:
    """Returns why no test by signs can find that shares are unfair; None if one can.

    Args:
        part: differences of shares, or shares of choices between two.
        settings: clusters and level.

    Returns:
        One element per number.
    """
    sums = part.clustered(settings.clusters)
    units = sums.along[sums.factor].present.sum(axis=1)
    needed = fewest_sign_test_units(settings.alpha)
    has_few = are_tested_by_signs(sums) & (units > 0) & (units < needed)
    texts: list[str | None] = [None] * len(units)
    if part.is_tested:
        for place in np.flatnonzero(has_few).tolist():
            texts[place] = too_few_text(
                int(units[place]), singular_factor_name(part.factor), needed
            )
    return texts


def too_few_text(units: int, unit: str, needed: int) -> str:
    """Says how many units a number has, and how many a test needs."""
    plural = "" if units == 1 else "s"
    return f"untestable: {units} {unit}{plural}, {needed} are needed"


def are_tested_by_signs(sums: Sums) -> BoolArray:
    """Says which shares have tests that no p of signs can be below, shape (numbers,)."""
    if sums.interval == SHARES:
        # Signs can be flipped only if every unit has asked both groups.
        return estimate_share_differences(sums.along[sums.factor].sums).paired
    added = first_factor_variance(sums).added
    return np.zeros(len(sums.keys), dtype=np.bool_) if added is None else added
