"""Recovery of synthetic bias: the measured effect beside the known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.measures import MEASURE_KEYS

StrengthsOfCells = Mapping[str, Mapping[str, str]]
"""For each dataset the strength that each of the trained models learned in it."""

NAMES, GROUPS = "names", "groups"
"""What a known effect is of, in datasets whose subjects stand for groups."""
LEAST = 1e-12
"""What differs by no more is the same but for rounding."""


def measured_and_synthetic(
    measures: pl.DataFrame, synthetic: pl.DataFrame, strengths: StrengthsOfCells
) -> pl.DataFrame:
    """Puts what was measured beside the known effect.

    Args:
        measures: schema `MEASURES`.
        synthetic: schema `SYNTHETIC`.
        strengths: the trained models of each dataset; others, and other datasets, are left out.

    Returns:
        `dataset`, `model`, `strength`, `measure`, `options`, the keys of measures, `synthetic`,
        `measured` and `of`; datasets and models in the order of the strengths. Where both groups of
        subjects and these have a known effect, `of` tells `GROUPS` and `NAMES` apart; elsewhere it
        is null.
    """
    keys = ["dataset", "measure", "options", *MEASURE_KEYS]
    with_groups = pl.col("subject_group").is_not_null().any().over("dataset")
    of = pl.when(with_groups).then(
        pl.when(pl.col("subject_group").is_null()).then(pl.lit(NAMES)).otherwise(pl.lit(GROUPS))
    )
    learned = pl.DataFrame(
        [
            (dataset, *learned)
            for dataset, models in strengths.items()
            for learned in models.items()
        ],
        schema={"dataset": pl.String, "model": pl.String, "strength": pl.String},
        orient="row",
    )
    return (
        learned.join(
            measures.select("model", *keys, measured="value"),
            on=["dataset", "model"],
            maintain_order="left_right",
        )
        .join(
            synthetic.select("strength", *keys, synthetic="value"),
            on=["strength", *keys],
            nulls_equal=True,
            maintain_order="left",
        )
        .drop_nulls("measured")
        .select("dataset", "model", "strength", *keys[1:], "synthetic", "measured", of=of)
    )


def recovery(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Returns how well what was measured follows the known effect.

    Args:
        pairs: what `measured_and_synthetic` returns.
        by: the columns by which to tell groups apart, such as `dataset`, `model`.

    Returns:
        The columns of `by`; `correlation` (Pearson), `slope` (least squares, of measured on
        synthetic), `root_mean_square` (of measured less synthetic), `synthetic_range` and
        `measured_range` (highest less lowest value of a bias type, mean over bias types) and `n`.
        Correlation and slope are null where the known effect is constant, the correlation also
        where the measured one is.
    """
    spread = pl.col("synthetic").var(ddof=0)
    varies = pl.col("synthetic").max() - pl.col("synthetic").min() > LEAST
    moves = pl.col("measured").max() - pl.col("measured").min() > LEAST
    covariance = pl.cov("measured", "synthetic", ddof=0)
    sides, keys = pl.col("synthetic", "measured"), list(dict.fromkeys([*by, "bias_type"]))
    ranges = pairs.group_by(keys, maintain_order=True).agg(
        (sides.max() - sides.min()).name.suffix("_range")
    )
    return (
        pairs.group_by(*by, maintain_order=True)
        .agg(
            correlation=pl.when(varies & moves).then(pl.corr("measured", "synthetic")),
            slope=pl.when(varies).then(covariance / spread),
            root_mean_square=(pl.col("measured") - pl.col("synthetic")).pow(2).mean().sqrt(),
            n=pl.len(),
        )
        .join(
            ranges.group_by(*by).agg(pl.col("^.*_range$").mean()),
            on=list(by),
            nulls_equal=True,
            maintain_order="left",
        )
    )


def recovery_text(row: Mapping[str, Any]) -> str:
    """Words a row of `recovery`: correlation and slope, or how far apart came out the known effect
    alike.

    Of one number it is how far off it is.
    """
    if row["n"] == 1:
        return f"one number, {format_number(row['root_mean_square'])} off"
    if row["slope"] is None:
        return f"synthetic alike, {format_number(row['measured_range'])} apart"
    correlation = "none" if row["correlation"] is None else f"{row['correlation']:.2f}"
    return f"correlation {correlation}, slope {row['slope']:.2f}"
