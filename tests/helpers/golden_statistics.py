"""Reads the golden numbers of the statistics and of claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

FOLDER = Path(__file__).parents[1] / "golden" / "statistics"
GOLDEN_NAMES = {"floor": "null_mean", "subject_cluster": "subject_group"}
"""Names in the golden files, and what is called so now; `excess` is `corrected` in all of them."""
RELATIVE, ABSOLUTE = 1e-8, 1e-10
LEAST_P = 1e-12
CLAIMS = FOLDER.with_name("claims")
BISECTED = 1e-7
"""Relative tolerance of interval ends of several sources and of p found by bisection."""


def numbers_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = with_new_names(json.loads((FOLDER / f"{name}.json").read_text()))
    return content


def with_new_names(content: Any) -> Any:
    """Returns golden numbers under the names of today."""
    if isinstance(content, dict):
        return {
            GOLDEN_NAMES.get(key, key).replace("excess", "corrected"): with_new_names(value)
            for key, value in content.items()
        }
    return [with_new_names(each) for each in content] if isinstance(content, list) else content


def scores_of(name: str) -> pl.DataFrame:
    """The scores of a golden cell, a row for each question."""
    return pl.read_parquet(FOLDER / f"{name}.parquet")


def as_array(values: Any) -> np.ndarray[Any, Any]:
    """Golden numbers: null is NaN, "inf" infinity."""
    listed = values if isinstance(values, list) else [values]
    return np.array([np.nan if value is None else float(value) for value in listed])


def assert_golden(found: Any, expected: Any, what: str) -> None:
    """Compares numbers within the tolerances of the golden files' README."""
    numbers, golden = np.atleast_1d(np.asarray(found, dtype=np.float64)), as_array(expected)
    small = golden < LEAST_P
    tolerance = np.where(small & what.endswith(("_p", "_q", "_holm")), 1e-6, RELATIVE)
    with np.errstate(invalid="ignore"):
        close = np.abs(numbers - golden) <= np.maximum(ABSOLUTE, tolerance * np.abs(golden))
    close |= (numbers == golden) | (np.isnan(numbers) & np.isnan(golden))
    assert close.all(), (what, numbers[~close][:5], golden[~close][:5])


def claims_of(name: str) -> Any:
    """The numbers of an independent implementation; null is NaN, `"inf"` infinity."""
    return json.loads((CLAIMS / f"{name}.json").read_text())


def inputs_of(name: str) -> pl.DataFrame:
    """What the numbers are of."""
    return pl.read_parquet(CLAIMS / f"{name}.parquet")
