"""Every association of a dataset by its size and by its p."""

from __future__ import annotations

import math

import polars as pl
from plotnine import (
    aes,
    expand_limits,
    facet_wrap,
    geom_vline,
    ggplot,
    guide_legend,
    guides,
    labs,
    scale_color_manual,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import cluster_count_text
from biasgrid.report.figures.drawing.layout import columns_of, in_lines, order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    GAMMA,
    OKABE_ITO,
    biasgrid_theme,
    empty_figure,
    geom_dots,
)
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
SIGNIFICANCE_COLOURS = {"not significant": "#B8B8B8", "significant": OKABE_ITO[0]}
OTHER, FOUND = SIGNIFICANCE_COLOURS
VOLCANO_PANELS = 5
VOLCANO_PANEL = 2.3
"""Width of a panel in inches."""
SMALLEST, LARGEST, FEW = 0.9, 2.4, 50
"""Sizes of points, the larger of panels with few points, and the number of these."""
ACROSS, UPWARDS = 120, 90
"""Places of points in a panel: more could not be distinguished, and would make huge files."""
HIGHEST_LOG_P = 8
"""A smaller p than ten to the minus this is drawn at the upper edge, so that the rest has room."""


def points_of(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the associations that are tested, one of each set that would cover each other.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `value`, `height` (-log10 p), `clusters` and `found`, in words; significant ones
        are last, so that they are drawn above the others.
    """
    rows = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    least_p = 10.0**-HIGHEST_LOG_P
    points = rows.drop_nulls(["p", "q"]).with_columns(
        height=pl.col("p").clip(lower_bound=least_p).log10().abs(),
        found=pl.when(is_significant()).then(pl.lit(FOUND)).otherwise(pl.lit(OTHER)),
    )
    points = points.with_columns(
        axis_steps("value", ACROSS // 2).alias("place of value"),
        axis_steps("height", UPWARDS).alias("place of height"),
    )
    place = ["model", "found", "place of value", "place of height"]
    distinct = points.unique(place, keep="first", maintain_order=True)
    shown = distinct.select("model", "value", "height", "clusters", "found")
    ordered = order_by_value(shown, found=list(SIGNIFICANCE_COLOURS))
    return ordered.sort("found", maintain_order=True)


def axis_steps(column: str, steps: int) -> pl.Expr:
    """Returns the places of numbers on an axis, in whole steps from 0 to its end."""
    numbers = pl.col(column)
    # If all numbers are 0, the share is NaN.
    return (numbers / numbers.abs().max() * steps).fill_nan(0).round()


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma against p: a panel per model, a point per association.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    heading, points = f"Associations and how sure they are: {context.title}", points_of(measures)
    if points.is_empty():
        reason = "there are too few clusters, or no differences, to test single associations"
        return empty_figure(heading, reason)
    names = context.names(points)
    panels = list(names.values())
    points = points.with_columns(pl.col("model").replace_strict(names))
    points = order_by_value(points, model=panels)
    columns = columns_of(len(panels), VOLCANO_PANELS)
    # The more points a panel has, the smaller they are, so that as much of it is filled.
    points_of_panel = len(points) / len(panels)
    size = max(SMALLEST, min(LARGEST, LARGEST * math.sqrt(FEW / points_of_panel)))
    return (
        ggplot(points, aes("value", "height", color="found"))
        + geom_vline(xintercept=0, color=FAINT, size=0.5)
        + geom_dots(size=size)
        + expand_limits(y=0)
        + facet_wrap("model", ncol=columns, labeller=in_lines(VOLCANO_PANEL))
        + scale_color_manual(SIGNIFICANCE_COLOURS, limits=values_in_order(points, "found"))
        + guides(color=guide_legend(override_aes={"size": 3}))
        + labs(
            title=heading,
            subtitle=(
                f"tests over {cluster_count_text(points)}; significant: q at most "
                f"{SIGNIFICANT:g}; at {HIGHEST_LOG_P}: p of 1e-{HIGHEST_LOG_P} or less"
            ),
            x=f"{GAMMA}(subject, attribute)",
            y="−log10 p",  # noqa: RUF001
            color="",
        )
        + biasgrid_theme(
            max(7.5, 1 + VOLCANO_PANEL * columns), 1.5 + 2.2 * -(-len(panels) // columns)
        )
    )
