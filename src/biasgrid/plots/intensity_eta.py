"""How consistent bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.plots.drawing.bars import bars
from biasgrid.plots.drawing.context import FigureContext

CAPTION = (
    "Bias consistency η of every cell: how uniformly the model prefers one subject over another, "
    "whatever the template and the partner. A long bar can come from preferences that are minute but "
    "always the same, so it says nothing about their size; read it together with μ."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws eta of every cell; see `bars`."""
    meaning = "mean over subjects of the mean |η| over attributes"
    return bars(measures, context, "eta", "Bias consistency η", meaning)
