"""How much of a planted bias comes out: what was measured beside what was planted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS

StrengthsOfCells = Mapping[str, Mapping[str, str]]
"""For each dataset the strength that each of the trained models learned in it."""

LEAST = 1e-12
"""What differs by no more is the same but for rounding."""


def measured_and_planted(measures: pl.DataFrame, planted: pl.DataFrame, strengths: StrengthsOfCells) -> pl.DataFrame:
    """Puts what was measured beside what was planted.

    Args:
        measures: schema `MEASURES`.
        planted: schema `PLANTED`.
        strengths: the trained models of each dataset; others, and other datasets, are left out.

    Returns:
        `dataset`, `model`, `strength`, `measure`, `options`, the keys of measures, `planted` and `measured`; datasets
        and models in the order of the strengths.
    """
    keys = ["dataset", "measure", "options", *MEASURE_KEYS]
    learned = pl.DataFrame(
        [(dataset, *learned) for dataset, models in strengths.items() for learned in models.items()],
        schema={"dataset": pl.String, "model": pl.String, "strength": pl.String},
        orient="row",
    )
    return (
        learned.join(
            measures.select("model", *keys, measured="value"), on=["dataset", "model"], maintain_order="left_right"
        )
        .join(
            planted.select("strength", *keys, planted="value"),
            on=["strength", *keys],
            nulls_equal=True,
            maintain_order="left",
        )
        .drop_nulls("measured")
        .select("dataset", "model", "strength", *keys[1:], "planted", "measured")
    )


def recovery(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Returns how well what was measured follows what was planted.

    Args:
        pairs: what `measured_and_planted` returns.
        by: the columns by which to tell groups apart, such as `dataset`, `model`.

    Returns:
        The columns of `by`; `correlation` (Pearson), `slope` (least squares, of measured on planted),
        `root_mean_square` (of measured less planted), `planted_range` and `measured_range` (highest less lowest value
        of a bias type, mean over bias types) and `n`. Correlation and slope are null where what was planted is
        constant, the correlation also where what was measured is.
    """
    spread = pl.col("planted").var(ddof=0)
    varies = pl.col("planted").max() - pl.col("planted").min() > LEAST
    moves = pl.col("measured").max() - pl.col("measured").min() > LEAST
    covariance = pl.cov("measured", "planted", ddof=0)
    sides, keys = pl.col("planted", "measured"), list(dict.fromkeys([*by, "bias_type"]))
    ranges = pairs.group_by(keys, maintain_order=True).agg((sides.max() - sides.min()).name.suffix("_range"))
    return (
        pairs.group_by(*by, maintain_order=True)
        .agg(
            correlation=pl.when(varies & moves).then(pl.corr("measured", "planted")),
            slope=pl.when(varies).then(covariance / spread),
            root_mean_square=(pl.col("measured") - pl.col("planted")).pow(2).mean().sqrt(),
            n=pl.len(),
        )
        .join(ranges.group_by(*by).agg(pl.col("^.*_range$").mean()), on=list(by), maintain_order="left")
    )


def in_words(row: Mapping[str, Any]) -> str:
    """Words a row of `recovery`: correlation and slope, or how far apart came out what was planted alike.

    One number is neither apart nor alike: it is told how far off it is.
    """
    if row["n"] == 1:
        return f"one number, {row['root_mean_square']:.3f} off"
    if row["slope"] is None:
        return f"planted alike, {row['measured_range']:.3f} apart"
    correlation = "none" if row["correlation"] is None else f"{row['correlation']:.2f}"
    return f"correlation {correlation}, slope {row['slope']:.2f}"
