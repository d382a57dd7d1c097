"""Columns of candidates, and lists of what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def numbered(asked: pl.DataFrame, what: str) -> list[str]:
    """Returns the columns of all candidates, or of all positions, from the first on."""
    return [name for name in asked.columns if name.removeprefix(what).isdigit()]


def lists_of(name: str, values: npt.NDArray[Any], known: npt.NDArray[np.bool_], kind: type[pl.DataType]) -> pl.Series:
    """Puts what is known of candidates into a list for each instance.

    Args:
        name: the column's name.
        values: shape (instances, candidates).
        known: shape (instances, candidates), False where there is none; null stands there.
        kind: the type of the values.
    """
    if not values.shape[1]:
        return pl.Series(name, [[]] * len(values), pl.List(kind))
    flat = pl.DataFrame({name: values.ravel(), "known": known.ravel()}, schema_overrides={name: kind})
    return flat.select(pl.when("known").then(name)).to_series().reshape(values.shape).arr.to_list()
