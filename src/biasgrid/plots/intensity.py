"""How strong bias is over the grid: one measure of all cells as bars."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import (
    aes,
    element_blank,
    facet_wrap,
    geom_col,
    geom_text,
    ggplot,
    labs,
    position_dodge,
    scale_fill_manual,
    scale_y_continuous,
    theme,
)

from biasgrid.plots.captions import GAMMA
from biasgrid.plots.selection import in_order, ordered
from biasgrid.plots.theme import biasgrid_theme, legend_below, legend_height, palette

WIDTH = 10
"""Of the figure, in inches."""

TITLES = {
    "mu": ("Bias intensity μ", f"mean over subjects of the largest |{GAMMA}| over attributes"),
    "eta": ("Bias consistency η", "mean over subjects of the mean |η| over attributes"),
}


def figure(summary: pl.DataFrame, measure: str, titles: Mapping[str, str]) -> ggplot:
    """Draws a measure of every cell: a panel per dataset, groups of bars per kind, a bar per model.

    Args:
        summary: schema `SUMMARY`; kinds and labels are shown in order of first appearance.
        measure: `mu` or `eta`.
        titles: the title of each dataset that is shown, in the order of the panels.
    """
    title, meaning = TITLES[measure]
    bars = summary.filter(pl.col("dataset").is_in(list(titles))).select(
        pl.col("dataset").replace_strict(titles), "kind", "label", value=pl.col(measure)
    )
    labels = in_order(bars, "label")
    bars = ordered(bars, dataset=list(titles.values()), kind=in_order(summary, "kind"), label=labels)
    columns = 1 if len(titles) == 1 else 2
    side_by_side = position_dodge(width=0.85, preserve="single")
    return (
        ggplot(bars, aes("kind", "value", fill="label"))
        + geom_col(position=side_by_side, width=0.8)
        + geom_text(aes(label="value"), format_string="{:.2f}", position=side_by_side, va="bottom", size=6.5)
        + facet_wrap("dataset", ncol=columns)
        + scale_fill_manual(palette(len(labels)))
        + scale_y_continuous(expand=(0, 0, 0.08, 0))
        + legend_below(labels, WIDTH, "fill")
        + labs(title=title, subtitle=meaning, x="kind of model", y=title.lower(), fill="model")
        + biasgrid_theme(WIDTH, 1.4 + 2.6 * -(-len(titles) // columns) + legend_height(labels, WIDTH))
        + theme(panel_grid_major_x=element_blank())
    )
