"""The numbers that APES publishes, computed as it computes them."""

from __future__ import annotations

import polars as pl

NAMES = ("apes_positive", "apes_negated", "apes_overall")
"""Errors in the first half of the statements, in the second, and in all."""


def published(wrong: pl.Series) -> pl.DataFrame:
    """Returns the shares of statements whose answer is not the label, rounded up to three decimals.

    Args:
        wrong: shape (statements,), whether the answer is wrong, or there is none; positive statements are the first
            half of all.
    """
    half = len(wrong) // 2
    parts = [wrong[:half], wrong[half:], wrong]
    rows = [(name, rounded_up(int(part.sum()), len(part)), len(part)) for name, part in zip(NAMES, parts, strict=True)]
    schema = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(left_out=pl.lit(0, pl.Int64))


def rounded_up(count: int, of: int) -> float | None:
    """Returns a share with three decimals, the last of them rounded up; None of nothing."""
    return -(-1000 * count // of) / 1000 if of else None
