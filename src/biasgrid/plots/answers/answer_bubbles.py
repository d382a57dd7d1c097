"""How sure right and wrong answers about each class are, and how many there are."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.plots.drawing.bubbles import bubbles
from biasgrid.plots.drawing.context import FigureContext

CAPTION = (
    "Answers to statements about each class: how sure the model is of those that are right and those that are wrong, "
    "and, as areas, how many there are. A large bubble of wrong answers far to the right is a prejudice that is held "
    "firmly; bubbles near 0.5 are guesses. A class with several parameters of its domain has a block for each of them: "
    "who is said to be worse is another matter than whom one is said to be worse than."
)
KINDS = {"certainty_right": "right", "certainty_wrong": "wrong"}


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the certainty of right and of wrong answers by class.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
    """
    axis = "mean share of the answer in P(Yes) + P(No)"
    return bubbles(measures, context, KINDS, "Right and wrong answers", axis, "answers")
