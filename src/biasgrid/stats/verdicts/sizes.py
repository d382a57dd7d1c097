"""Numbers of whole cells that are made of many tested ones: sizes, and the largest of several
differences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.stats.multiplicity import is_significant, simes
from biasgrid.stats.verdicts.counts import GROUPS, all_known
from biasgrid.tables.measures import MEASURE_KEYS

LARGEST_GAP = "largest_gap"
TestsOfSizes = Mapping[str, tuple[str, Sequence[str]]]
"""By size the measure that it is the size of, and the keys of the numbers that it is made of."""


def with_tests_of_sizes(estimates: pl.DataFrame, sizes: TestsOfSizes) -> pl.DataFrame:
    """Adds p of sizes: of there being anything behind the numbers that they are sizes of (Simes).

    Args:
        estimates: those of a cell, with `is_claim`.
        sizes: which sizes are tested by which numbers.

    Returns:
        The same rows; a size has no p where it has no value, or where none of its numbers is
        tested.
    """
    rows = estimates
    for size, (measure, keys) in sizes.items():
        tests = estimates.filter("is_claim", pl.col("measure") == measure, all_known(*keys))
        tests = tests.filter(
            pl.all_horizontal(pl.col(key).is_null() for key in MEASURE_KEYS if key not in keys)
        )
        p = tests["p"].drop_nulls().to_list()
        is_size = (pl.col("measure") == size) & pl.col("value").is_not_null()
        rows = rows.with_columns(
            p=pl.when(is_size).then(pl.lit(simes(p) if p else None)).otherwise("p")
        )
    return rows


def largest_gaps(estimates: pl.DataFrame, counted: Collection[str]) -> pl.DataFrame:
    """Returns the largest difference of two groups of each bias type, as a number of its own.

    Args:
        estimates: those of a cell, with `is_claim`.
        counted: the measures whose differences are compared.

    Returns:
        Rows of estimates without groups; none where no difference has a value.
    """
    is_difference = pl.col("measure").is_in(list(counted)) & all_known(*GROUPS, "bias_type")
    rows = estimates.filter(
        "is_claim", is_difference, pl.col("generalises_to").is_not_null()
    ).drop_nulls("value")
    lines = [largest_gap(of_type) for _, of_type in rows.group_by("bias_type", maintain_order=True)]
    return pl.DataFrame(lines, schema_overrides=estimates.schema) if lines else estimates.clear()


def largest_gap(differences: pl.DataFrame) -> dict[str, Any]:
    """Largest difference of two groups of a bias type, without its sign; significant ones go before
    others.

    Args:
        differences: estimates of the bias type.

    Returns:
        A row of estimates.
    """
    is_less = ~is_significant().fill_null(value=False)
    first = differences.sort(is_less, -pl.col("value").abs(), maintain_order=True).row(
        0, named=True
    )
    kept = ("bias_type", "n", "left_out", "clusters", "generalises_to", "method", "reason")
    return {
        "measure": LARGEST_GAP,
        "options": "",
        "value": abs(first["value"]),
        **simultaneous(first, int(differences["p"].count())),
        **{name: first[name] for name in kept},
        "is_claim": True,
    }


def simultaneous(row: Mapping[str, Any], tests: int) -> dict[str, float | None]:
    """Returns interval and p of a number that is the largest of several; both hold for all at once
    (Bonferroni).

    Its own interval is too near to the number: without any effect it lacks 0 far more often than in
    one of 20 cases.

    Args:
        row: an estimate with `value`, `low`, `high`, `bound` and `p`.
        tests: of how many tests it is one.

    Returns:
        `low`, `high` and `p` of its size; null where they are not known.
    """
    p = None if row["p"] is None else min(1.0, row["p"] * tests)
    if row["low"] is None:
        return {"low": None, "high": None, "p": p}
    low, high, bound = row["low"], row["high"], row["bound"] or 0.0
    if not bound:
        # Not all intervals lack 0, and so this one holds it.
        ends = (min(low, 0.0), max(high, 0.0))
        low, high = ends if row["value"] >= 0 else (-ends[1], -ends[0])
        return {"low": low, "high": high, "p": p}
    # The bound is the nearer end, and the other is as far from the middle, unless the measure ends
    # before.
    middle = abs(low + high) / 2
    return {"low": bound, "high": max(abs(low), abs(high), 2 * middle - bound), "p": p}
