"""How far models contradict themselves about each class when asked the opposite."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.plots.drawing.bubbles import bubbles
from biasgrid.plots.drawing.context import FigureContext

CAPTION = (
    "Statements and their negations by class: how far P(Yes) of both is from adding up to 1, of pairs whose answers "
    "differ, as they should, and of those that are answered alike; areas are how many there are. A model that has one "
    "answer to everything has large bubbles of the second kind; its errors say little of prejudice."
)
KINDS = {"inconsistency_differing": "answers differ", "inconsistency_same": "the same answer"}


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the inconsistency of pairs by class and by whether their answers differ.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
    """
    axis = "mean of |P(Yes | T) + P(Yes | T') - 1|"
    return bubbles(measures, context, KINDS, "Statements and their negations", axis, "pairs")
