"""Numbers of whole cells that summarise many tested ones: sizes, and the largest of several
differences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.stats.multiplicity import is_significant, simes
from biasgrid.tables.key_columns import GROUP_PAIR, all_known, is_about

LARGEST_GAP = "largest_gap"
TestsOfSizes = Mapping[str, tuple[str, Sequence[str]]]
"""By the name of a size, the measure that it summarises and the keys of the summarised numbers."""


def with_size_tests(estimates: pl.DataFrame, sizes: TestsOfSizes) -> pl.DataFrame:
    """Sets p of sizes: a test that any of the numbers behind a size differs from 0 (Simes).

    Args:
        estimates: the estimates of a cell, with `is_claim`.
        sizes: the numbers behind each size.

    Returns:
        The same rows. A size without value keeps its p; one with a value but without tested numbers
        has p null.
    """
    rows = estimates
    for size, (measure, keys) in sizes.items():
        tests = estimates.filter("is_claim", pl.col("measure") == measure, is_about(keys))
        p = tests["p"].drop_nulls().to_list()
        p_of_all = pl.lit(simes(p) if p else None)
        is_size = (pl.col("measure") == size) & pl.col("value").is_not_null()
        rows = rows.with_columns(p=pl.when(is_size).then(p_of_all).otherwise("p"))
    return rows


def largest_gaps(estimates: pl.DataFrame, counted_measures: Collection[str]) -> pl.DataFrame:
    """Returns the largest difference of two groups of each bias type, as a number of its own.

    Args:
        estimates: the estimates of a cell, with `is_claim`.
        counted_measures: the measures whose differences are compared.

    Returns:
        Rows of estimates without groups, one per bias type with a difference that has a value.
    """
    rows = gap_candidates(estimates.filter("is_claim"), counted_measures)
    bias_types = rows.group_by("bias_type", maintain_order=True)
    gaps = [largest_gap(differences) for _, differences in bias_types]
    return pl.DataFrame(gaps, schema_overrides=estimates.schema) if gaps else estimates.clear()


def gap_candidates(claims: pl.DataFrame, counted_measures: Collection[str]) -> pl.DataFrame:
    """Returns the differences of two groups from which the largest gap of a bias type is chosen.

    Args:
        claims: estimates or measures, without those over other factors than their claim's.
        counted_measures: the measures whose differences are compared.
    """
    is_counted = pl.col("measure").is_in(list(counted_measures))
    # A difference without an interval is about the cases asked, and says nothing about others.
    generalises = pl.col("generalises_to").is_not_null()
    is_difference = all_known(*GROUP_PAIR, "bias_type")
    return claims.filter(is_counted, is_difference, generalises).drop_nulls("value")


def largest_difference(differences: pl.DataFrame) -> dict[str, Any]:
    """Returns the difference with the largest size; significant ones go before others.

    Args:
        differences: from `gap_candidates`, of one bias type of a cell; at least one.
    """
    is_insignificant = ~is_significant().fill_null(value=False)
    by_size = differences.sort(is_insignificant, -pl.col("value").abs(), maintain_order=True)
    return by_size.row(0, named=True)


def largest_gap(differences: pl.DataFrame) -> dict[str, Any]:
    """Returns the size of the largest difference of two groups as a row of estimates.

    Args:
        differences: estimates of one bias type with values; at least one.
    """
    largest = largest_difference(differences)
    tests = int(differences["p"].count())
    copied_columns = (
        *("bias_type", "n", "left_out", "clusters"),
        *("generalises_to", "method", "reason"),
    )
    return {
        "measure": LARGEST_GAP,
        "options": "",
        "value": abs(largest["value"]),
        **simultaneous(largest, tests),
        **{name: largest[name] for name in copied_columns},
        "is_claim": True,
    }


def simultaneous(row: Mapping[str, Any], tests: int) -> dict[str, float | None]:
    """Returns interval and p of the largest of several numbers, for all at once (Bonferroni).

    Its own interval is too short: without any effect, the interval of the largest number excludes 0
    far more often than 5 % of the time.

    Args:
        row: the estimate of the largest number, with `value`, `low`, `high`, `bound` and `p`.
            `bound` is the end nearer to 0 of an interval for all numbers at once, 0 or None if
            that contains 0.
        tests: the number of tests among which it is the largest.

    Returns:
        `low`, `high` and `p` of its size; None if unknown.
    """
    p = None if row["p"] is None else min(1.0, row["p"] * tests)
    low, high = row["low"], row["high"]
    if low is None:
        return {"low": None, "high": None, "p": p}
    bound = row["bound"]
    if not bound:
        # The simultaneous interval contains 0, so this one must, too.
        low, high = min(low, 0.0), max(high, 0.0)
        if row["value"] < 0:
            low, high = -high, -low
        return {"low": low, "high": high, "p": p}
    # The interval is symmetric around the middle, unless the range of the measure cuts its far end.
    middle = abs(low + high) / 2
    farthest = max(abs(low), abs(high), 2 * middle - bound)
    return {"low": bound, "high": farthest, "p": p}
