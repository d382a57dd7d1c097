"""Which of two groups is scored higher, and how sure that is."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.differences import draw_differences, signed_rows
from biasgrid.report.figures.drawing.layout import with_pair_names
from biasgrid.report.figures.drawing.theme import empty_figure

CAPTION = (
    "How much higher one group scores than another in the same case, averaged over cases, for each "
    "pair: to the right of 0 the first one scores higher. The thick line is the interval over "
    "other templates with the same words; the thin one also covers other words for the groups. A "
    "dot is filled if the difference holds for other words too (q at most 0.05), or for these "
    "words if each group has only one. Opposite differences cancel here; distances show them."
)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the signed difference of each pair of groups: a panel per model, a row per pair.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models, and other tables.
    """
    rows = signed_rows(measures, context, "difference", ["bias_type", "group", "other"])
    rows = rows.drop_nulls("value")
    if rows.is_empty():
        return empty_figure(
            f"Differences of groups: {context.title}", "no two groups can be compared"
        )
    return draw_differences(
        with_pair_names(rows, " − "),  # noqa: RUF001
        context,
        title="Differences of groups",
        x_title="difference: positive = the first group scores higher",
        y_title="pair of groups",
        plural_noun="pairs",
    )
