"""Bars: one measure of all cells."""

from __future__ import annotations

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

from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.readable import ordered
from biasgrid.plots.drawing.theme import biasgrid_theme, legend_below, legend_height, palette
from biasgrid.statistics.selection import in_order, select_rows

WIDTH = 10
"""Of the figure, in inches."""


def bars(measures: pl.DataFrame, context: FigureContext, measure: str, title: str, meaning: str) -> ggplot:
    """Draws a measure of every cell that has it: a panel per dataset, groups of bars per kind, a bar per model.

    Args:
        measures: the measures of all cells (schema `MEASURES`).
        context: what the figure says of datasets and models.
        measure: the measure's name.
        title: what the figure calls it.
        meaning: what it is, in a line.
    """
    cells = select_rows(measures, measure)
    facts = context.facts(cells)
    titles = [title for name, title in context.titles.items() if name in in_order(cells, "dataset")]
    labels = in_order(facts, "label")
    cells = cells.join(facts, on="model", maintain_order="left")
    cells = cells.with_columns(pl.col("dataset").replace_strict(context.titles))
    cells = ordered(cells, dataset=titles, kind=in_order(facts, "kind"), label=labels)
    columns = 1 if len(titles) == 1 else 2
    side_by_side = position_dodge(width=0.85, preserve="single")
    return (
        ggplot(cells, aes("kind", "value", fill="label"))
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
