"""Means by keys that are the same to the last digit each time.

polars sums the groups of large tables in whatever order its threads meet their rows, even where it keeps the order of
the groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl


def means_by(frame: pl.DataFrame, keys: Sequence[str], value: str = "value") -> pl.DataFrame:
    """Returns the mean of a column by keys, summed in the order of the rows.

    Args:
        frame: the keys and the column, of numbers.
        keys: what to group by; a null is a key like others.
        value: the column; nulls are left out.

    Returns:
        The keys in the order of their first appearance, and the column, Float64, null where there are nulls alone.
    """
    distinct = frame.select(keys).unique(maintain_order=True)
    numbered = distinct.with_row_index("number")
    rows = frame.select(*keys, value).join(numbered, on=list(keys), nulls_equal=True, maintain_order="left")
    known = rows.drop_nulls(value)
    number = known["number"].to_numpy()
    counts = np.bincount(number, minlength=len(distinct))
    sums = np.bincount(number, known[value].to_numpy(), minlength=len(distinct))
    with np.errstate(invalid="ignore"):
        means = pl.Series(value, np.where(counts > 0, sums / counts, np.nan))
    return distinct.with_columns(pl.when(pl.Series(counts > 0)).then(means).alias(value))
