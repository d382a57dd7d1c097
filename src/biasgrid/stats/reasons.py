"""Why a number has no interval or no test: the column `reason` of estimates.

A reason is null if nothing is missing. Reasons of numbers that may have an interval, but too few
units for a test, begin with `untestable:`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from biasgrid.stats.intervals import VarianceSource, fewest_sign_test_units
from biasgrid.stats.noise.random_factors import FactorVariance
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
        An expression over rows of estimates, which must be one per number in the order of `sums`:
        it holds columns of that length. It reads the columns `value`, `clusters` and `low`. It is
        null for numbers that have both.
    """
    unit = singular_factor_name(sums.factor)
    # `leave_one_out` makes a number NaN without each unit if it is undefined without one of them.
    is_undefined = pl.Series(np.isnan(first.without).all(axis=1))
    is_constant = pl.Series(first.is_constant)
    cases: list[tuple[pl.Expr, pl.Expr]] = [
        (pl.lit(sums.interval == "none"), pl.lit("a ratio without a direction")),
        (pl.col("value").is_null(), pl.lit("no value")),
        (pl.col("clusters") < 2, pl.lit(f"one {unit}")),
        (pl.lit(is_undefined), pl.lit(f"not defined without one of its {unit}s")),
        (pl.lit(is_constant), constant_reason(sums, alpha)),
    ]
    no_interval = pl.lit(f"no interval is known of a {sums.finish.name}")
    # The first case that applies is the reason: a number without a value has no units either, but
    # the value is missing.
    for applies, text in reversed(cases):
        no_interval = pl.when(applies).then(text).otherwise(no_interval)
    no_test = no_test_reason(sums, first, alpha)
    return pl.when(pl.col("low").is_null()).then(no_interval).otherwise(no_test)


def constant_reason(sums: Sums, alpha: float) -> pl.Expr:
    """Returns the reason of numbers that are equal in all units of their first factor.

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


def no_test_reason(sums: Sums, first: FactorVariance, alpha: float) -> pl.Expr:
    """Returns why numbers with an interval have no test; null if they have one or need none.

    Args:
        sums: the numbers.
        first: how they vary over the first factor.
        alpha: the level of tests.
    """
    unit = singular_factor_name(sums.factor)
    lack_signs = pl.lit(pl.Series(first.lack_signs(alpha)))
    too_few = "untestable: {} {}s, {} are needed"
    signs = pl.lit(fewest_sign_test_units(alpha))
    too_few_signs = pl.format(too_few, "clusters", pl.lit(unit), signs)
    too_few_units = pl.format(too_few, "clusters", pl.lit(unit), pl.lit(FEWEST_TESTED))
    is_tested = pl.lit(sums.is_tested)
    return (
        pl.when(is_tested & lack_signs)
        .then(too_few_signs)
        .when(is_tested & (pl.col("clusters") < FEWEST_TESTED))
        .then(too_few_units)
    )


def single_unit_reason(
    reason: pl.Expr, factor_sources: Mapping[str, Sequence[VarianceSource]]
) -> pl.Expr:
    """Replaces the reason of numbers that have only one unit of a factor other than the first.

    Numbers with an interval, or without a value, keep their reason. If several factors apply, the
    last one gives the reason.

    Args:
        reason: why there is no interval over the first factor, see `interval_reason`.
        factor_sources: how numbers vary over each other factor, by the factor's label in
            `SINGLE_UNIT_REASONS`. A variance of NaN means a single unit. Empty for a factor that
            the numbers do not have.
    """
    without_interval = pl.col("low").is_null() & pl.col("value").is_not_null()
    for factor, sources in factor_sources.items():
        if not sources:
            continue
        is_single = np.isnan([source.variance for source in sources]).any(axis=0)
        applies = without_interval & pl.lit(pl.Series(is_single))
        single = pl.lit(SINGLE_UNIT_REASONS.get(factor, f"one of the {factor}"))
        reason = pl.when(applies).then(single).otherwise(reason)
    return reason
