"""Every association of a dataset by its size and by its p."""

from __future__ import annotations

import math

import polars as pl
from plotnine import (
    expand_limits,
    facet_wrap,
    ggplot,
    guide_legend,
    guides,
    labs,
    scale_color_manual,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import cluster_count_text
from biasgrid.report.figures.drawing.layout import order_by_value, panel_columns, panel_title
from biasgrid.report.figures.drawing.specification import FigureSpecification, Layer, draw
from biasgrid.report.figures.drawing.theme import GAMMA, OKABE_ITO, empty_figure, geom_dots
from biasgrid.stats.multiplicity import SIGNIFICANT, is_significant
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    f"{GAMMA} of shares of every subject and attribute (right of 0: associated more with this "
    "subject than with others) against its p: the higher a point, the less likely it is under "
    "noise alone. Blue points are significant (q at most 0.05). High points near the middle are "
    "certain but small; low points far out are large in only a few clusters. Points that would "
    "overlap are drawn once. If one subject has more of an attribute, others have less, so there "
    "are points on both sides."
)
RESULT_COLORS = {"not significant": "#B8B8B8", "significant": OKABE_ITO[0]}
"""Colour of each result of a test; dots of the last one are above the others."""
NOT_SIGNIFICANT_TEXT, SIGNIFICANT_TEXT = RESULT_COLORS
MOST_PANELS = 5
"""Maximum number of panels side by side."""
PANEL_WIDTH, PANEL_HEIGHT = 2.3, 2.2
"""Size of a panel in inches."""
SMALLEST_DOT, LARGEST_DOT = 0.9, 2.4
FEW_DOTS = 50
"""Number of dots of a panel up to which they have the largest size."""
STEPS_ACROSS, STEPS_UPWARDS = 120, 90
"""Places of dots in a panel: more could not be distinguished, and would make huge files."""
HIGHEST_LOG_P = 8
"""A smaller p than ten to the minus this is drawn at the upper edge, so that the rest has room."""


def association_dots(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the associations that are tested, one of each set that would cover each other.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `value`, `height` (-log10 p), `clusters` and `result` (of `RESULT_COLORS`);
        significant ones are last, so that they are drawn above the others.
    """
    rows = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    least_p = 10.0**-HIGHEST_LOG_P
    significant, not_significant = pl.lit(SIGNIFICANT_TEXT), pl.lit(NOT_SIGNIFICANT_TEXT)
    dots = rows.drop_nulls(["p", "q"]).with_columns(
        height=pl.col("p").clip(lower_bound=least_p).log10().abs(),
        result=pl.when(is_significant()).then(significant).otherwise(not_significant),
    )
    dots = dots.with_columns(
        axis_steps("value", STEPS_ACROSS // 2).alias("place of value"),
        axis_steps("height", STEPS_UPWARDS).alias("place of height"),
    )
    place = ["model", "result", "place of value", "place of height"]
    distinct = dots.unique(place, keep="first", maintain_order=True)
    distinct = distinct.select("model", "value", "height", "clusters", "result")
    by_result = order_by_value(distinct, result=list(RESULT_COLORS))
    return by_result.sort("result", maintain_order=True)


def axis_steps(column: str, steps: int) -> pl.Expr:
    """Returns the places of numbers on an axis, in whole steps from 0 to its end."""
    numbers = pl.col(column)
    # If all numbers are 0, the share is NaN.
    return (numbers / numbers.abs().max() * steps).fill_nan(0).round()


def dot_size(panel_dots: float) -> float:
    """Returns the size of dots: the more a panel has, the smaller, so that as much of it is filled.

    Args:
        panel_dots: the mean number of dots of a panel.
    """
    size = LARGEST_DOT * math.sqrt(FEW_DOTS / panel_dots)
    return max(SMALLEST_DOT, min(LARGEST_DOT, size))


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma against p: a panel per model, a dot per association.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    title = f"Associations and how sure they are: {context.title}"
    dots = association_dots(measures)
    if dots.is_empty():
        reason = "there are too few clusters, or no differences, to test single associations"
        return empty_figure(title, reason)
    labels = context.model_labels(dots)
    panels = list(labels.values())
    columns = panel_columns(len(panels), MOST_PANELS)
    results = values_in_order(dots, "result")
    look = {"size": dot_size(len(dots) / len(panels))}
    plot = draw(
        FigureSpecification(
            rows=dots.with_columns(pl.col("model").replace_strict(labels)),
            x="value",
            y="height",
            layers=[Layer(geom_dots, {"color": "result"}, look)],
            title=title,
            subtitle=(
                f"tests over {cluster_count_text(dots)}; significant: q at most "
                f"{SIGNIFICANT:g}; at {HIGHEST_LOG_P}: p of 1e-{HIGHEST_LOG_P} or less"
            ),
            x_title=f"{GAMMA}(subject, attribute)",
            y_title="−log10 p",  # noqa: RUF001
            orders={"model": panels},
            panels=facet_wrap("model", ncol=columns, labeller=panel_title(PANEL_WIDTH)),
            reference=0,
            width=max(7.5, 1 + PANEL_WIDTH * columns),
            height=1.5 + PANEL_HEIGHT * -(-len(panels) // columns),
        )
    )
    plot += scale_color_manual(RESULT_COLORS, limits=results)
    plot += guides(color=guide_legend(override_aes={"size": 3}))
    return plot + expand_limits(y=0) + labs(color="")
