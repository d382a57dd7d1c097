"""Share of cases that fail, over the difference of groups from which a case counts as failed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    coord_cartesian,
    facet_grid,
    geom_line,
    geom_ribbon,
    geom_segment,
    geom_vline,
    ggplot,
    labs,
    scale_color_manual,
    scale_fill_manual,
    scale_linetype_manual,
    theme,
)
from plotnine.geoms.geom import geom

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    line_looks,
)
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.metric import parse_options

CAPTION = (
    "The share of cases that fail, for each threshold that the mean difference between two groups "
    "of a case (left, as published) or the largest one (right) must exceed. The mean can hide a "
    "single group that is treated differently. The largest difference grows by chance with the "
    "number of groups, so on the right compare only models. Lines join the thresholds in the "
    "tables; bands, or vertical lines if there are many models, are intervals over other templates."
)
DIFFERENCE_NAMES = {
    "mean": "mean difference of two groups",
    "largest": "largest difference of two groups",
}
MOST_BANDS = 4
"""Maximum number of models with bands; more bands would hide each other."""
DODGE = 0.008
"""Distance of two upright lines, as a share of the axis."""
SAME_THRESHOLD = 1e-9
CURVE_WIDTH = 8
"""Width of the figure in inches."""


def failure_rates(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the failure rates of a dataset over all templates.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `bias_type`, `difference`, `threshold`, `value`, `low`, `high`, `clusters`, without
        bias types in which no case has a rate.
    """
    rates = measures.filter(pl.col("template").is_null(), measure="failure_rate")
    rates = rates.drop_nulls("value")
    parameters = []
    for options in values_in_order(rates, "options"):
        parameters.append({"options": options, **parse_options(options)})
    schema = dict.fromkeys(("options", "difference", "threshold"), pl.String)
    thresholds = pl.DataFrame(parameters, schema=schema).cast({"threshold": pl.Float64})
    columns = ["model", "bias_type", "difference", "threshold", "value", "low", "high", "clusters"]
    rates = rates.join(thresholds, on="options", maintain_order="left")
    return rates.select(columns).sort("threshold", maintain_order=True)


def last_threshold(rates: pl.DataFrame, configured_threshold: float) -> float:
    """Returns the end of the axis of thresholds: the first at which no case fails.

    Args:
        rates: from `failure_rates`.
        configured_threshold: the axis includes it.

    Returns:
        The end; 1 if cases fail at all thresholds.
    """
    failing = rates.filter(pl.col("value") > 0)["threshold"]
    largest = failing.max() if len(failing) else 0
    beyond = rates.filter(pl.col("threshold") > largest)["threshold"].min()
    end = 1.0 if beyond is None else float(beyond)  # type: ignore[arg-type]
    return max(end, configured_threshold)


def curve_intervals(
    lines: pl.DataFrame, models: Sequence[str], threshold: float, end: float
) -> list[geom]:
    """Returns the layer of intervals, bands for few models; empty if there are no intervals.

    Bands of many models would hide each other, so these have upright lines.

    Args:
        lines: from `failure_rates`.
        models: the models, in order.
        threshold: the configured threshold, right of which the upright lines are drawn.
        end: the end of the axis.
    """
    intervals = lines.drop_nulls(["low", "high"])
    if len(models) <= MOST_BANDS:
        if intervals.is_empty():
            return []
        band = aes("threshold", ymin="low", ymax="high", fill="model")
        return [geom_ribbon(band, intervals, alpha=0.15, color="none", show_legend=False)]
    is_configured = (pl.col("threshold") - threshold).abs() < SAME_THRESHOLD
    intervals = intervals.filter(is_configured)
    if intervals.is_empty():
        return []
    places = {}
    for position, model in enumerate(models, start=1):
        places[model] = threshold + DODGE * end * position
    model_names = pl.col("model").cast(pl.String)
    place = model_names.replace_strict(places, return_dtype=pl.Float64)
    upright = aes("place", "low", xend="place", yend="high")
    segments = intervals.with_columns(place=place)
    return [geom_segment(upright, segments, size=0.6, linetype="solid", show_legend=False)]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the failure rate over the threshold: a row of panels per bias type, a line per model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models, and the configured threshold, which is marked.

    Raises:
        ValueError: the dataset has no threshold.
    """
    title, rates = f"Failure rate: {context.title}", failure_rates(measures)
    if context.threshold is None:
        raise ValueError(f"{context.title} has no failure threshold")
    if rates.is_empty():
        return empty_figure(title, "no case has two groups to compare")
    models = context.model_labels(rates)
    bias_types = values_in_order(measures.drop_nulls("bias_type"), "bias_type")
    labels, differences = list(models.values()), list(DIFFERENCE_NAMES.values())
    colours, linetypes = zip(*line_looks(len(labels)), strict=True)
    lines = rates.with_columns(
        pl.col("model").replace_strict(models),
        pl.col("difference").replace_strict(DIFFERENCE_NAMES),
    )
    lines = order_by_value(lines, model=labels, difference=differences, bias_type=bias_types)
    end = last_threshold(rates, context.threshold)
    interval_shape = "upright lines, right of the configured one, in the order below"
    if len(labels) <= MOST_BANDS:
        interval_shape = "bands"
    return (
        ggplot(lines, aes("threshold", "value", color="model", linetype="model"))
        + geom_vline(xintercept=context.threshold, color=FAINT, linetype="dotted", size=0.7)
        + curve_intervals(lines, labels, context.threshold, end)
        + geom_line(size=0.8)
        + facet_grid("bias_type", "difference")
        + coord_cartesian(xlim=(0, end), ylim=(0, 1))
        + scale_color_manual(colours)
        + scale_fill_manual(colours)
        + scale_linetype_manual(linetypes)
        + legend_below(labels, CURVE_WIDTH, "color", "linetype")
        + labs(
            title=title,
            subtitle=(
                "share of cases whose groups differ by more than the threshold; dotted: the "
                f"configured one, {context.threshold:g}\n"
                f"{interval_shape}: {interval_note(lines, context.level)}"
            ),
            x="threshold",
            y="share of cases that fail",
            color="model",
            linetype="model",
        )
        + biasgrid_theme(
            CURVE_WIDTH, 1.8 + 1.5 * len(bias_types) + legend_height(labels, CURVE_WIDTH)
        )
        # A key is wide enough for the longest dash and the gap after it.
        + theme(legend_key_width=32)
    )
