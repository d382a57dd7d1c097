"""Reads the golden numbers of what may be said of numbers, see the names of files in the folder beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

FOLDER = Path(__file__).parent / "golden_claims"
RELATIVE, ABSOLUTE = 1e-8, 1e-10
BISECTED = 1e-7
"""Relative tolerance of interval ends of several sources and of p found by bisection."""


def claims_of(name: str) -> Any:
    """The numbers of an independent implementation; null is NaN, `"inf"` infinity."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def inputs_of(name: str) -> pl.DataFrame:
    """What the numbers are of."""
    return pl.read_parquet(FOLDER / f"{name}.parquet")
