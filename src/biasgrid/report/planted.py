"""What the report says of models with a planted bias: whether what was measured is what was planted."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.plots.recovery import StrengthsOfCells, measured_and_planted, measured_and_planted_groups, recovery
from biasgrid.report.content import Row


def planted_rows(
    measures: pl.DataFrame, planted: pl.DataFrame, summary: pl.DataFrame, strengths: Mapping[str, str]
) -> list[Row]:
    """Says how well each trained model returns what was planted.

    Args:
        measures: schema `MEASURES`.
        planted: schema `PLANTED`.
        summary: schema `SUMMARY`.
        strengths: the strength that each trained model learned.

    Returns:
        A row per model and dataset with `kind`, `label`, `strength`, `correlation`, `slope`, `n`, and the bias
        intensity that was measured (`mu`) and planted (`planted_mu`).
    """
    if not strengths:
        return []
    pairs = measured_and_planted(measures, planted, summary, strengths)
    largest = pairs.group_by("model", "dataset", "subject").agg(pl.col("planted").abs().max())
    planted_mu = largest.group_by("model", "dataset").agg(planted_mu=pl.col("planted").mean())
    return (
        recovery(pairs, "model", "kind", "label", "strength", "dataset")
        .join(planted_mu, on=["model", "dataset"], how="left", maintain_order="left")
        .join(
            summary.select("model", "dataset", "mu"),
            on=["model", "dataset"],
            how="left",
            maintain_order="left",
        )
        .to_dicts()
    )


def planted_group_rows(measures: pl.DataFrame, planted: pl.DataFrame, strengths: StrengthsOfCells) -> list[Row]:
    """Says how well each trained classifier returns the group effects that were planted.

    Args:
        measures: schema `GROUP_MEASURES`.
        planted: schema `PLANTED_GROUPS`.
        strengths: the trained classifiers of each dataset.

    Returns:
        A row per model and dataset with `strength`, `correlation`, `slope`, `n` (groups), and `planted_range` and
        `measured_range`: how far the scores of a bias type's groups reach, averaged over bias types.

    Raises:
        ValueError: a dataset has no measures of its main score.
    """
    if not strengths:
        return []
    pairs = measured_and_planted_groups(measures, planted, strengths)
    sides = ("planted", "measured")
    of_types = pairs.group_by("model", "dataset", "bias_type").agg(pl.col(sides).max() - pl.col(sides).min())
    ranges = of_types.group_by("model", "dataset").agg(pl.col(sides).mean().name.suffix("_range"))
    return (
        recovery(pairs, "model", "strength", "dataset")
        .join(ranges, on=["model", "dataset"], how="left", maintain_order="left")
        .to_dicts()
    )
