"""Distance of two groups within cases, beside the distance of arbitrary groups of terms."""

from __future__ import annotations

import polars as pl
from plotnine import expand_limits, ggplot

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.selection import main_score, pairwise_options
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import omission_note, with_pair_names
from biasgrid.report.figures.drawing.panels import PAIR_ROW, model_panels
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    point,
)
from biasgrid.report.figures.drawing.theme import FAINT, OKABE_ITO, empty_figure
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.tables.files import means_by

CAPTION = (
    "How far apart a model scores two groups in the same case, averaged over cases, for each pair "
    "of groups, whichever scores higher. Noise alone makes distances positive, so they have no "
    "interval. The grey stroke is the noise floor: the distance that groups would have if terms "
    "were assigned to them at random, averaged over the pairs of their bias type. Groups with one "
    "term have no noise floor. Pairs are sorted by their mean over models."
)


def group_pair_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the distances of pairs of groups.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `bias_type`, `group`, `other`, `value` and `null_mean` (of the bias type).
    """
    options = pairwise_options(measures)
    pairs = select_rows(measures, "distance", ["bias_type", "group", "other"], options)
    null_means = select_rows(measures, "distance", ["bias_type"], options, intervals=True)
    distances = pairs.drop_nulls("value").select("model", "bias_type", "group", "other", "value")
    null_means = null_means.select("model", "bias_type", "null_mean")
    keys = ["model", "bias_type"]
    return distances.join(null_means, on=keys, how="left", maintain_order="left")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the distance of each pair of groups within cases: a panel per model, a row per pair.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    title, pairs = f"Pairs of groups: {context.title}", group_pair_rows(measures)
    if pairs.is_empty():
        return empty_figure(title, "no two groups have a distance within a case")
    rows = with_pair_names(pairs)
    means = means_by(rows, ["name"]).sort("value", "name", descending=[True, False])
    order = values_in_order(means, "name")
    panels = model_panels(rows, context, order)
    score = SCORE_NAMES[main_score(measures)]
    return draw(
        FigureSpecification(
            rows=panels.rows,
            x="value",
            y="name",
            layers=[
                point("null_mean", shape="|", size=4, stroke=1.2, color=FAINT),
                point(size=1.8, color=OKABE_ITO[0], fill=OKABE_ITO[0], stroke=0.5),
            ],
            title=title,
            subtitle=(
                "dot: distance of two groups; grey: of groups whose terms are assigned at random "
                f"(noise floor){omission_note(order, panels.shown_names, 'pairs')}"
            ),
            x_title=f"distance of {score} within a case, mean over cases",
            y_title="pair of groups",
            orders=panels.orders,
            panels=panels.facet,
            width=max(7.5, panels.width),
            height=1.6 + panels.height(row_height=PAIR_ROW, fewest_rows=3),
        )
    ) + expand_limits(x=0)
