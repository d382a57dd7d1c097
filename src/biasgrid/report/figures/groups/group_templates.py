"""Mean distance of two groups for each template, bias type and model."""

from __future__ import annotations

import polars as pl
from plotnine import facet_wrap, geom_raster, ggplot

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.selection import main_score, pairwise_options
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    both_ends,
    most_rows,
    omission_note,
    panel_columns,
    shorten_text,
)
from biasgrid.report.figures.drawing.specification import FigureSpecification, Layer, draw
from biasgrid.report.figures.drawing.theme import (
    CELL_SIDE,
    colour_limit,
    distance_scale,
    empty_figure,
    heat_map_parts,
)
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    "The mean distance between two groups within a case, for each template. If only a few "
    "templates are dark, most of the difference comes from them, and other templates might give "
    "another picture. A column that is dark throughout means that the model treats the groups "
    "differently whatever is said. Some rows are based on few cases."
)
LONGEST_TEMPLATE = 72
"""Maximum number of characters of a template."""
WIDEST_FIGURE = 9.0
"""Maximum width of panels side by side, in inches."""


def template_distances(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the distance rows of each template, which are means over its cases.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `bias_type`, `template` (its number, as a string for the discrete axis), `value`;
        the template with the largest mean over models and bias types first.
    """
    rows = select_rows(measures, "distance", ["bias_type", "template"], pairwise_options(measures))
    mean = pl.col("value").mean().over("template")
    rows = rows.sort(-mean, "template", maintain_order=True, nulls_last=True)
    return rows.select("model", "bias_type", pl.col("template").cast(pl.String), "value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws distances within cases: a panel per bias type, a column per model, a row per template.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title = f"Templates that set groups apart: {context.title}"
    distances = template_distances(measures)
    if distances["value"].drop_nulls().is_empty():
        return empty_figure(title, "no two groups have a distance within a case")
    models = context.model_labels(distances)
    bias_types = values_in_order(measures.drop_nulls("bias_type"), "bias_type")
    order = values_in_order(distances, "template")
    labels = list(models.values())
    # A panel is as wide as its columns, but no narrower than its title.
    panel_width = max(CELL_SIDE * len(labels), 0.1 * max(map(len, bias_types)))
    columns = panel_columns(len(bias_types), max(1, int(WIDEST_FIGURE / panel_width)))
    lines = -(-len(bias_types) // columns)
    templates = both_ends(order, most_rows(lines))
    texts = {}
    for template in templates:
        texts[template] = shorten_text(context.template_label(int(template)), LONGEST_TEMPLATE)
    template_labels = list(texts.values())[::-1]
    cells = distances.filter(pl.col("template").is_in(templates))
    cells = cells.with_columns(
        pl.col("model").replace_strict(models), pl.col("template").replace_strict(texts)
    )
    score = SCORE_NAMES[main_score(measures)]
    template_width = 0.06 * max(map(len, template_labels))
    model_height = 0.07 * max(map(len, labels))
    plot = draw(
        FigureSpecification(
            rows=cells,
            x="model",
            y="template",
            layers=[Layer(geom_raster, {"fill": "value"})],
            title=title,
            subtitle=(
                f"mean distance of two groups, by {score} within a case; the template with the "
                f"largest mean is at the top{omission_note(order, templates, 'templates')}"
            ),
            x_title="model",
            y_title="template, with its number",
            orders={"bias_type": bias_types, "model": labels, "template": template_labels},
            panels=facet_wrap("bias_type", ncol=columns),
            width=max(7.5, 1 + template_width + columns * panel_width),
            height=1.6 + model_height + lines * (CELL_SIDE * len(templates) + 0.35),
        )
    )
    plot += distance_scale(colour_limit(cells["value"]))
    return plot + heat_map_parts(labels, template_labels, legend_title="distance")
