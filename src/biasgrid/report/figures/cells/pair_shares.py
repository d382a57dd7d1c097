"""Shares of pairs in which the sentence that states a stereotype more scores higher, by type."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    geom_point,
    geom_vline,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_x_continuous,
    scale_y_continuous,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    palette,
    shapes,
)
from biasgrid.tables.measures import rows_about_wholes

CAPTION = (
    "How often the sentence of a pair scores higher that states a stereotype more, by bias type: "
    "each mark is a model, each line its interval over writers, target terms or clusters of pairs. "
    "On the line at 0.5 a model has no preference. For StereoSet it is the stereotype score, the "
    "mean over target terms. Models whose sentences are scored by different formulas "
    "are not comparable."
)
SHARE, SCORE = "stereotype_share", "stereotype_score"
FAIR = 0.5
ALL_TYPES = "all pairs"
WIDTH = 8.0
ROW, LINE = 0.3, 0.12
"""Height of a bias type, and additional height for each model, in inches."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a row for each bias type, with a mark for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title = f"Stereotype shares: {context.title}"
    name = SCORE if SCORE in measures["measure"] else SHARE
    points = rows_about_wholes(measures).filter(measure=name, options="").drop_nulls("value")
    if points.is_empty():
        return empty_figure(title, "no pair has scores of both sentences")
    names = context.names(points)
    labels = list(names.values())
    types = sorted({*points["bias_type"].drop_nulls()})
    order = [*types]
    if points["bias_type"].null_count():
        order.append(ALL_TYPES)
    rows = {bias_type: -number for number, bias_type in enumerate(order)}
    # Marks of all models take 70 % of a row, the first model at the top.
    offsets = {}
    for number, model in enumerate(names):
        offsets[model] = ((len(names) - 1) / 2 - number) * 0.7 / len(names)
    row = pl.col("bias_type").fill_null(ALL_TYPES).replace_strict(rows, return_dtype=pl.Float64)
    offset = pl.col("model").replace_strict(offsets, return_dtype=pl.Float64)
    points = points.with_columns(y=row + offset)
    points = points.with_columns(pl.col("model").replace_strict(names))
    drawn = order_by_value(points, model=labels)
    factors = " and ".join(sorted({*drawn.drop_nulls("low")["generalises_to"]}))
    what = "stereotype score, mean over target terms" if name == SCORE else "share of pairs"
    height = 1.6 + len(order) * (ROW + LINE * len(names)) + legend_height(labels, WIDTH)
    return (
        ggplot(drawn, aes("value", "y", color="model"))
        + geom_vline(xintercept=FAIR, color=FAINT)
        + interval_lines(drawn, "y")
        + geom_point(aes(shape="model"), size=2)
        + scale_y_continuous(
            breaks=[*rows.values()], labels=order, minor_breaks=[], expand=(0, 0.6)
        )
        + scale_x_continuous(limits=(0, 1))
        + scale_color_manual(palette(len(names)))
        + scale_shape_manual(shapes(len(names)))
        + legend_below(labels, WIDTH, "color", "shape")
        + labs(
            title=title,
            subtitle=f"line: {100 * context.level:g} % interval over {factors or 'nothing'}",
            x=what,
            y="",
            color="",
            shape="",
        )
        + biasgrid_theme(WIDTH, height)
    )
