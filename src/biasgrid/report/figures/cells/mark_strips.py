"""Every metric of a probe on the bands of its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
BESIDE = 0.25
"""Distance of the interval of a placebo below the metric's line."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a strip for each metric, with a line for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models, with `marks`.
    """
    title = f"Metrics and their marks: {context.title}"
    marks: dict[str, Sequence[Mark]] = {}
    for dataset in context.titles:
        marks |= context.marks.get(dataset, {})
    whole = with_marks(measures.filter(is_about([])), context.marks)
    rows = whole.filter(pl.col("measure").is_in(list(marks)), options="").drop_nulls("value")
    if rows.is_empty():
        return empty_figure(title, "there are no metrics with marks and values")
    names = context.names(rows)
    is_range = pl.col("mark").str.contains(" to ", literal=True)
    shape = pl.when(is_range).then(pl.lit(RANGE)).otherwise("mark").fill_null(NONE)
    rows = rows.select("model", "dataset", "value", "low", "high", metric="measure", mark=shape)
    lines = {model: len(names) - place for place, model in enumerate(names)}
    line = pl.col("model").replace_strict(lines, return_dtype=pl.Float64)
    points = rows.with_columns(line=line)
    placebos = placebo_intervals(whole, marks, points)
    shown = set(rows["metric"])
    metrics = {}
    for name, metric_marks in marks.items():
        if name in shown:
            metrics[name] = strip_title(name, metric_marks)
    titles = list(metrics.values())
    title_of_metric = pl.col("metric").replace(metrics)
    points = order_by_value(points.with_columns(title_of_metric), metric=titles)
    placebos = order_by_value(placebos.with_columns(title_of_metric), metric=titles)
    bands = bands_of(marks, metrics, len(names))
    ranges = points.drop_nulls(["low", "high"])
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
        + (
            geom_segment(aes(x="low", xend="high", yend="line"), ranges, color=INK)
            if len(ranges)
            else labs()
        )
        + (placebo_segments(placebos) if len(placebos) else labs())
        + geom_point(aes(shape="mark"), size=2.6, fill="white", color=INK)
        + facet_wrap("metric", ncol=1, scales="free_x")
        + scale_y_continuous(breaks=list(lines.values()), labels=list(names.values()))
        + scale_fill_manual(BANDS, guide=None)
        + scale_shape_manual(MARK_SHAPES)
        + labs(title=title, x="value", y="", shape="mark")
        + biasgrid_theme(7.5, 1.4 + len(metrics) * (0.75 + 0.25 * len(names)))
        + theme(strip_text=element_text(ha="left"))
    )


def placebo_intervals(
    rows: pl.DataFrame, marks: Mapping[str, Sequence[Mark]], points: pl.DataFrame
) -> pl.DataFrame:
    """Returns the intervals of placebos of metrics, in lines below those of the metrics.

    Args:
        rows: the measures of whole cells.
        marks: the marks of each metric, which name its placebo.
        points: the metrics that are shown, with `line`.
    """
    placebos = {
        "metric": list(marks),
        "measure": [metric_marks[0].placebo for metric_marks in marks.values()],
    }
    named = pl.DataFrame(placebos, schema=dict.fromkeys(placebos, pl.String))
    named = named.filter(pl.col("measure") != "")
    keys = ["model", "dataset", "measure"]
    lines = points.select("model", "dataset", "metric", pl.col("line") - BESIDE)
    ends = rows.filter(options="").select(*keys, "low", "high").drop_nulls()
    return lines.join(named, on="metric").join(ends, on=keys)


def placebo_segments(placebos: pl.DataFrame) -> geom_segment:
    """Draws the intervals of placebos."""
    return geom_segment(
        aes(x="low", xend="high", y="line", yend="line"),
        placebos,
        color=INK,
        linetype="dotted",
        inherit_aes=False,
    )


def strip_title(name: str, marks: Sequence[Mark]) -> str:
    """Returns the title of a metric's strip, with the harm that its marks warn of."""
    harm = marks[0].harm
    return name.replace("_", " ") + (f" ({harm})" if harm else "")


def bands_of(
    marks: Mapping[str, Sequence[Mark]], metrics: Mapping[str, str], models: int
) -> pl.DataFrame:
    """Returns the bands of metrics.

    Args:
        marks: the marks of each metric.
        metrics: the titles of the metrics that are shown.
        models: the number of models, each of which has a line in a strip.

    Returns:
        `metric`, `letter`, `low`, `middle`, `high`, `bottom` and `top` of each range.
    """
    bottom, top = 0.4, models + 0.9
    rows = []
    for name, title in metrics.items():
        for mark in marks[name]:
            middle = (mark.low + mark.high) / 2
            rows.append((title, mark.letter, mark.low, middle, mark.high, bottom, top))
    columns = ["metric", "letter", "low", "middle", "high", "bottom", "top"]
    bands = pl.DataFrame(rows, schema=columns, orient="row")
    return order_by_value(bands, metric=list(metrics.values()))
