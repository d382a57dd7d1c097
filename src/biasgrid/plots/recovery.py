"""How much of a planted bias comes out: what was measured beside what was planted; the report uses it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.plots.group_selection import scores_of_groups
from biasgrid.plots.selection import model_facts

StrengthsOfCells = Mapping[str, Mapping[str, str]]
"""For each dataset the strength that each classifier learned in its cases."""


def measured_and_planted(
    measures: pl.DataFrame, planted: pl.DataFrame, summary: pl.DataFrame, strengths: Mapping[str, str]
) -> pl.DataFrame:
    """Puts measured gamma(subject, attribute) beside the planted one.

    Args:
        measures: schema `MEASURES`.
        planted: schema `PLANTED`.
        summary: schema `SUMMARY`, which knows the models' kinds and labels.
        strengths: the strength that each trained model learned; other models are left out.

    Returns:
        `model`, `kind`, `label`, `strength`, `dataset`, `subject`, `attribute`, `planted`, `measured`, models
        in the order of the summary.
    """
    keys = ["dataset", "subject", "attribute"]
    gamma = measures.filter(
        pl.col("measure") == "gamma", pl.col("subject").is_not_null(), pl.col("attribute").is_not_null()
    ).select("model", *keys, measured="value")
    return (
        model_facts(summary)
        .join(learned(strengths), on="model", maintain_order="left")
        .join(gamma, on="model", maintain_order="left_right")
        .join(planted.rename({"gamma": "planted"}), on=["strength", *keys], maintain_order="left")
        .select("model", "kind", "label", "strength", *keys, "planted", "measured")
    )


def measured_and_planted_groups(
    measures: pl.DataFrame, planted: pl.DataFrame, strengths: StrengthsOfCells
) -> pl.DataFrame:
    """Puts the measured score of each group, the mean probability of the right class, beside the planted one.

    Args:
        measures: schema `GROUP_MEASURES`.
        planted: schema `PLANTED_GROUPS`.
        strengths: the trained classifiers of each dataset; others, and other datasets, are left out.

    Returns:
        `model`, `strength`, `dataset`, `bias_type`, `group`, `planted`, `measured`, datasets and models in the order
        of the strengths.

    Raises:
        ValueError: a dataset has no measures of its main score.
    """
    keys = ["bias_type", "group"]
    columns = ["model", "strength", "dataset", *keys, "planted", "measured"]
    return pl.concat(
        learned(models)
        .join(
            scores_of_groups(measures, dataset).rename({"value": "measured"}), on="model", maintain_order="left_right"
        )
        .join(
            planted.filter(dataset=dataset).rename({"probability": "planted"}),
            on=["strength", *keys],
            maintain_order="left",
        )
        .select(columns)
        for dataset, models in strengths.items()
    )


def learned(strengths: Mapping[str, str]) -> pl.DataFrame:
    """Returns `model` and `strength` of each trained model."""
    return pl.DataFrame(list(strengths.items()), schema={"model": pl.String, "strength": pl.String}, orient="row")


def recovery(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Returns how well what was measured follows what was planted.

    Args:
        pairs: what `measured_and_planted` or `measured_and_planted_groups` returns.
        by: the columns by which to tell groups apart, such as `model`, `dataset`.

    Returns:
        The columns of `by`, `correlation` (Pearson), `slope` (least squares, of measured on planted) and `n`;
        both are null where what was planted is constant, the correlation also where what was measured is.
    """
    spread = pl.col("planted").var(ddof=0)
    varies = pl.col("planted").max() - pl.col("planted").min() > 1e-12
    moves = pl.col("measured").max() - pl.col("measured").min() > 1e-12
    covariance = pl.cov("measured", "planted", ddof=0)
    return pairs.group_by(*by, maintain_order=True).agg(
        correlation=pl.when(varies & moves).then(pl.corr("measured", "planted")),
        slope=pl.when(varies).then(covariance / spread),
        n=pl.len(),
    )


def in_words(row: Mapping[str, Any], separator: str) -> str:
    """Words the correlation and slope of a row of `recovery` that has a slope."""
    correlation = "none" if row["correlation"] is None else f"{row['correlation']:.2f}"
    return f"correlation {correlation}{separator}slope {row['slope']:.2f}"
