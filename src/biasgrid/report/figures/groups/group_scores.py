"""The score of each group by each model, with its spread over cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import facet_grid, ggplot

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.selection import group_main_scores, main_score, order_groups
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import group_omission_note, readable_groups
from biasgrid.report.figures.drawing.panels import model_offset, numbered_rows_scale
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import empty_figure, legend_below, legend_height

CAPTION = (
    "The score of every group. Each mark is a model's score over all cases and identity terms, "
    "each bar is the middle half of the cases, and each thin line is the interval over other "
    "templates like these. Cases differ whichever group is named, so overlapping bars do not mean "
    "that groups are treated alike: compare the marks of one model within a panel, and see the "
    "next figure. Whether a high score is good for a group depends on the texts."
)
WIDTH = 9
"""Width of the figure in inches."""
MODEL_HEIGHT = 0.075
"""Height in inches that a model takes in the row of a group."""
LOWEST_ROW = 0.2
"""Minimum height of a row in inches."""
HIGHEST_FIGURE = 24
"""Maximum height of all groups together, in inches; marks of many models and groups may overlap."""


def place_rows(
    scores: pl.DataFrame, shown_groups: Mapping[str, Sequence[str]], models: Sequence[str]
) -> pl.DataFrame:
    """Adds the places of marks: `row` of a bias type and group, and `y`, which differs by model.

    Rows are counted over all bias types, from 0 at the top downwards to negative numbers, since a
    group may be in two bias types.

    Args:
        scores: scores from `group_main_scores`.
        shown_groups: the groups of each bias type, from top to bottom; others are left out.
        models: the models, from top to bottom.
    """
    keys = []
    for bias_type, groups in shown_groups.items():
        keys += [(bias_type, group) for group in groups]
    rows = pl.DataFrame(keys, schema=["bias_type", "group"], orient="row")
    rows = rows.with_columns(row=-pl.int_range(pl.len()))
    marks = scores.join(rows, on=["bias_type", "group"], maintain_order="left")
    # Marks of all models take three quarters of a row.
    return marks.with_columns(y=pl.col("row") + model_offset(models, 0.75))


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the main score of each group: a row per group, a mark per model, a bar of quartiles.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    title, scores = f"Scores of groups: {context.title}", group_main_scores(measures)
    if scores.is_empty():
        return empty_figure(title, "no group has a score")
    models, order = context.model_labels(scores), order_groups(scores)
    labels = list(models.values())
    shown_groups = readable_groups(order)
    marks = place_rows(scores, shown_groups, list(models))
    marks = marks.with_columns(pl.col("model").replace_strict(models))
    groups = marks.unique("row").sort("row")
    highest_row = HIGHEST_FIGURE / groups.height
    row_height = max(LOWEST_ROW, min(MODEL_HEIGHT * len(models) + 0.06, highest_row))
    rows_height = row_height * groups.height + 0.15 * len(order)
    note = interval_note(marks, context.level)
    plot = draw(
        FigureSpecification(
            rows=marks,
            x="value",
            y="y",
            layers=[
                interval("lower", "upper", size=0.9, alpha=0.45),
                interval(),
                point(size=1.8, fill="none", stroke=0.7),
            ],
            title=title,
            subtitle=(
                "mark: over all cases; bar: the middle half of the cases; thin line: "
                f"{note}{group_omission_note(order, shown_groups)}"
            ),
            x_title=SCORE_NAMES[main_score(measures)],
            y_title="group",
            orders={"bias_type": list(order), "model": labels},
            panels=facet_grid("bias_type", scales="free_y", space="free_y"),
            color="model",
            shape="model",
            legend_title="model",
            width=WIDTH,
            height=1.8 + rows_height + legend_height(labels, WIDTH),
        )
    )
    plot += numbered_rows_scale(groups["row"].to_list(), groups["group"].to_list(), margin=0.5)
    return plot + legend_below(labels, WIDTH, "color", "shape")
