"""Mean distance of two groups for each template, bias type and model."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_wrap,
    geom_raster,
    ggplot,
    guides,
    labs,
    scale_x_discrete,
    scale_y_discrete,
    theme,
)

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.selection import main_score_of_measures, pairwise_options
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    both_ends,
    columns_of,
    most_rows,
    omitted_text,
    order_by_value,
    shorten_text,
)
from biasgrid.report.figures.drawing.theme import (
    CELL_SIDE,
    colour_bar,
    colour_limit,
    distance_scale,
    empty_figure,
    heat_map_theme,
)
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    "The mean distance between two groups within a case, for each template. If only a few "
    "templates are dark, most of the difference comes from them, and other templates might give "
    "another picture. A column that is dark throughout means that the model treats the groups "
    "differently whatever is said. Some rows are based on few cases."
)
LONGEST_TEMPLATE = 72
WIDEST_FIGURE = 9.0
"""Width in inches that panels side by side may have together."""


def template_distances(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean distance of two groups by template.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `bias_type`, `template` (as text), `value`; the template with the largest mean over
        models and bias types first.
    """
    rows = select_rows(measures, "distance", ["bias_type", "template"], pairwise_options(measures))
    mean = pl.col("value").mean().over("template")
    ordered = rows.sort(-mean, "template", maintain_order=True, nulls_last=True)
    return ordered.select("model", "bias_type", pl.col("template").cast(pl.String), "value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws distances within cases: a panel per bias type, a column per model, a row per template.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    heading = f"Templates that set groups apart: {context.title}"
    distances = template_distances(measures)
    if distances["value"].drop_nulls().is_empty():
        return empty_figure(heading, "no two groups have a distance within a case")
    names = context.names(distances)
    bias_types = values_in_order(measures.drop_nulls("bias_type"), "bias_type")
    order = values_in_order(distances, "template")
    labels = list(names.values())
    # A panel is as wide as its columns, but no narrower than its title.
    panel = max(CELL_SIDE * len(labels), 0.1 * max(map(len, bias_types)))
    columns = columns_of(len(bias_types), max(1, int(WIDEST_FIGURE / panel)))
    lines = -(-len(bias_types) // columns)
    shown = both_ends(order, most_rows(lines))
    texts = {number: context.template(int(number)) for number in shown}
    short = {number: shorten_text(text, LONGEST_TEMPLATE) for number, text in texts.items()}
    cells = distances.filter(pl.col("template").is_in(shown))
    cells = cells.with_columns(
        pl.col("model").replace_strict(names), pl.col("template").replace_strict(short)
    )
    cells = order_by_value(cells, bias_type=bias_types)
    # Inches for the longest labels, left of the panels and below them.
    left = 0.06 * max(map(len, short.values()))
    below = 0.07 * max(map(len, labels))
    return (
        ggplot(cells, aes("model", "template", fill="value"))
        + geom_raster()
        + facet_wrap("bias_type", ncol=columns)
        + scale_x_discrete(limits=labels, expand=(0, 0))
        + scale_y_discrete(limits=[*short.values()][::-1], expand=(0, 0))
        + distance_scale(colour_limit(cells["value"]))
        + guides(fill=colour_bar())
        + labs(
            title=heading,
            subtitle=(
                f"mean distance of two groups, by {SCORE_NAMES[main_score_of_measures(measures)]} "
                "within a case; the template with the largest mean is at the top"
            )
            + omitted_text(order, shown, "templates"),
            x="model",
            y="template, with its number",
            fill="distance",
        )
        + heat_map_theme(
            max(7.5, 1 + left + columns * panel),
            1.6 + below + lines * (CELL_SIDE * len(shown) + 0.35),
        )
        + theme(axis_text_x=element_text(size=7, angle=90, ha="center", va="top"))
    )
