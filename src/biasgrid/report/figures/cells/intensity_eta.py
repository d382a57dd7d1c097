"""How consistent bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import draw_bias_corrected

CAPTION = (
    "Bias consistency η of every cell: how uniformly the model prefers one subject over another, whatever the "
    "template and the partner. Noise agrees as far as the grey bar reaches: only what is beyond it (the dot) says "
    "anything, and only if its interval does not reach 0. Minute but constant preferences make η large: read it with "
    "μ."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws eta of every cell; see `draw_bias_corrected`."""
    return draw_bias_corrected(measures, context, "eta", "Bias consistency η", "η")
