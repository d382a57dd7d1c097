"""The score of each group by each model, with its spread over cases."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_point,
    geom_segment,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_y_continuous,
    theme,
)

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.selection import main_score_of_measures, main_scores_of_groups, order_groups
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines, interval_note
from biasgrid.report.figures.drawing.layout import omitted_groups, order_by_value, readable_groups
from biasgrid.report.figures.drawing.theme import (
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    palette,
    shapes,
)

CAPTION = (
    "The score of every group. Each mark is a model's score over all cases and identity terms, "
    "each bar is the middle half of the cases, and each thin line is the interval over other "
    "templates like these. Cases differ whichever group is named, so overlapping bars do not mean "
    "that groups are treated alike: compare the marks of one model within a panel, and see the "
    "next figure. Whether a high score is good for a group depends on the texts."
)
SCORES_WIDTH = 9
"""Of the figure, in inches."""

SCORE_LINE = 0.075
"""Height in inches that a model takes in the row of a group."""

LOWEST_ROW = 0.2
HIGHEST_FIGURE = 24
"""Maximum height of all groups together, in inches; marks of many models and groups may overlap."""


def place_rows(
    scores: pl.DataFrame, shown: Mapping[str, list[str]], models: list[str]
) -> pl.DataFrame:
    """Adds the places of marks: `row` of a bias type and group, and `y`, which differs by model.

    Rows are counted over all bias types, from 0 at the top downwards to negative numbers, since a
    group may be in two bias types.

    Args:
        scores: scores from `main_scores_of_groups`.
        shown: the groups of each bias type, in order; others are left out.
        models: the models, in order.
    """
    keys = []
    for bias_type, groups in shown.items():
        keys += [(bias_type, group) for group in groups]
    rows = pl.DataFrame(keys, schema=["bias_type", "group"], orient="row")
    rows = rows.with_columns(row=-pl.int_range(pl.len()))
    place = pl.col("model").replace_strict({model: place for place, model in enumerate(models)})
    # Marks of all models take three quarters of a row, the first model at the top.
    offset = ((len(models) - 1) / 2 - place) * 0.75 / len(models)
    marks = scores.join(rows, on=["bias_type", "group"], maintain_order="left")
    return marks.with_columns(y=pl.col("row") + offset)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the main score of each group: a row per group, a mark per model, a bar of quartiles.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    heading, scores = f"Scores of groups: {context.title}", main_scores_of_groups(measures)
    if scores.is_empty():
        return empty_figure(heading, "no group has a score")
    names, order = context.names(scores), order_groups(scores)
    shown = readable_groups(order)
    points = place_rows(scores, shown, list(names))
    points = points.with_columns(pl.col("model").replace_strict(names))
    labels = list(names.values())
    points = order_by_value(points, bias_type=list(order), model=labels)
    rows = points.unique("row").sort("row")
    highest_row = HIGHEST_FIGURE / rows.height
    row_height = max(LOWEST_ROW, min(SCORE_LINE * len(names) + 0.06, highest_row))
    return (
        ggplot(points, aes("value", "y", color="model"))
        + geom_segment(aes(x="lower", xend="upper", yend="y"), size=0.9, alpha=0.45)
        + interval_lines(points, "y")
        + geom_point(aes(shape="model"), size=1.8, fill="none", stroke=0.7)
        + facet_grid("bias_type", scales="free_y", space="free_y")
        + scale_y_continuous(
            breaks=rows["row"].to_list(),
            labels=rows["group"].to_list(),
            minor_breaks=[],
            expand=(0, 0.5),
        )
        + scale_color_manual(palette(len(names)))
        + scale_shape_manual(shapes(len(names)))
        + legend_below(labels, SCORES_WIDTH, "color", "shape")
        + labs(
            title=heading,
            subtitle="mark: over all cases; bar: the middle half of the cases; thin line: "
            f"{interval_note(points, context.level)}{omitted_groups(order, shown)}",
            x=SCORE_NAMES[main_score_of_measures(measures)],
            y="group",
            color="model",
            shape="model",
        )
        + biasgrid_theme(
            SCORES_WIDTH,
            1.8
            + row_height * rows.height
            + 0.15 * len(order)
            + legend_height(labels, SCORES_WIDTH),
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )
