"""Measured against planted scores of groups: whether planted group effects come out of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import ggplot, labs

from biasgrid.plots.planted import beside_diagonal
from biasgrid.plots.recovery import StrengthsOfCells, in_words, measured_and_planted_groups, recovery
from biasgrid.plots.selection import in_order


def panel_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns `panel` and `text`: for each strength correlation and slope, or how far apart groups came out alike."""
    apart = pl.col("measured").max() - pl.col("measured").min()
    ranges = pairs.group_by("panel", "strength").agg(apart=apart)
    by_strength = recovery(pairs, "panel", "strength").join(ranges, on=["panel", "strength"], maintain_order="left")
    lines = [
        {
            "panel": row["panel"],
            "text": f"{row['strength']}: groups planted alike, at most {row['apart']:.3f} apart"
            if row["slope"] is None
            else f"{row['strength']}: {in_words(row, separator=', ')}",
        }
        for row in by_strength.iter_rows(named=True)
    ]
    schema = {"panel": pl.String, "text": pl.String}
    return pl.DataFrame(lines, schema=schema).group_by("panel", maintain_order=True).agg(pl.col("text").str.join("\n"))


def figure(
    measures: pl.DataFrame, planted: pl.DataFrame, strengths: StrengthsOfCells, titles: Mapping[str, str]
) -> ggplot:
    """Draws measured against planted scores: a panel per dataset, a mark per trained classifier and group.

    Args:
        measures: schema `GROUP_MEASURES`.
        planted: schema `PLANTED_GROUPS`.
        strengths: the trained classifiers of each dataset, in the order of the panels; others are left out.
        titles: the title of each dataset.
    """
    pairs = measured_and_planted_groups(measures, planted, strengths)
    pairs = pairs.with_columns(panel=pl.col("dataset").replace_strict(titles))
    return beside_diagonal(pairs, panel_texts(pairs), "strength", in_order(pairs, "strength")) + labs(
        title="Planted and measured differences of groups",
        subtitle="a mark per group and classifier; dashed: measured = planted",
        x="planted probability of the right class",
        y="measured probability of the right class",
        color="strength",
        shape="strength",
    )
