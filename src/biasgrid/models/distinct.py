"""Distinct values of columns, so that work on texts is done once for each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl


def distinct(frame: pl.DataFrame, columns: list[str]) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Returns the distinct rows of some columns, categories as text, and for each row of the frame which it is."""
    codes = np.column_stack([frame[column].to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for column in columns])
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rows = frame.select(columns)[first].with_columns(pl.col(pl.Categorical).cast(pl.String))
    return rows, inverse.reshape(-1).astype(np.int64)
