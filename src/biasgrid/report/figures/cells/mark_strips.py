"""Every metric of a probe on the bands of its marks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_wrap,
    geom_point,
    geom_rect,
    geom_segment,
    geom_text,
    ggplot,
    labs,
    scale_fill_manual,
    scale_shape_manual,
    scale_y_continuous,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import INK, biasgrid_theme, empty_figure
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.key_columns import is_about
from biasgrid.tables.summary import with_marks

CAPTION = (
    "Each metric of a probe that has marks, on the bands of the marks A to D. A line is the "
    "metric's interval, and a dotted line is the interval of its placebo. The shape of a point is "
    "its mark, if the whole interval lies within one band. A mark says how far a number is from "
    "what the probe's author considers fair; authors chose the widths of the bands."
)
BANDS = {"A": "#E6F2EC", "B": "#F7F1D5", "C": "#F6DFC9", "D": "#EBC8C3"}
RANGE, NONE = "a range", "no mark"
MARK_SHAPES = {"A": "o", "B": "^", "C": "s", "D": "X", RANGE: "D", NONE: "x"}
PLACEBO_GAP = 0.25
"""Distance of the interval of a placebo below the metric's line."""
STRIP_BOTTOM, STRIP_MARGIN = 0.4, 0.9
"""Lower end of a strip, and its upper end above the number of models; lines are at 1, 2, ..."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a strip for each metric, with a line for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models, with `marks`.
    """
    title = f"Metrics and their marks: {context.title}"
    metric_marks: dict[str, Sequence[Mark]] = {}
    for dataset in context.titles:
        metric_marks |= context.marks.get(dataset, {})
    # Before metrics are picked: a mark depends on flags and placebos, which are rows of the cell.
    cell_rows = with_marks(measures.filter(is_about([])), context.marks).filter(options="")
    points = metric_points(cell_rows, metric_marks)
    if points.is_empty():
        return empty_figure(title, "there are no metrics with marks and values")
    labels = context.model_labels(points)
    # The first model is at the top.
    lines = {model: len(labels) - position for position, model in enumerate(labels)}
    line = pl.col("model").replace_strict(lines, return_dtype=pl.Float64)
    points = points.with_columns(line=line)
    placebos = placebo_intervals(cell_rows, metric_marks, points)
    present = set(points["metric"])
    titles = {}
    for metric, marks in metric_marks.items():
        if metric in present:
            titles[metric] = strip_title(metric, marks)
    points, placebos = with_strip_titles(points, titles), with_strip_titles(placebos, titles)
    bands = with_strip_titles(mark_bands(metric_marks, present, len(labels)), titles)
    intervals = points.drop_nulls(["low", "high"])
    return (
        ggplot(points, aes("value", "line"))
        + geom_rect(
            aes(xmin="low", xmax="high", ymin="bottom", ymax="top", fill="letter"),
            bands,
            inherit_aes=False,
        )
        + geom_text(
            aes(x="middle", y="top", label="letter"),
            bands,
            size=7,
            va="top",
            color=INK,
            inherit_aes=False,
        )
        + interval_layer(intervals)
        + interval_layer(placebos, linetype="dotted")
        + geom_point(aes(shape="mark"), size=2.6, fill="white", color=INK)
        + facet_wrap("metric", ncol=1, scales="free_x")
        + scale_y_continuous(breaks=list(lines.values()), labels=list(labels.values()))
        + scale_fill_manual(BANDS, guide=None)
        + scale_shape_manual(MARK_SHAPES)
        + labs(title=title, x="value", y="", shape="mark")
        + biasgrid_theme(7.5, 1.4 + len(titles) * (0.75 + 0.25 * len(labels)))
        + theme(strip_text=element_text(ha="left"))
    )


def metric_points(cell_rows: pl.DataFrame, metrics: Iterable[str]) -> pl.DataFrame:
    """Returns the values of metrics that have marks.

    Args:
        cell_rows: the measures of whole cells, from `with_marks`.
        metrics: the measures that have marks.

    Returns:
        `model`, `dataset`, `metric`, `value`, `low`, `high` and `mark`, a key of `MARK_SHAPES`.
    """
    is_metric = pl.col("measure").is_in(list(metrics))
    is_range = pl.col("mark").str.contains(" to ", literal=True)
    shape = pl.when(is_range).then(pl.lit(RANGE)).otherwise("mark").fill_null(NONE)
    rows = cell_rows.filter(is_metric).drop_nulls("value")
    return rows.select("model", "dataset", "value", "low", "high", metric="measure", mark=shape)


def placebo_intervals(
    cell_rows: pl.DataFrame, metric_marks: Mapping[str, Sequence[Mark]], points: pl.DataFrame
) -> pl.DataFrame:
    """Returns the intervals of placebos of metrics, each just below the metric's line.

    Args:
        cell_rows: the measures of whole cells.
        metric_marks: the marks of each metric; all marks of a metric name the same placebo.
        points: from `metric_points`, with `line`.

    Returns:
        `model`, `dataset`, `metric`, `line`, `placebo` (a measure), `low` and `high`. A metric
        without placebo, or whose placebo has no interval, has no row.
    """
    names = [(metric, marks[0].placebo) for metric, marks in metric_marks.items()]
    schema = dict.fromkeys(("metric", "placebo"), pl.String)
    placebos = pl.DataFrame(names, schema=schema, orient="row").filter(pl.col("placebo") != "")
    lines = points.select("model", "dataset", "metric", pl.col("line") - PLACEBO_GAP)
    ends = cell_rows.select("model", "dataset", "low", "high", placebo="measure").drop_nulls()
    return lines.join(placebos, on="metric").join(ends, on=["model", "dataset", "placebo"])


def interval_layer(rows: pl.DataFrame, **look: str) -> list[geom_segment]:
    """Returns the layer of intervals; empty without rows, which plotnine cannot draw.

    Args:
        rows: `low`, `high`, `line` (the height within the strip) and `metric`, the title of the
            strip: without it, an interval would be drawn in every strip. No nulls.
        look: other arguments of the geom, such as `linetype`.
    """
    if rows.is_empty():
        return []
    ends = aes(x="low", xend="high", y="line", yend="line")
    return [geom_segment(ends, rows, color=INK, inherit_aes=False, **look)]


def strip_title(metric: str, marks: Sequence[Mark]) -> str:
    """Returns the title of a metric's strip, with the harm that its marks warn of.

    Args:
        metric: the measure.
        marks: its marks; all name the same harm.
    """
    harm = marks[0].harm
    return metric.replace("_", " ") + (f" ({harm})" if harm else "")


def with_strip_titles(rows: pl.DataFrame, titles: Mapping[str, str]) -> pl.DataFrame:
    """Replaces metrics by the titles of their strips, in the order of strips."""
    rows = rows.with_columns(pl.col("metric").replace(titles))
    return order_by_value(rows, metric=list(titles.values()))


def mark_bands(
    metric_marks: Mapping[str, Sequence[Mark]], metrics: Container[str], model_count: int
) -> pl.DataFrame:
    """Returns the bands of metrics.

    Args:
        metric_marks: the marks of each metric.
        metrics: the metrics that are shown.
        model_count: the number of models, each of which has a line in a strip.

    Returns:
        `metric`, `letter`, `low`, `middle`, `high`, `bottom` and `top` of each range.
    """
    bottom, top = STRIP_BOTTOM, model_count + STRIP_MARGIN
    rows = []
    for metric, marks in metric_marks.items():
        if metric not in metrics:
            continue
        for mark in marks:
            middle = (mark.low + mark.high) / 2
            rows.append((metric, mark.letter, mark.low, middle, mark.high, bottom, top))
    columns = ["metric", "letter", "low", "middle", "high", "bottom", "top"]
    return pl.DataFrame(rows, schema=columns, orient="row")
