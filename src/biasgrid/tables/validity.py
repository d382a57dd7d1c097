"""Judges what was measured: numbers of cells in which nothing was measured are withheld, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.metric import NOT_MEASURABLE, Declared, Limit


class Check(NamedTuple):
    """What a validity flag found in a cell.

    Attributes:
        measure: its name.
        value: its value.
        n: how many things it counts.
        low: lower end of the value's interval, where there is one.
        high: its upper end.
        flag: what the problem tells beside the numbers, such as answers, where it asks for it by `{flag}`.
    """

    measure: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    flag: str | None = None


def rows_of(checks: Iterable[Check]) -> pl.DataFrame:
    """Returns checks as rows of measures."""
    numbers = {"value": pl.Float64, "n": pl.Int64, "low": pl.Float64, "high": pl.Float64}
    kinds = {"measure": pl.String, **numbers, "flag": pl.String}
    return pl.DataFrame(list(checks), schema=kinds, orient="row").with_columns(
        options=pl.lit(""), left_out=pl.lit(0, pl.Int64)
    )


def judge(measures: pl.DataFrame, declared: Declared) -> pl.DataFrame:
    """Flags what speaks against a cell, and withholds its headlines where that forbids them.

    Args:
        measures: all that was measured of the cell: columns of `MEASURES`, `flag` as `Check` has it.
        declared: headlines and limits.

    Returns:
        The measures with `flag`; where a flag withholds them, headlines of the cell and its bias types have no value.
    """
    found = problems(measures, declared.limits)
    flagged = measures.with_columns(flag=pl.col("measure").replace_strict(found, default=None, return_dtype=pl.String))
    reasons = [problem for name, problem in found.items() if declared.limits[name].withholds]
    if not reasons:
        return flagged
    withheld = {"value": None, "low": None, "high": None, "flag": f"{NOT_MEASURABLE}: {'; '.join(reasons)}"}
    return flagged.with_columns(
        pl.when(are_headlines(declared.headlines)).then(pl.lit(value, flagged.schema[name])).otherwise(name).alias(name)
        for name, value in withheld.items()
    )


def problems(measures: pl.DataFrame, limits: Mapping[str, Limit]) -> dict[str, str]:
    """Words what those validity flags say of a cell that are beyond their limits, by name."""
    rows = measures.filter(pl.col("measure").is_in(list(limits))).drop_nulls("value").to_dicts()
    said = {row["measure"]: problem_of(row, limits[row["measure"]]) for row in rows}
    return {name: problem for name, problem in said.items() if problem is not None}


def problem_of(row: Mapping[str, Any], limit: Limit) -> str | None:
    """Words what a validity flag says of a cell, None where it is within its limit."""
    end = row["low" if limit.below else "high"]
    value = row["value"] if end is None else end
    is_beyond = value < limit.value if limit.below else value > limit.value
    return limit.problem.format(**row, limit=limit.value) if is_beyond else None


def are_headlines(headlines: Mapping[str, str]) -> pl.Expr:
    """Says of each row whether it is the headline of a cell or of a bias type."""
    about_all = pl.all_horizontal(pl.col(key).is_null() for key in MEASURE_KEYS if key != "bias_type")
    chosen = [(pl.col("measure") == name) & (pl.col("options") == options) for name, options in headlines.items()]
    return about_all & pl.any_horizontal(pl.lit(value=False), *chosen)
