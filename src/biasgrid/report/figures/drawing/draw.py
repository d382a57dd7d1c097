"""Draws a figure of what was measured, and says in it what was not."""

from __future__ import annotations

import textwrap

import polars as pl
from plotnine import ggplot, labs

from biasgrid.base.references import load
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import empty_figure
from biasgrid.tables.certainty import with_certainty
from biasgrid.tables.metric import NOT_MEASURABLE

LINE = 110
"""Characters in a line below a figure."""


def draw(reference: str, measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a figure of the cells that are measurable; which are not stands below it.

    Args:
        reference: where the figure is.
        measures: the measures of the cells that it is about (schema `MEASURES`), which figures get with their intervals
            (`with_certainty`).
        context: what the figure says of datasets and models.
    """
    withheld = not_measurable(measures)
    note = textwrap.fill(f"Left out, because not measurable: {', '.join(named(withheld, context))}.", LINE)
    shown = measures.join(withheld, on=["model", "dataset"], how="anti", maintain_order="left")
    if shown.is_empty():
        return empty_figure(context.title, note)
    figure: ggplot = load(reference).figure(with_certainty(shown, certain(context, withheld)), context)
    return figure if withheld.is_empty() else figure + labs(caption=note)


def certain(context: FigureContext, withheld: pl.DataFrame) -> pl.DataFrame:
    """Returns the statistics of cells that are measurable."""
    return context.table("statistics").join(withheld, on=["model", "dataset"], how="anti", maintain_order="left")


def not_measurable(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns `model` and `dataset` of the cells whose headlines are withheld."""
    flagged = measures.filter(pl.col("flag").str.starts_with(NOT_MEASURABLE))
    return flagged.select("model", "dataset").unique(maintain_order=True)


def named(cells: pl.DataFrame, context: FigureContext) -> list[str]:
    """Names cells by their models, and where a figure is about several datasets by these too."""
    names = context.names(cells)
    several = len(context.titles) > 1
    return [f"{names[model]} on {context.titles[of]}" if several else names[model] for model, of in cells.iter_rows()]
