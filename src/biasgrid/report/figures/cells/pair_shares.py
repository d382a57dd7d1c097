"""Shares of pairs in which the sentence that states a stereotype more scores higher, by type."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot, scale_x_continuous

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.panels import model_offset, numbered_rows_scale
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import empty_figure, legend_below, legend_height
from biasgrid.tables.measures import rows_about_wholes

CAPTION = (
    "How often the sentence of a pair scores higher that states a stereotype more, by bias type: "
    "each mark is a model, each line its interval over writers, target terms or clusters of pairs. "
    "On the line at 0.5 a model has no preference. For StereoSet it is the stereotype score, the "
    "mean over target terms. Models whose sentences are scored by different formulas "
    "are not comparable."
)
SHARE, SCORE = "stereotype_share", "stereotype_score"
AXIS_TITLES = {SCORE: "stereotype score, mean over target terms", SHARE: "share of pairs"}
FAIR = 0.5
ALL_TYPES = "all pairs"
WIDTH = 8.0
ROW_HEIGHT, MODEL_HEIGHT = 0.3, 0.12
"""Height of a bias type, and additional height for each model, in inches."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a row for each bias type, with a mark for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title = f"Stereotype shares: {context.title}"
    measure = SCORE if SCORE in measures["measure"] else SHARE
    rows = rows_about_wholes(measures).filter(measure=measure, options="").drop_nulls("value")
    if rows.is_empty():
        return empty_figure(title, "no pair has scores of both sentences")
    models = context.model_labels(rows)
    labels = list(models.values())
    bias_types = sorted(set(rows["bias_type"].drop_nulls()))
    if rows["bias_type"].null_count():
        bias_types.append(ALL_TYPES)
    places = {bias_type: -position for position, bias_type in enumerate(bias_types)}
    bias_type = pl.col("bias_type").fill_null(ALL_TYPES)
    place = bias_type.replace_strict(places, return_dtype=pl.Float64)
    # Marks of all models take 70 % of a row.
    rows = rows.with_columns(
        y=place + model_offset(list(models), 0.7), model=pl.col("model").replace_strict(models)
    )
    factors = " and ".join(sorted(set(rows.drop_nulls("low")["generalises_to"])))
    row_height = ROW_HEIGHT + MODEL_HEIGHT * len(models)
    plot = draw(
        FigureSpecification(
            rows=rows,
            x="value",
            y="y",
            layers=[interval(), point(size=2)],
            title=title,
            subtitle=f"line: {100 * context.level:g} % interval over {factors or 'nothing'}",
            x_title=AXIS_TITLES[measure],
            orders={"model": labels},
            color="model",
            shape="model",
            reference=FAIR,
            width=WIDTH,
            height=1.6 + len(bias_types) * row_height + legend_height(labels, WIDTH),
        )
    )
    plot += numbered_rows_scale(list(places.values()), bias_types, margin=0.6)
    return plot + scale_x_continuous(limits=(0, 1)) + legend_below(labels, WIDTH, "color", "shape")
