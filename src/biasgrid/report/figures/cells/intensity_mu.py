"""How strong bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import draw_bias_corrected

CAPTION = (
    "Bias intensity μ of every cell, with a row per model and a column per dataset. Even an "
    "unbiased model has a μ about as long as the grey bar, because the largest of many differences "
    "is never 0. Only the part beyond it (the dot) is meaningful, and only if its interval "
    "excludes 0. μ does not say which subjects are preferred, nor that people have the same "
    "preference. It tends to grow with the number of attributes: compare datasets "
    "by their strength."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu of every cell; see `draw_bias_corrected`."""
    return draw_bias_corrected(measures, context, "mu", "Bias intensity μ", "μ")
