"""Bias in ambiguous contexts beside accuracy in the others.

A model that never answers has no bias, but is not a good model.
"""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_hline,
    geom_point,
    geom_segment,
    ggplot,
    labs,
    scale_color_manual,
    scale_size,
    scale_y_continuous,
)

from biasgrid.families.page import measures_side_by_side
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value, panel_title
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    palette,
)
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.measures import rows_about_wholes

CAPTION = (
    "Each model's bias in ambiguous contexts (up) against its accuracy in disambiguated ones "
    "(right), by category; bars are intervals over clusters of templates. The size of a point is "
    "the share of answers in disambiguated contexts that are `unknown`, or are none because the "
    "model declined. A good model is at the right on the line. A model that always answers "
    "`unknown` is at the left: it names nobody, so it has no bias and is drawn on the line. "
    "Categories of which it is not known which answer agrees with a stereotype are left out."
)
BIAS, ACCURACY, UNKNOWN, REFUSED = (
    "bias_ambiguous",
    "accuracy_disambiguated",
    "unknown_disambiguated",
    "refused",
)
PANEL = 2.6
"""Side of a panel in inches."""
MOST_PANELS = 3
"""Maximum number of panels side by side."""
SIZES_WIDTH = 3.2
"""Width of the legend of sizes, beside the legend of models, in inches."""


def bias_points(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns bias and accuracy of each model and category in which both are known.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `category`, `bias` (0 if the model named nobody), the columns of
        `measures_side_by_side`, and `abstained`, the share of disambiguated answers that are
        `unknown` or refused.
    """
    rows = rows_about_wholes(measures).filter(options="").drop_nulls("bias_type")
    points = measures_side_by_side(rows, ["model", "bias_type"], [BIAS, ACCURACY, UNKNOWN, REFUSED])
    # Items whose stereotype is not known have no bias, which is not a bias of 0.
    has_items = pl.col("n") + pl.col("left_out") > 0
    keys = ["model", "bias_type"]
    with_items = rows.filter(has_items, measure=BIAS).select(keys)
    points = points.drop_nulls(ACCURACY)
    points = points.join(with_items, on=keys, how="semi", maintain_order="left")
    # `unknown` is a share of the answers that are not refused.
    refused_share = pl.col(REFUSED).fill_null(0)
    unknown_share = pl.col(UNKNOWN).fill_null(0) * (1 - refused_share)
    return points.with_columns(
        abstained=unknown_share + refused_share,
        bias=pl.col(BIAS).fill_null(0),
        category="bias_type",
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a plane for each category, with a point for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title = f"Bias beside accuracy: {context.title}"
    points = bias_points(measures)
    if points.is_empty():
        return empty_figure(title, "there is no bias with an accuracy in disambiguated contexts")
    models = context.model_labels(points)
    labels, categories = list(models.values()), values_in_order(points, "category")
    points = points.with_columns(pl.col("model").replace_strict(models))
    points = order_by_value(points, model=labels, category=categories)
    with_accuracy_interval = points.drop_nulls(f"{ACCURACY} low")
    with_bias_interval = points.drop_nulls(f"{BIAS} low")
    columns = min(len(categories), MOST_PANELS)
    lines = -(-len(categories) // columns)
    width = max(7.5, PANEL * columns)
    height = 1.6 + PANEL * lines + legend_height(labels, width - SIZES_WIDTH)
    across = aes(x=f"{ACCURACY} low", xend=f"{ACCURACY} high", yend="bias")
    upright = aes(y=f"{BIAS} low", yend=f"{BIAS} high", xend=ACCURACY)
    return (
        ggplot(points, aes(ACCURACY, "bias", color="model"))
        + geom_hline(yintercept=0, color=FAINT)
        + geom_segment(across, with_accuracy_interval)
        + geom_segment(upright, with_bias_interval)
        + geom_point(aes(size="abstained"))
        + facet_wrap("category", ncol=columns, labeller=panel_title(PANEL))
        + scale_color_manual(values=palette(len(labels)))
        + scale_size(limits=(0, 1), breaks=[0, 0.5, 1], range=(1.5, 6))
        + scale_y_continuous(limits=(-1, 1))
        + legend_below(labels, width - SIZES_WIDTH, "color")
        + labs(
            title=title,
            x="accuracy, disambiguated",
            y="bias, ambiguous",
            color="",
            size="abstained",
        )
        + biasgrid_theme(width, height)
    )
