"""Recovery of synthetic bias: the measured effect beside the known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.key_columns import group_keys
from biasgrid.tables.measures import MEASURE_KEYS

CellStrengths = Mapping[str, Mapping[str, str]]
"""For each dataset the strength that each of the trained models learned in it."""

NAME_EFFECTS, GROUP_EFFECTS = "names", "groups"
"""Values of `names_or_groups`, in datasets in which both have a known effect."""
LEAST = 1e-12
"""What differs by no more is the same but for rounding."""


def measured_and_synthetic(
    measures: pl.DataFrame, synthetic: pl.DataFrame, strengths: CellStrengths
) -> pl.DataFrame:
    """Joins measured values with the known effect.

    Args:
        measures: schema `MEASURES`.
        synthetic: schema `SYNTHETIC`.
        strengths: the trained models of each dataset; others, and other datasets, are left out.

    Returns:
        `dataset`, `model`, `strength`, `measure`, `options`, the keys of measures, `synthetic`,
        `measured` and `names_or_groups`; datasets and models in the order of the strengths. In a
        dataset with known effects of groups of subjects, `names_or_groups` is `GROUP_EFFECTS` for
        these and `NAME_EFFECTS` for all others; in other datasets it is null.
    """
    trained = []
    for dataset, strength_of_models in strengths.items():
        for model, strength in strength_of_models.items():
            trained.append((dataset, model, strength))
    schema = {"dataset": pl.String, "model": pl.String, "strength": pl.String}
    models = pl.DataFrame(trained, schema=schema, orient="row")
    number = ["measure", "options", *MEASURE_KEYS]
    measured = models.join(
        measures.select("model", "dataset", *number, measured="value"),
        on=["dataset", "model"],
        maintain_order="left_right",
    )
    pairs = measured.join(
        synthetic.select("strength", "dataset", *number, synthetic="value"),
        on=["strength", "dataset", *number],
        nulls_equal=True,
        maintain_order="left",
    )
    is_of_group = pl.any_horizontal(pl.col(group_keys("who")).is_not_null())
    has_groups = is_of_group.any().over("dataset")
    names_or_groups = (
        pl.when(is_of_group).then(pl.lit(GROUP_EFFECTS)).otherwise(pl.lit(NAME_EFFECTS))
    )
    return pairs.drop_nulls("measured").select(
        "dataset",
        "model",
        "strength",
        *number,
        "synthetic",
        "measured",
        names_or_groups=pl.when(has_groups).then(names_or_groups),
    )


def recovery(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Returns the agreement of measured values with the known effect.

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
    known, measured = pl.col("synthetic"), pl.col("measured")
    known_varies = known.max() - known.min() > LEAST
    measured_varies = measured.max() - measured.min() > LEAST
    slope = pl.cov("measured", "synthetic", ddof=0) / known.var(ddof=0)
    correlation = pl.corr("measured", "synthetic")
    fits = pairs.group_by(*by, maintain_order=True).agg(
        correlation=pl.when(known_varies & measured_varies).then(correlation),
        slope=pl.when(known_varies).then(slope),
        root_mean_square=(measured - known).pow(2).mean().sqrt(),
        n=pl.len(),
    )
    bias_types = pairs.group_by(list(dict.fromkeys([*by, "bias_type"])), maintain_order=True)
    both = pl.col("synthetic", "measured")
    ranges = bias_types.agg((both.max() - both.min()).name.suffix("_range"))
    mean_ranges = ranges.group_by(*by).agg(pl.col("^.*_range$").mean())
    return fits.join(mean_ranges, on=list(by), nulls_equal=True, maintain_order="left")


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
