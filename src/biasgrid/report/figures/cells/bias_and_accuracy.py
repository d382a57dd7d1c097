"""Bias where a context answers nothing, beside accuracy where it does: who never answers is not
best.
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
from biasgrid.report.figures.drawing.layout import in_lines, order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    palette,
)
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
PANELS_ABREAST = 3
SIZES_WIDTH = 3.2
"""Width of the legend of sizes, beside the legend of models, in inches."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a plane for each category, with a point for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title = f"Bias beside accuracy: {context.title}"
    rows = rows_about_wholes(measures).filter(options="").drop_nulls("bias_type")
    points = measures_side_by_side(rows, ["model", "bias_type"], [BIAS, ACCURACY, UNKNOWN, REFUSED])
    # Items whose stereotype is not known have no bias, which is not a bias of 0.
    has_items = pl.col("n") + pl.col("left_out") > 0
    asked = rows.filter(has_items, measure=BIAS).select("model", "bias_type")
    points = points.drop_nulls(ACCURACY)
    points = points.join(asked, on=["model", "bias_type"], how="semi", maintain_order="left")
    if points.is_empty():
        return empty_figure(title, "there is no bias with an accuracy in disambiguated contexts")
    names = context.names(points)
    # `unknown` is a share of the answers that are not refused.
    refused = pl.col(REFUSED).fill_null(0)
    abstained = pl.col(UNKNOWN).fill_null(0) * (1 - refused) + refused
    drawn = points.with_columns(
        abstained.alias("abstained"),
        pl.col("model").replace_strict(names),
        bias=pl.col(BIAS).fill_null(0),
        category="bias_type",
    )
    labels = list(names.values())
    categories = drawn["category"].unique(maintain_order=True).to_list()
    drawn = order_by_value(drawn, model=labels, category=categories)
    across, up = drawn.drop_nulls(f"{ACCURACY} low"), drawn.drop_nulls(f"{BIAS} low")
    columns = min(len(categories), PANELS_ABREAST)
    lines = -(-len(categories) // columns)
    width = max(7.5, PANEL * columns)
    height = 1.6 + PANEL * lines + legend_height(labels, width - SIZES_WIDTH)
    return (
        ggplot(drawn, aes(ACCURACY, "bias", color="model"))
        + geom_hline(yintercept=0, color=FAINT)
        + geom_segment(aes(x=f"{ACCURACY} low", xend=f"{ACCURACY} high", yend="bias"), across)
        + geom_segment(aes(y=f"{BIAS} low", yend=f"{BIAS} high", xend=ACCURACY), up)
        + geom_point(aes(size="abstained"))
        + facet_wrap("category", ncol=columns, labeller=in_lines(PANEL))
        + scale_color_manual(values=palette(len(names)))
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
