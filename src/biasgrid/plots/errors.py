"""Reasoning errors beside bias intensity: where the errors are large, the intensity says less."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import (
    aes,
    element_text,
    expand_limits,
    facet_grid,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    theme,
)

from biasgrid.plots.selection import in_order, ordered
from biasgrid.plots.theme import biasgrid_theme, palette, shapes

NAMES = {"mu": "bias intensity μ", "delta": "positional error δ", "epsilon": "attributive error ε"}


def figure(summary: pl.DataFrame, titles: Mapping[str, str]) -> ggplot:
    """Draws mu, delta and epsilon of every cell: a column per dataset, a block per kind, a row per model.

    Args:
        summary: schema `SUMMARY`; kinds and labels are shown in order of first appearance.
        titles: the title of each dataset that is shown, in the order of the columns.
    """
    points = (
        summary.filter(pl.col("dataset").is_in(list(titles)))
        .unpivot(list(NAMES), index=["dataset", "kind", "label"], variable_name="measure")
        .with_columns(pl.col("dataset").replace_strict(titles), pl.col("measure").replace_strict(NAMES))
    )
    kinds, labels = in_order(summary, "kind"), in_order(summary, "label")[::-1]
    points = ordered(points, dataset=list(titles.values()), kind=kinds, label=labels, measure=list(NAMES.values()))
    rows = summary.select("kind", "label").n_unique()
    return (
        ggplot(points, aes("value", "label", color="measure", shape="measure"))
        + geom_point(fill="none", size=2.4, stroke=0.8)
        + expand_limits(x=0)
        + facet_grid("kind", "dataset", scales="free_y", space="free_y")
        + scale_color_manual(palette(3))
        + scale_shape_manual(shapes(3))
        + labs(
            title="Reasoning errors beside bias intensity",
            subtitle="all in the units of the answers' probabilities",
            x="value",
            y="model",
            color="",
            shape="",
        )
        + biasgrid_theme(max(7, 3 + 2 * len(titles)), max(3, 1.8 + 0.24 * rows))
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )
