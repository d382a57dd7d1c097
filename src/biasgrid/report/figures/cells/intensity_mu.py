"""How strong bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import draw_bias_corrected

CAPTION = (
    "Bias intensity μ of every cell: a row per model, a column per dataset. An unbiased model has a μ about as large "
    "as the grey bar, because the largest of many differences is never 0: only what is beyond it (the dot) says "
    "anything, and only if its interval does not reach 0. It does not say which subjects are preferred, nor that "
    "people hold the same preference. μ tends to grow with the number of attributes: compare datasets by their "
    "strength."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu of every cell; see `draw_bias_corrected`."""
    return draw_bias_corrected(measures, context, "mu", "Bias intensity μ", "μ")
