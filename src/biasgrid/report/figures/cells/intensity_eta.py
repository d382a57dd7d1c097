"""How consistent bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import draw_bias_corrected

CAPTION = (
    "Bias consistency η of every cell: how consistently the model prefers one subject to another "
    "across templates and partners. Noise alone reaches to the end of the grey bar. Only the part "
    "beyond it (the dot) is meaningful, and only if its interval excludes 0. Tiny but constant "
    "preferences make η large: read it together with μ."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws eta of every cell; see `draw_bias_corrected`."""
    return draw_bias_corrected(measures, context, "eta", "Bias consistency η", "η")
