"""How strong bias is over the grid."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.plots.drawing.bars import bars
from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.theme import GAMMA

CAPTION = (
    "Bias intensity μ of every cell: each bar is one model, each panel one dataset, all on one scale. "
    "A long bar says that the model prefers some subjects strongly for some attributes; it does not "
    "say which, nor that the preference is the one people hold. Panels with more attributes tend to "
    "have longer bars, because μ takes the largest of them."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu of every cell; see `bars`."""
    meaning = f"mean over subjects of the largest |{GAMMA}| over attributes"
    return bars(measures, context, "mu", "Bias intensity μ", meaning)
