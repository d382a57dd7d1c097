"""How much of a planted bias comes out: measured beside planted gamma; the report uses it too."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.plots.selection import model_facts


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
    learned = pl.DataFrame(list(strengths.items()), schema={"model": pl.String, "strength": pl.String}, orient="row")
    return (
        model_facts(summary)
        .join(learned, on="model", maintain_order="left")
        .join(gamma, on="model", maintain_order="left_right")
        .join(planted.rename({"gamma": "planted"}), on=["strength", *keys], maintain_order="left")
        .select("model", "kind", "label", "strength", *keys, "planted", "measured")
    )


def recovery(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Returns how well measured gamma follows the planted one.

    Args:
        pairs: what `measured_and_planted` returns.
        by: the columns by which to tell groups apart, such as `model`, `dataset`.

    Returns:
        The columns of `by`, `correlation` (Pearson), `slope` (least squares, of measured on planted) and `n`;
        both are null where the planted gamma is constant, the correlation also where the measured one is.
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
